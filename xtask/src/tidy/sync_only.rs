//! Atomics, cells, `Arc`, parking and thread-locals come from `crates/sync`, the one place that
//! knows loom; what is taken around it, no model sees.
//!
//! clippy's `disallowed_types` cannot say this: without loom they are the same types where `terrace-sync` re-exports them.

use super::Finding;
use crate::source::{Named, Role, Source};

/// Paths forbidden in the layers, their inline tests included. A path below one is meant too.
const ALWAYS: [&str; 6] = [
    "std::sync::atomic",
    "core::sync::atomic",
    "std::cell::UnsafeCell",
    "core::cell::UnsafeCell",
    "std::thread::park",
    "std::thread::park_timeout",
];

/// Paths forbidden in the layers but for their inline tests.
const OUTSIDE_TESTS: [&str; 5] = [
    "std::sync::Arc",
    "std::sync::Weak",
    "alloc::sync::Arc",
    "alloc::sync::Weak",
    "std::thread_local",
];

pub(super) fn check(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    if !source.is_layer() || source.is_in("crates/sync") {
        return findings;
    }
    for named in &source.names {
        let path = resolve(named, &source.names);
        let outside = OUTSIDE_TESTS.iter().filter(|_| !named.around.test);
        if let Some(rule) = ALWAYS
            .iter()
            .chain(outside)
            .find(|rule| breaks(&path, rule))
        {
            let what = format!("take `{rule}` from terrace-sync");
            findings.push(Finding::error(&source.path, named.line, what));
        }
    }
    findings.dedup();
    findings
}

/// Whether the path is the rule's, lies below it, or is a glob that brings it in.
fn breaks(path: &str, rule: &str) -> bool {
    let path = path.strip_suffix("::*").map_or(path, |module| {
        let brings = rule.rsplit_once("::").is_some_and(|(of, _)| of == module);
        if brings { rule } else { path }
    });
    let rest = path.strip_prefix(rule);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// The path, its first segment replaced by what that name was imported as.
fn resolve(named: &Named, all: &[Named]) -> String {
    let path = named.path.join("::");
    let first = &named.path[0];
    let is_it = |other: &&Named| matches!(&other.role, Role::Import(name) if name == first);
    let is_macro = matches!(named.role, Role::Macro(..));
    match all.iter().find(is_it) {
        _ if matches!(named.role, Role::Import(_)) => path,
        Some(import) => import.path.join("::") + &path[first.len()..],
        None if path == "thread_local" && is_macro => "std::thread_local".to_owned(),
        None => path,
    }
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::source::Source;

    fn found(path: &str, text: &str) -> usize {
        check(&Source::new(path, text).expect("it is Rust")).len()
    }

    #[test]
    fn what_goes_around_sync_is_found() {
        let cases = [
            ("use std::sync::atomic::{AtomicBool, Ordering};", 1),
            ("use core::{cell::UnsafeCell, mem};", 1),
            ("use std::{mem, sync::*};", 1),
            ("use std::sync::Mutex;", 0),
            ("use std::sync::Arc;", 1),
            ("use std::sync::atomic::*;", 1),
            ("use std::thread;\nfn f() { thread::park(); }", 1),
            ("use terrace_sync::thread;\nfn f() { thread::park(); }", 0),
            ("fn f() { assert!(std::thread::park_timeout(d)); }", 1),
            ("use std::sync;\nfn f(a: &sync::atomic::AtomicU8) {}", 1),
            ("thread_local! { static A: u8 = 0; }", 1),
            (
                "use terrace_sync::thread_local;\nthread_local! { static A: u8 = 0; }",
                0,
            ),
            ("terrace_sync::thread_local! { static A: u8 = 0; }", 0),
            (
                "// std::sync::atomic\nconst S: &str = \"std::thread::park\";",
                0,
            ),
            ("#[cfg(test)]\nmod tests {\n    use std::sync::Arc;\n}", 0),
            (
                "#[cfg(test)]\nmod tests {\n    use std::sync::atomic::AtomicU8;\n}",
                1,
            ),
        ];
        for (text, wanted) in cases {
            assert_eq!(found("crates/queue/src/ring.rs", text), wanted, "{text}");
        }
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
    }
}
