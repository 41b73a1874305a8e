//! Each dependency of a package is used in its code, and the parts the design chose are used.

use cargo_metadata::DependencyKind;

use super::Finding;
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

pub(super) fn check(ws: &Workspace, sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in &ws.metadata.packages {
        let manifest = package.manifest_path.as_std_path();
        let manifest = manifest.strip_prefix(&ws.root).unwrap_or(manifest);
        let dir = manifest.with_file_name("").display().to_string();
        for dependency in &package.dependencies {
            let name = dependency.rename.as_ref().unwrap_or(&dependency.name);
            if !is_used(name, dependency.kind, &dir, sources) {
                let what = format!("depends on `{name}` and does not use it");
                findings.push(Finding::error(manifest, 0, what));
            }
        }
    }
    findings.extend(
        CHOSEN
            .iter()
            .filter(|name| !is_chosen(name, sources))
            .map(|name| Finding::error("crates", 0, format!("no layer uses `{name}`"))),
    );
    findings
}

/// Whether the package in `dir` uses what it depends on. Only a layer's own code may use what is not for tests: the
/// packages of tests and benches may name what those need among their dependencies.
fn is_used(name: &str, kind: DependencyKind, dir: &str, sources: &[Source]) -> bool {
    let tests_count = kind == DependencyKind::Development || !dir.starts_with("crates");
    let own = sources.iter().filter(|source| source.is_in(dir));
    let mut own = own.filter(|source| tests_count || !source.is_test_file());
    own.any(|source| uses(source, name))
}

fn is_chosen(name: &str, sources: &[Source]) -> bool {
    let mut layers = sources.iter().filter(|source| source.is_layer());
    layers.any(|source| uses(source, name))
}

fn uses(source: &Source, name: &str) -> bool {
    let name = name.replace('-', "_");
    let mut paths = source.names.iter().map(|named| &named.path);
    paths.any(|path| path.contains(&name))
}

#[cfg(test)]
mod tests {
    use cargo_metadata::DependencyKind::{Development, Normal};

    use super::{is_chosen, is_used};
    use crate::source::Source;

    #[test]
    fn a_dependency_is_used_in_code_of_its_kind() {
        let (lib, test) = ("crates/a/src/lib.rs", "crates/a/tests/b.rs");
        let cases = [
            (Normal, lib, "use slab::Slab;", true),
            (Normal, lib, "const SLABS: &str = \"slab\"; // slab", false),
            (Normal, test, "use slab::Slab;", false),
            (Development, test, "use slab::Slab;", true),
            (Normal, "crates/b/src/lib.rs", "use slab::Slab;", false),
        ];
        for (kind, path, text, used) in cases {
            let sources = [Source::new(path, text).expect("it is Rust")];
            assert_eq!(
                is_used("slab", kind, "crates/a/", &sources),
                used,
                "{path} {text}"
            );
        }
    }

    #[test]
    fn the_chosen_parts_must_be_used_by_a_layer() {
        let source = |path| [Source::new(path, "use async_task::Task;\n").expect("it is Rust")];
        assert!(is_chosen("async-task", &source("crates/a/src/lib.rs")));
        assert!(!is_chosen("async-task", &source("crates/a/tests/x.rs")));
        assert!(!is_chosen("slab", &source("crates/a/src/lib.rs")));
    }
}
