//! Rules about lines and files as text: no machine is named, no work is unfinished, `unsafe` has its argument, a module says
//! what it is for and is short.

use std::path::Path;
use std::sync::LazyLock;

use regex_lite::Regex;

use super::error;

/// From this many lines on a file should be split by responsibility.
const WARN_LINES: usize = 400;
/// More lines than this are an error.
const MAX_LINES: usize = 600;

/// The only source that a lock file may name.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Where a rule about lines holds.
type Holds = fn(&Path) -> bool;

/// What no line may have: where, and what is wrong. The brackets keep this file from breaking its own rules.
const LINES: [(Holds, &str, &str); 7] = [
    (
        |_| true,
        r"(index|static)\.crates\.io|proxy\.golang\.org|registry\.npmjs|deb\.debian\.org|pypi\.org|localhost[:]|127\.0\.0\.1",
        "names a host",
    ),
    (
        |_| true,
        r"(^|[^\w.~$}*-])/(work|tmp|root|home|Users)/",
        "names a place on one machine",
    ),
    (
        is_rust,
        r"\b(TO[D]O|FIX[M]E|XX[X])\b|\b(to[d]o|unimplement[e]d)!|^\s*#!?\[(ignore|allow\()",
        "unfinished work is not committed, and a lint is expected with a reason",
    ),
    (
        is_rust,
        r#"^[^/]*\bterrace_weaken = ""#,
        "no model sees what a cfg plants, use `weakened!`",
    ),
    (
        is_published,
        r"^\s*#\[must_use\]",
        "words say what a caller that ignores it loses",
    ),
    (
        |path| path.starts_with("crates/tasks/src"),
        r"^[^/]*\bunsafe (fn|impl|trait|extern|\{)",
        "there is no unsafe code in `tasks`",
    ),
    (
        |path| path.iter().any(|part| part == ".cargo"),
        r"^\[(source|registr)",
        "the registry is each machine's own matter",
    ),
];

/// How many lines above the `unsafe` its argument may start.
const NEAR: usize = 14;

/// An `unsafe` block, impl or trait, or a public `unsafe fn` (those of a trait owe what it says).
const UNSAFE: &str = r#"^[^/"]*\bunsafe\s*(\{|impl\b|trait\b|$)|^\s*pub.*\bunsafe fn \w"#;

static PATTERNS: LazyLock<[Regex; 7]> = LazyLock::new(|| LINES.map(|(_, line, _)| regex(line)));
static UNSAFES: LazyLock<Regex> = LazyLock::new(|| regex(UNSAFE));

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the patterns are constants and valid")
}

fn is_rust(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "rs")
}

/// Whether the file is a source of a published layer.
fn is_published(path: &Path) -> bool {
    let own = ["conformance", "soak", "testing", "compat", "firmware"];
    let mut parts = path.iter().filter_map(|part| part.to_str());
    parts.next() == Some("crates")
        && parts.next().is_some_and(|layer| !own.contains(&layer))
        && parts.next() == Some("src")
}

pub(super) fn check(path: &Path, text: &str) -> Vec<String> {
    let mut findings = Vec::new();
    for (number, line) in text.lines().enumerate() {
        for ((holds, _, what), pattern) in LINES.iter().zip(&*PATTERNS) {
            if let Some(found) = pattern.find(line).filter(|_| holds(path)) {
                let what = format!("{what}: `{}`", found.as_str().trim());
                findings.push(error(path, number + 1, &what));
            }
        }
        let is_source = path.ends_with("Cargo.lock") && line.starts_with("source = ");
        if is_source && !line.contains(REGISTRY) {
            findings.push(error(path, number + 1, "a package from another registry"));
        }
    }
    if is_rust(path) {
        findings.extend(documented(path, text));
        findings.extend(unargued(path, text));
        findings.extend(size(path, text.lines().count()));
    }
    findings
}

fn documented(path: &Path, text: &str) -> Option<String> {
    let starts = ["//!", "#![doc = include_str!("];
    let first = text.trim_start();
    let documented = first.is_empty() || starts.iter().any(|start| first.starts_with(start));
    (!documented).then(|| error(path, 1, "a module starts with `//!`: what it is for"))
}

/// clippy checks exact adjacency; this also covers what is behind cfgs, and in firmware, which clippy is not run under.
fn unargued(path: &Path, text: &str) -> Vec<String> {
    let mut argued = None;
    let mut findings = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.contains("SAFETY:") || line.contains("# Safety") {
            argued = Some(number);
        }
        let near = argued.is_some_and(|at| number - at <= NEAR);
        if !near && line.contains("unsafe") && UNSAFES.is_match(line) {
            let what = "no `// SAFETY:` or `# Safety` near this `unsafe`";
            findings.push(error(path, number + 1, what));
        }
    }
    findings
}

fn size(path: &Path, lines: usize) -> Option<String> {
    let limits = format!("{WARN_LINES} warns, {MAX_LINES} is the limit");
    let what = format!("{lines} lines: split it by responsibility ({limits})");
    match lines {
        ..=WARN_LINES => None,
        lines if lines > MAX_LINES => Some(error(path, 0, &what)),
        _ => Some(format!("warning: {}: {what}", path.display())),
    }
}
