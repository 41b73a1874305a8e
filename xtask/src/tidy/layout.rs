//! Rules about where things lie: the top level, the READMEs, the crates without unsafe code.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::Finding;
use crate::source::Source;

/// What may lie at the top level beside files that start with a dot.
const TOP_LEVEL: [&str; 14] = [
    "Cargo.toml",
    "Cargo.lock",
    "crates",
    "benches",
    "loom-tests",
    "xtask",
    "docs",
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE-MIT",
    "LICENSE-APACHE",
    "clippy.toml",
    "rustfmt.toml",
];

/// Crates that forbid unsafe code at their root.
const NO_UNSAFE: [&str; 1] = ["crates/tasks/src/lib.rs"];

pub(super) fn check(paths: &[PathBuf]) -> Vec<Finding> {
    let first = |path: &PathBuf| Some(path.iter().next()?.to_str()?.to_owned());
    let top: BTreeSet<String> = paths.iter().filter_map(first).collect();
    let strange = top.iter();
    let strange = strange.filter(|name| !name.starts_with('.') && !TOP_LEVEL.contains(&&***name));
    let manifests = paths.iter();
    let manifests = manifests.filter(|p| p.starts_with("crates") && p.ends_with("Cargo.toml"));
    let readmes = manifests.map(|manifest| manifest.with_file_name("README.md"));
    let missing = readmes.filter(|readme| !paths.contains(readme));
    strange
        .map(|name| Finding::error(name, 0, "does not belong at the top level"))
        .chain(missing.map(|readme| Finding::error(readme, 0, "a crate needs a README")))
        .collect()
}

pub(super) fn forbids_unsafe(source: &Source) -> Option<Finding> {
    let forbids = |line: &str| line == "#![forbid(unsafe_code)]";
    let lacks = NO_UNSAFE.iter().any(|path| source.path == Path::new(path))
        && !source.text.lines().any(forbids);
    lacks.then(|| Finding::error(&source.path, 1, "needs `#![forbid(unsafe_code)]`"))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{check, forbids_unsafe};
    use crate::source::Source;

    #[test]
    fn things_lie_where_they_may_and_crates_have_readmes() {
        let found = |paths: &[&str]| {
            let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
            let findings = check(&paths).into_iter();
            let paths = findings.map(|finding| finding.path.display().to_string());
            paths.collect::<Vec<_>>().join(" ")
        };
        let good = [
            "Cargo.toml",
            ".ci/run",
            "crates/a/Cargo.toml",
            "crates/a/README.md",
        ];
        assert_eq!(found(&good), "");
        assert_eq!(
            found(&["notes.txt", "scripts/a", "scripts/b"]),
            "notes.txt scripts"
        );
        assert_eq!(
            found(&["crates/a/Cargo.toml", "xtask/Cargo.toml"]),
            "crates/a/README.md"
        );
    }

    #[test]
    fn the_facade_forbids_unsafe_code() {
        let lacks = |text| {
            let source = Source::new("crates/tasks/src/lib.rs", text).expect("it is Rust");
            forbids_unsafe(&source).is_some()
        };
        assert!(!lacks("//! x\n#![forbid(unsafe_code)]\n"));
        assert!(lacks("//! #![forbid(unsafe_code)]\n"));
    }
}
