//! Each dependency of a package is used in its code, and the parts the design chose are used.

use std::path::{Path, PathBuf};

use cargo_metadata::DependencyKind;

use super::error;
use crate::source::Source;
use crate::workspace::Workspace;

/// What the executors are built from; each is used in the code of at least one layer.
const CHOSEN: [&str; 5] = [
    "async-task",
    "concurrent-queue",
    "slab",
    "event-listener",
    "pin-project-lite",
];

/// The directory of a package, what it depends on, and whether for tests.
pub(super) type Dependency = (PathBuf, String, bool);

/// The dependencies of all packages of the workspace.
pub(super) fn all(ws: &Workspace) -> Vec<Dependency> {
    let mut all = Vec::new();
    for package in &ws.metadata.packages {
        let dir = package.manifest_path.as_std_path().with_file_name("");
        let dir = dir.strip_prefix(&ws.root).unwrap_or(Path::new(""));
        for dependency in &package.dependencies {
            let name = dependency.rename.as_ref().unwrap_or(&dependency.name);
            let is_dev = dependency.kind == DependencyKind::Development;
            all.push((dir.to_owned(), name.clone(), is_dev));
        }
    }
    all
}

pub(super) fn check(dependencies: &[Dependency], sources: &[Source]) -> Vec<String> {
    let mut findings = Vec::new();
    for (dir, name, is_dev) in dependencies {
        // The packages of tests and benches may name what those need among their dependencies.
        let tests_count = *is_dev || !dir.starts_with("crates");
        let own = sources.iter().filter(|source| source.is_in(dir));
        let mut own = own.filter(|source| tests_count || !source.is_test_file());
        if !own.any(|source| uses(source, name)) {
            let what = format!("depends on `{name}` and does not use it");
            findings.push(error(dir.join("Cargo.toml"), 0, &what));
        }
    }
    for name in CHOSEN {
        let mut layers = sources.iter().filter(|source| source.is_layer());
        if !layers.any(|source| uses(source, name)) {
            findings.push(error("crates", 0, &format!("no layer uses `{name}`")));
        }
    }
    findings
}

fn uses(source: &Source, name: &str) -> bool {
    let name = name.replace('-', "_");
    source.names.iter().any(|named| named.path.contains(&name))
}
