//! Each dependency of a layer is used in its code, and the parts the design chose are used.

use cargo_metadata::DependencyKind;

use super::Finding;
use super::source::Source;
use crate::workspace::Workspace;

/// What the executors are built from; each is used in the code of at least one layer.
const CHOSEN: [&str; 5] = [
    "async-task",
    "concurrent-queue",
    "slab",
    "event-listener",
    "pin-project-lite",
];

/// One package: where it lies, and its dependencies.
struct Member {
    dir: String,
    /// Name in code, and whether only tests, examples and benches may use it.
    dependencies: Vec<(String, bool)>,
}

pub(super) fn check(ws: &Workspace, sources: &[Source]) -> Vec<Finding> {
    let members: Vec<Member> = ws
        .metadata
        .packages
        .iter()
        .filter_map(|package| {
            let dir = package.manifest_path.parent()?.as_std_path();
            let dir = dir.strip_prefix(&ws.root).ok()?.to_str()?.to_owned();
            let dependencies = package.dependencies.iter().map(|d| {
                let name = d.rename.as_ref().unwrap_or(&d.name);
                (
                    name.replace('-', "_"),
                    d.kind == DependencyKind::Development,
                )
            });
            Some(Member {
                dir,
                dependencies: dependencies.collect(),
            })
        })
        .collect();
    let mut findings = unused(&members, sources);
    findings.extend(chosen(sources));
    findings
}

fn unused(members: &[Member], sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for member in members {
        // The packages of tests and benches may name what those need among their dependencies.
        let is_layer = member.dir.starts_with("crates");
        for (name, dev) in &member.dependencies {
            let used = sources
                .iter()
                .filter(|s| s.is_in(&member.dir) && (*dev || !is_layer || !s.is_test_file()))
                .any(|s| uses(s, name));
            // An empty package is a layer still to come.
            let started = sources
                .iter()
                .any(|s| s.is_in(&member.dir) && s.code.iter().any(|c| !c.trim().is_empty()));
            if started && !used {
                let manifest = format!("{}/Cargo.toml", member.dir);
                let what = format!("depends on `{name}` and does not use it");
                findings.push(Finding::error(manifest, 0, what));
            }
        }
    }
    findings
}

fn chosen(sources: &[Source]) -> Vec<Finding> {
    let excluded = |s: &&Source| s.is_in("crates/compat") || s.is_in("crates/firmware");
    let layers = |s: &&Source| s.is_in("crates") && !excluded(s) && !s.is_test_file();
    CHOSEN
        .iter()
        .filter(|name| {
            let name = name.replace('-', "_");
            !sources.iter().filter(layers).any(|s| uses(s, &name))
        })
        .map(|name| Finding::error("crates", 0, format!("no layer uses `{name}`")))
        .collect()
}

fn uses(source: &Source, name: &str) -> bool {
    source.code.iter().any(|code| {
        code.match_indices(name).any(|(at, _)| {
            let before = code[..at].chars().next_back();
            let after = code[at + name.len()..].chars().next();
            let in_word = |c: char| c.is_alphanumeric() || c == '_';
            !before.is_some_and(in_word) && !after.is_some_and(in_word)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::source::Source;
    use super::{CHOSEN, Member, chosen, unused};

    fn member(name: &str, dev: bool) -> [Member; 1] {
        [Member {
            dir: "crates/a".to_owned(),
            dependencies: vec![(name.to_owned(), dev)],
        }]
    }

    #[test]
    fn unused_dependencies_are_found() {
        let source = |path, text| [Source::new(path, text)];
        let lib = "crates/a/src/lib.rs";
        assert!(unused(&member("slab", false), &source(lib, "use slab::Slab;\n")).is_empty());
        assert_eq!(
            unused(
                &member("slab", false),
                &source(lib, "let slabs = \"slab\";\n")
            )
            .len(),
            1
        );
        let test = "crates/a/tests/b.rs";
        assert_eq!(
            unused(&member("slab", false), &source(test, "use slab::Slab;\n")).len(),
            1
        );
        assert!(unused(&member("slab", true), &source(test, "use slab::Slab;\n")).is_empty());
        assert!(unused(&member("slab", false), &source(lib, "//! To come.\n")).is_empty());
    }

    #[test]
    fn the_chosen_parts_must_be_used() {
        let all: String = CHOSEN
            .iter()
            .map(|c| format!("use {}::X;\n", c.replace('-', "_")))
            .collect();
        assert!(chosen(&[Source::new("crates/a/src/lib.rs", &all)]).is_empty());
        assert_eq!(
            chosen(&[Source::new("crates/a/tests/x.rs", &all)]).len(),
            CHOSEN.len()
        );
    }
}
