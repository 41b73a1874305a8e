//! Rules about a file as a whole: its first line, its length, marks of unfinished work.

use super::source::Source;
use super::{Finding, Level};

/// From this many lines on a file should be split by responsibility.
const WARN_LINES: usize = 400;
/// More lines than this are an error.
const MAX_LINES: usize = 600;

/// Written in halves, so that a plain search for the words does not find this file.
const UNFINISHED_COMMENTS: [&str; 3] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
];
const UNFINISHED_CODE: [&str; 5] = [
    concat!("to", "do!"),
    concat!("unimpl", "emented!"),
    concat!("#[ign", "ore"),
    // A lint is expected, with a reason, which clippy sees to.
    concat!("#[all", "ow("),
    concat!("#![all", "ow("),
];

pub(super) fn check(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(module_doc(source));
    findings.extend(size(source));
    findings.extend(unfinished(source));
    findings
}

fn module_doc(source: &Source) -> Option<Finding> {
    let first = (0..source.lines()).find(|&line| {
        !source.comment[line].trim().is_empty() || !source.code[line].trim().is_empty()
    })?;
    let documented = source.comment[first].trim_start().starts_with("//!")
        || source.code[first].starts_with("#![doc = include_str!(");
    (!documented).then(|| {
        let what = "a module starts with `//!`: what it is for";
        Finding::error(&source.path, first + 1, what)
    })
}

fn size(source: &Source) -> Option<Finding> {
    let lines = source.lines();
    let level = match lines {
        _ if lines > MAX_LINES => Level::Error,
        _ if lines > WARN_LINES => Level::Warning,
        _ => return None,
    };
    let what = format!(
        "{lines} lines: split it by responsibility ({WARN_LINES} warns, {MAX_LINES} is the limit)"
    );
    Some(Finding {
        level,
        ..Finding::error(&source.path, 0, what)
    })
}

fn unfinished(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for line in 0..source.lines() {
        let in_comment = UNFINISHED_COMMENTS
            .iter()
            .find(|m| has_word(&source.comment[line], m));
        let in_code = UNFINISHED_CODE
            .iter()
            .find(|m| source.code[line].contains(**m));
        if let Some(mark) = in_comment.or(in_code) {
            let what = format!("unfinished work is not committed: `{mark}`");
            findings.push(Finding::error(&source.path, line + 1, what));
        }
    }
    findings
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .any(|w| w == word)
}

#[cfg(test)]
mod tests {
    use super::super::Level;
    use super::super::source::Source;
    use super::{MAX_LINES, WARN_LINES, module_doc, size, unfinished};

    fn source(text: &str) -> Source {
        Source::new("crates/x/src/lib.rs", text)
    }

    #[test]
    fn module_doc_must_come_first() {
        assert!(module_doc(&source("//! A thing.\nuse a;\n")).is_none());
        assert!(module_doc(&source("\n//! A thing.\n")).is_none());
        assert_eq!(
            module_doc(&source("use a;\n//! Late.\n")).map(|f| f.line),
            Some(1)
        );
        assert!(module_doc(&source("// A plain comment.\n")).is_some());
    }

    #[test]
    fn long_files_warn_then_fail() {
        let of = |n: usize| size(&source(&"x();\n".repeat(n))).map(|f| f.level);
        assert_eq!(of(WARN_LINES), None);
        assert_eq!(of(WARN_LINES + 1), Some(Level::Warning));
        assert_eq!(of(MAX_LINES), Some(Level::Warning));
        assert_eq!(of(MAX_LINES + 1), Some(Level::Error));
    }

    #[test]
    fn marks_count_in_their_place_only() {
        let mark = concat!("TO", "DO");
        let call = concat!("to", "do!()");
        assert_eq!(unfinished(&source(&format!("// {mark}: later\n"))).len(), 1);
        assert_eq!(
            unfinished(&source(&format!("fn f() {{ {call} }}\n"))).len(),
            1
        );
        assert_eq!(
            unfinished(&source(concat!("#[ign", "ore = \"slow\"]\n"))).len(),
            1
        );
        assert!(unfinished(&source(&format!("let s = \"{mark} {call}\";\n"))).is_empty());
        assert!(unfinished(&source("// the method stays\n")).is_empty());
    }
}
