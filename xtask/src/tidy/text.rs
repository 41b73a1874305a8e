//! Rules about lines and files as text: no machine is named, no work is unfinished, `unsafe` has its argument, a module says
//! what it is for and is short.

use std::path::Path;
use std::sync::LazyLock;

use regex_lite::Regex;

use super::{Finding, Level};

/// From this many lines on a file should be split by responsibility.
const WARN_LINES: usize = 400;
/// More lines than this are an error.
const MAX_LINES: usize = 600;

/// The only source that a lock file may name.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Where a rule about lines holds.
type Holds = fn(&Path) -> bool;

/// What no line may have. The brackets keep this file from breaking its own rules.
static LINES: LazyLock<Vec<(Holds, Regex, &str)>> = LazyLock::new(|| {
    let any: Holds = |_| true;
    let is_rust: Holds = |path| path.extension().is_some_and(|e| e == "rs");
    let is_config: Holds = |path| path.iter().any(|part| part == ".cargo");
    let rules: [(Holds, &str, &str); 4] = [
        (
            any,
            r"(index|static)\.crates\.io|proxy\.golang\.org|registry\.npmjs|deb\.debian\.org|pypi\.org|localhost[:]|127\.0\.0\.1",
            "names a host",
        ),
        (
            any,
            r"(^|[^\w.~$}*-])/(work|tmp|root|home|Users)/",
            "names a place on one machine",
        ),
        (
            is_rust,
            r"\b(TO[D]O|FIX[M]E|XX[X])\b|\b(to[d]o|unimplement[e]d)!|^\s*#!?\[(ignore|allow\()",
            "unfinished work is not committed, and a lint is expected with a reason",
        ),
        (
            is_config,
            r"^\[(source|registr)",
            "the registry is each machine's own matter",
        ),
    ];
    let rules = rules.map(|(holds, pattern, what)| {
        let pattern = Regex::new(pattern).expect("the patterns are constants and valid");
        (holds, pattern, what)
    });
    rules.into()
});

/// How many lines above the `unsafe` its argument may start.
const NEAR: usize = 14;

/// An `unsafe` block, impl or trait, or a public `unsafe fn` (those of a trait owe what it says).
static UNSAFE: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r#"^[^/"]*\bunsafe\s*(\{|impl\b|trait\b|$)|^\s*pub.*\bunsafe fn \w"#;
    Regex::new(pattern).expect("the pattern is a constant and valid")
});

pub(super) fn check(path: &Path, text: &str) -> Vec<Finding> {
    let is_lock = path.file_name().is_some_and(|name| name == "Cargo.lock");
    let mut findings = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if is_lock && line.starts_with("source = ") && !line.contains(REGISTRY) {
            let what = "a package from another registry";
            findings.push(Finding::error(path, number + 1, what));
        }
        for (_, pattern, what) in LINES.iter().filter(|(holds, ..)| holds(path)) {
            if let Some(found) = pattern.find(line) {
                let what = format!("{what}: `{}`", found.as_str().trim());
                findings.push(Finding::error(path, number + 1, what));
            }
        }
    }
    if path.extension().is_some_and(|e| e == "rs") {
        findings.extend(documented(path, text));
        findings.extend(unargued(path, text));
        findings.extend(size(path, text.lines().count()));
    }
    findings
}

fn documented(path: &Path, text: &str) -> Option<Finding> {
    let starts = ["//!", "#![doc = include_str!("];
    let first = text.trim_start();
    let documented = first.is_empty() || starts.iter().any(|start| first.starts_with(start));
    (!documented).then(|| Finding::error(path, 1, "a module starts with `//!`: what it is for"))
}

/// clippy checks exact adjacency; this also covers what is behind cfgs, and in firmware, which clippy is not run under.
fn unargued(path: &Path, text: &str) -> Vec<Finding> {
    let mut argued = None;
    let mut findings = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.contains("SAFETY:") || line.contains("# Safety") {
            argued = Some(number);
        }
        let near = argued.is_some_and(|at| number - at <= NEAR);
        if !near && line.contains("unsafe") && UNSAFE.is_match(line) {
            let what = "`unsafe` without a `// SAFETY:` or `# Safety` near it";
            findings.push(Finding::error(path, number + 1, what));
        }
    }
    findings
}

fn size(path: &Path, lines: usize) -> Option<Finding> {
    let what = format!(
        "{lines} lines: split it by responsibility ({WARN_LINES} warns, {MAX_LINES} is the limit)"
    );
    let mut finding = Finding::error(path, 0, what);
    if lines <= MAX_LINES {
        finding.level = Level::Warning;
    }
    (lines > WARN_LINES).then_some(finding)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::Level;
    use super::{MAX_LINES, NEAR, WARN_LINES, check, size, unargued};

    #[test]
    fn what_breaks_a_rule_is_found_and_what_resembles_it_is_not() {
        let found = [
            ("a.md", concat!("see https://index.", "crates.io/x")),
            (
                "a.md",
                concat!("curl 127.0", ".0.1, http://local", "host:80"),
            ),
            ("a.py", concat!("open(\"/t", "mp/x\")")),
            ("a.py", concat!("// in /ro", "ot/x and ./wo", "rk/")),
            ("a.rs", concat!("//! A.\n// TO", "DO: later")),
            ("a.rs", concat!("//! A.\nfn f() { to", "do!() }")),
            ("a.rs", concat!("//! A.\n  #[", "ignore = \"slow\"]")),
            ("a.rs", concat!("//! A.\n#!", "[allow(x)]")),
            ("a.rs", "use a;\n//! Late.\n"),
            ("a.rs", "// A plain comment.\n"),
            ("Cargo.lock", "source = \"registry+https://mirror/index\""),
            (".cargo/config.toml", "[source.crates-io]"),
        ];
        for (path, text) in found {
            assert_eq!(check(Path::new(path), text).len(), 1, "{path}: {text}");
        }
        let public = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";
        let passes = [
            ("a.py", "/usr/lib/rustlib, target/tmp/x, a/work/b, $HOME/x"),
            ("README.md", "[patch.crates-io]"),
            (
                "a.rs",
                "\n//! A thing.\n// the method stays\nlet s = \"#[allow(x)]\";\n",
            ),
            ("Cargo.lock", public),
            (".cargo/config.toml", "[alias]"),
        ];
        for (path, text) in passes {
            assert_eq!(check(Path::new(path), text), [], "{path}: {text}");
        }
    }

    #[test]
    fn each_unsafe_has_its_argument_near_it() {
        let far = format!("// SAFETY: x.\n{}unsafe {{ f() }}\n", "a();\n".repeat(NEAR));
        let cases = [
            ("// SAFETY: it is ours.\nlet x = unsafe { *p };\n", 0),
            ("/// # Safety\n/// Once.\npub unsafe fn f() {}\n", 0),
            (
                "impl Core for A {\n    unsafe fn schedule(&self) {}\n}\n",
                0,
            ),
            (
                "type F = unsafe fn(*const ());\n#![forbid(unsafe_code)]\n",
                0,
            ),
            ("let s = \"unsafe {\"; // unsafe {\n", 0),
            ("let x = unsafe { *p };\n", 1),
            ("unsafe impl<T> Send for A<T> {}\n", 1),
            ("pub(crate) unsafe fn f() {}\n", 1),
            (&far, 1),
        ];
        for (text, wanted) in cases {
            assert_eq!(unargued(Path::new("a.rs"), text).len(), wanted, "{text}");
        }
    }

    #[test]
    fn long_files_warn_then_fail() {
        let of = |lines| size(Path::new("a.rs"), lines).map(|finding| finding.level);
        assert_eq!(of(WARN_LINES), None);
        assert_eq!(of(WARN_LINES + 1), Some(Level::Warning));
        assert_eq!(of(MAX_LINES), Some(Level::Warning));
        assert_eq!(of(MAX_LINES + 1), Some(Level::Error));
    }
}
