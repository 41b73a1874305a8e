//! Each `unsafe` has its argument near it. (clippy checks exact adjacency; this also covers what
//! is behind cfgs that clippy is not run under.)

use super::Finding;
use super::source::Source;

/// How many lines above the `unsafe` the argument may start.
const NEAR: usize = 14;

pub(super) fn check(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut argued = None;
    for line in 0..source.lines() {
        let comment = &source.comment[line];
        if comment.contains("SAFETY:") || comment.contains("# Safety") {
            argued = Some(line);
        }
        let near = argued.is_some_and(|at| line - at <= NEAR);
        if !near && is_unsafe(&source.code[line]) {
            let what = "`unsafe` without a `// SAFETY:` or `# Safety` near it";
            findings.push(Finding::error(&source.path, line + 1, what));
        }
    }
    findings
}

/// An `unsafe` block, impl or trait, or a public `unsafe fn` (those of a trait owe what it says).
fn is_unsafe(code: &str) -> bool {
    code.match_indices("unsafe").any(|(at, word)| {
        let before = code[..at].chars().next_back();
        let after = code[at + word.len()..].trim_start();
        let whole = !before.is_some_and(|c| c.is_alphanumeric() || c == '_');
        let item = |keyword: &str| {
            after
                .strip_prefix(keyword)
                .is_some_and(|rest| rest.starts_with(' ') && !rest.trim_start().starts_with('('))
        };
        let public = code.trim_start().starts_with("pub");
        let opens = after.is_empty() || after.starts_with('{');
        whole
            && (opens
                || item("impl")
                || item("trait")
                || (public && item("fn"))
                || after.starts_with("impl<"))
    })
}

#[cfg(test)]
mod tests {
    use super::super::source::Source;
    use super::{NEAR, check};

    fn found(text: &str) -> usize {
        check(&Source::new("a.rs", text)).len()
    }

    #[test]
    fn an_argument_above_is_enough() {
        assert_eq!(found("// SAFETY: it is ours.\nlet x = unsafe { *p };\n"), 0);
        assert_eq!(found("/// # Safety\n/// Once.\npub unsafe fn f() {}\n"), 0);
        assert_eq!(
            found("// SAFETY: no state.\nunsafe impl<T> Send for A<T> {}\n"),
            0
        );
    }

    #[test]
    fn none_or_a_far_one_is_not() {
        assert_eq!(found("let x = unsafe { *p };\n"), 1);
        assert_eq!(found("unsafe impl<T> Send for A<T> {}\n"), 1);
        assert_eq!(found("pub(crate) unsafe fn f() {}\n"), 1);
        let far = format!("// SAFETY: x.\n{}unsafe {{ f() }}\n", "a();\n".repeat(NEAR));
        assert_eq!(found(&far), 1);
    }

    #[test]
    fn types_names_and_strings_are_no_unsafe_code() {
        assert_eq!(
            found("impl Core for A {\n    unsafe fn schedule(&self) {}\n}\n"),
            0
        );
        assert_eq!(found("type F = unsafe fn(*const ());\n"), 0);
        assert_eq!(
            found("#![forbid(unsafe_code)]\n#![deny(unsafe_op_in_unsafe_fn)]\n"),
            0
        );
        assert_eq!(found("let s = \"unsafe {\";\n"), 0);
    }
}
