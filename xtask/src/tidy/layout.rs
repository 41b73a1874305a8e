//! Rules about where things lie: the top level, the READMEs, the crates without unsafe code.

use std::path::{Component, Path, PathBuf};

use super::Finding;
use super::source::Source;

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
const NO_UNSAFE: [&str; 1] = ["crates/tasks"];

pub(super) fn top_level(paths: &[PathBuf]) -> Vec<Finding> {
    let mut names: Vec<&str> = paths
        .iter()
        .filter_map(|p| match p.components().next() {
            Some(Component::Normal(name)) => name.to_str(),
            _ => None,
        })
        .collect();
    names.sort_unstable();
    names.dedup();
    names
        .into_iter()
        .filter(|name| !name.starts_with('.') && !TOP_LEVEL.contains(name))
        .map(|name| Finding::error(name, 0, "does not belong at the top level"))
        .collect()
}

pub(super) fn readmes(paths: &[PathBuf]) -> Vec<Finding> {
    let has = |path: &Path| paths.iter().any(|p| p == path);
    paths
        .iter()
        .filter(|p| p.starts_with("crates") && p.ends_with("Cargo.toml"))
        .filter_map(|manifest| {
            let readme = manifest.with_file_name("README.md");
            (!has(&readme)).then(|| Finding::error(readme, 0, "a crate needs a README"))
        })
        .collect()
}

pub(super) fn forbids_unsafe(sources: &[Source]) -> Vec<Finding> {
    sources
        .iter()
        .filter(|s| {
            NO_UNSAFE
                .iter()
                .any(|c| s.path == Path::new(c).join("src/lib.rs"))
        })
        .filter(|s| {
            let forbids = |code: &String| code.trim() == "#![forbid(unsafe_code)]";
            !s.code.iter().any(forbids)
        })
        .map(|s| Finding::error(&s.path, 1, "needs `#![forbid(unsafe_code)]`"))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::source::Source;
    use super::{forbids_unsafe, readmes, top_level};

    fn paths(paths: &[&str]) -> Vec<PathBuf> {
        paths.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn the_top_level_holds_what_it_may() {
        assert!(top_level(&paths(&["Cargo.toml", ".ci/run", "crates/a/b"])).is_empty());
        let found = top_level(&paths(&["notes.txt", "scripts/a", "scripts/b"]));
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn crates_need_readmes() {
        assert!(readmes(&paths(&["crates/a/Cargo.toml", "crates/a/README.md"])).is_empty());
        let found = readmes(&paths(&["crates/a/Cargo.toml", "xtask/Cargo.toml"]));
        assert_eq!(found[0].path, PathBuf::from("crates/a/README.md"));
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn the_facade_forbids_unsafe_code() {
        let source = |text| [Source::new("crates/tasks/src/lib.rs", text)];
        assert!(forbids_unsafe(&source("//! x\n#![forbid(unsafe_code)]\n")).is_empty());
        assert_eq!(
            forbids_unsafe(&source("//! #![forbid(unsafe_code)]\n")).len(),
            1
        );
    }
}
