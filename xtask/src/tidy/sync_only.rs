//! Atomics, cells, `Arc`, parking and thread-locals come from `crates/sync`, the one place that
//! knows loom; what is taken around it, no model sees.

use super::Finding;
use super::source::Source;
use super::use_tree::{Import, imports};

/// Paths forbidden in the layers, their inline tests included. A path below one is meant too.
const ALWAYS: [&[&str]; 6] = [
    &["std", "sync", "atomic"],
    &["core", "sync", "atomic"],
    &["std", "cell", "UnsafeCell"],
    &["core", "cell", "UnsafeCell"],
    &["std", "thread", "park"],
    &["std", "thread", "park_timeout"],
];

/// Paths forbidden in the layers but for their inline tests.
const OUTSIDE_TESTS: [&[&str]; 5] = [
    &["std", "sync", "Arc"],
    &["std", "sync", "Weak"],
    &["alloc", "sync", "Arc"],
    &["alloc", "sync", "Weak"],
    &["std", "thread_local"],
];

pub(super) fn check(source: &Source) -> Vec<Finding> {
    let is_layer = source.is_in("crates")
        && !source.is_in("crates/sync")
        && !source.is_in("crates/compat")
        && !source.is_in("crates/firmware")
        && !source.is_test_file();
    if !is_layer {
        return Vec::new();
    }
    let in_test = source.in_test_module();
    let imports = imports(&source.code);
    let mut findings = Vec::new();
    let mut look = |line: usize, path: &[String]| {
        let hit = |rule: &&&[&str]| starts_with(path, rule);
        let rule = ALWAYS.iter().find(hit).or_else(|| {
            let rules = if in_test[line] {
                &[][..]
            } else {
                &OUTSIDE_TESTS[..]
            };
            rules.iter().find(hit)
        });
        if let Some(rule) = rule {
            let what = format!("take `{}` from terrace-sync", rule.join("::"));
            let finding = Finding::error(&source.path, line + 1, what);
            if findings.last() != Some(&finding) {
                findings.push(finding);
            }
        }
    };
    for import in &imports {
        look(import.line, &import.path);
    }
    for (line, code) in source.code.iter().enumerate() {
        for path in paths(code) {
            look(line, &resolve(path, &imports));
        }
    }
    findings
}

/// Whether the path is the rule's, lies below it, or is a glob that brings it in.
fn starts_with(path: &[String], rule: &[&str]) -> bool {
    let glob = path.last().is_some_and(|s| s == "*") && path.len() == rule.len();
    let compared = if glob { rule.len() - 1 } else { rule.len() };
    path.len() >= rule.len() && path.iter().zip(rule).take(compared).all(|(a, b)| a == b)
}

/// The paths with `::` in them, and the bare macro `thread_local!`.
fn paths(code: &str) -> impl Iterator<Item = &str> {
    let in_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let macro_at = code
        .find("thread_local!")
        .filter(|at| !code[..*at].ends_with(in_path) && !code[..*at].ends_with("macro_rules! "));
    code.split(move |c: char| !in_path(c))
        .map(|p| p.trim_start_matches(':').trim_end_matches(':'))
        .filter(|p| p.contains("::"))
        .chain(macro_at.map(|_| "thread_local"))
}

/// The path with its first segment replaced by what that name was imported as.
fn resolve(path: &str, imports: &[Import]) -> Vec<String> {
    let mut segments = path.split("::").map(str::to_owned);
    let first = segments.next().unwrap_or_default();
    let mut full = match imports.iter().find(|i| i.name == first) {
        Some(import) => import.path.clone(),
        None if first == "thread_local" => vec!["std".to_owned(), first],
        None => vec![first],
    };
    full.extend(segments);
    full
}

#[cfg(test)]
mod tests {
    use super::super::source::Source;
    use super::check;

    fn found(path: &str, text: &str) -> usize {
        check(&Source::new(path, text)).len()
    }

    fn layer(text: &str) -> usize {
        found("crates/queue/src/ring.rs", text)
    }

    #[test]
    fn imports_around_sync_are_found() {
        assert_eq!(layer("use std::sync::atomic::{AtomicBool, Ordering};\n"), 1);
        assert_eq!(layer("use core::{cell::UnsafeCell, mem};\n"), 1);
        assert_eq!(layer("use std::{mem, sync::*};\n"), 1);
        assert_eq!(layer("use std::sync::Mutex;\n"), 0);
        assert_eq!(layer("use std::sync::Arc;\n"), 1);
        assert_eq!(layer("use std::sync::atomic::*;\n"), 1);
    }

    #[test]
    fn paths_are_resolved_through_imports() {
        assert_eq!(layer("use std::thread;\nfn f() { thread::park(); }\n"), 1);
        assert_eq!(
            layer("use terrace_sync::thread;\nfn f() { thread::park(); }\n"),
            0
        );
        assert_eq!(layer("fn f() { std::thread::park_timeout(d); }\n"), 1);
        assert_eq!(
            layer("use std::sync;\nfn f(a: &sync::atomic::AtomicU8) {}\n"),
            1
        );
    }

    #[test]
    fn thread_locals() {
        assert_eq!(layer("thread_local! { static A: u8 = 0; }\n"), 1);
        assert_eq!(
            layer("use terrace_sync::thread_local;\nthread_local! { static A: u8 = 0; }\n"),
            0
        );
        assert_eq!(
            layer("terrace_sync::thread_local! { static A: u8 = 0; }\n"),
            0
        );
    }

    #[test]
    fn words_in_comments_and_strings_are_none() {
        assert_eq!(
            layer("// std::sync::atomic\nlet s = \"std::thread::park\";\n"),
            0
        );
    }

    #[test]
    fn tests_and_other_packages_may() {
        let text = "use std::sync::atomic::AtomicBool;\n";
        for path in [
            "crates/queue/tests/a.rs",
            "crates/sync/src/lib.rs",
            "xtask/src/a.rs",
        ] {
            assert_eq!(found(path, text), 0, "{path}");
        }
        let arc = "#[cfg(test)]\nmod tests {\n    use std::sync::Arc;\n}\n";
        assert_eq!(layer(arc), 0);
    }
}
