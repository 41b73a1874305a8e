//! Atomics, cells, `Arc`, parking and thread-locals come from `crates/sync`, the one place that
//! knows loom; what is taken around it, no model sees.
//!
//! clippy's `disallowed_types` cannot say this: without loom they are the same types where `terrace-sync` re-exports them.

use super::error;
use crate::source::{Named, Role, Source};

/// Paths forbidden in the layers, their inline tests included. A path below one is meant too, and one of `core` or `alloc`.
const ALWAYS: [&str; 4] = [
    "std::sync::atomic",
    "std::cell::UnsafeCell",
    "std::thread::park",
    "std::thread::park_timeout",
];

/// Paths forbidden in the layers but for their inline tests.
const OUTSIDE_TESTS: [&str; 3] = ["std::sync::Arc", "std::sync::Weak", "std::thread_local"];

pub(super) fn check(source: &Source) -> Vec<String> {
    let mut findings = Vec::new();
    if !source.is_layer() || source.is_in("crates/sync") {
        return findings;
    }
    for named in &source.names {
        let path = resolve(named, &source.names);
        let outside = OUTSIDE_TESTS.iter().filter(|_| !named.around.test);
        let mut rules = ALWAYS.iter().chain(outside);
        if let Some(rule) = rules.find(|rule| breaks(&path, rule)) {
            let what = format!("take `{rule}` from terrace-sync");
            findings.push(error(&source.path, named.line, &what));
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

/// The path, its first segment replaced by what that name was imported as, and in `std`.
fn resolve(named: &Named, all: &[Named]) -> String {
    let path = named.path.join("::");
    let first = &named.path[0];
    let is_it = |other: &&Named| matches!(&other.role, Role::Import(name) if name == first);
    let path = match (&named.role, all.iter().find(is_it)) {
        (Role::Import(_), _) => path,
        (_, Some(import)) => import.path.join("::") + &path[first.len()..],
        (Role::Macro(..), None) if path == "thread_local" => "std::thread_local".to_owned(),
        _ => path,
    };
    match path.split_once("::") {
        Some(("core" | "alloc", rest)) => format!("std::{rest}"),
        _ => path,
    }
}
