//! The two sides: a tree each, built in a target directory of its own, the programs kept by a hash of all
//! they depend on.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};

use super::failure::of_bench;
use super::git::{self, Repository, Revision};
use super::programs::{Built, Set, Wanted};
use super::seed;
use crate::measure::build::{self, Tree};
use crate::process::{program, said};
use crate::report::model;

/// The package of the benches, below the root of the repository.
pub(super) const PACKAGE: &str = "benches";
/// The names of the sides in files and messages. They are equally long, so are all paths: the length of a path shifts the
/// stack of a program, and with it its times.
pub(super) const NAMES: [&str; 2] = ["base", "head"];
/// Raised when builds of the same inputs are no longer the same.
const FORMAT: u32 = 3;
/// Sets of programs that are kept.
const KEPT: usize = 8;

/// The command's own directory below the target directory, held by one process at a time.
pub(super) struct State {
    pub(super) dir: PathBuf,
    /// The target directory.
    pub(super) target: PathBuf,
    _lock: File,
}

impl State {
    pub(super) fn lock(target: &Path) -> Result<Self> {
        let dir = target.join("bench-compare");
        fs_err::create_dir_all(&dir)?;
        let (target, dir) = (target.canonicalize()?, dir.canonicalize()?);
        let path = dir.join("lock");
        let lock =
            File::create(&path).with_context(|| format!("cannot create {}", path.display()))?;
        lock.try_lock().map_err(|_| {
            anyhow!(
                "another bench-compare works in {}; wait for its end",
                dir.display()
            )
        })?;
        let _lock = lock;
        Ok(Self { dir, target, _lock })
    }
}

/// A side, ready to be measured.
#[derive(Clone, Debug)]
pub(super) struct Side {
    pub(super) revision: Revision,
    pub(super) args: Vec<String>,
    /// For errors: which side, and of which commit.
    pub(super) label: String,
    /// The hash of all that the programs depend on.
    pub(super) key: String,
    /// Whether the revision has the package.
    pub(super) has_benches: bool,
    /// Those that are wanted.
    pub(super) programs: Vec<Built>,
}

impl Side {
    /// For the reports.
    pub(super) fn told(&self) -> model::Side {
        model::Side {
            name: self.revision.name.clone(),
            commit: self.revision.commit.clone(),
            dirty: self.revision.dirty,
            args: self.args.clone(),
        }
    }
}

/// Variables of the environment that change what cargo builds begin like this.
const VARIABLES: [&str; 6] = [
    "CARGO_BUILD_",
    "CARGO_PROFILE_",
    "CARGO_TARGET_",
    "RUSTC",
    "RUSTUP_TOOLCHAIN",
    "CC",
];
/// Where the programs are built; it does not change them.
const TARGET_DIR: &str = "CARGO_TARGET_DIR";

/// What the environment says about builds. Which of it matters is cargo's to know: all counts.
fn settings(variables: impl Iterator<Item = (OsString, OsString)>) -> Vec<String> {
    let of_cargo =
        |name: &str| name != TARGET_DIR && VARIABLES.iter().any(|start| name.starts_with(start));
    let mut lines: Vec<String> = variables
        .filter(|(name, _)| of_cargo(&name.to_string_lossy()))
        .map(|(name, value)| format!("{}={}", name.display(), value.display()))
        .collect();
    lines.sort();
    lines
}

/// The texts of the configuration files that cargo reads beside those of the tree: of the directories above it, and the
/// user's.
fn configurations(below: &Path) -> Vec<String> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo")));
    let above = below.ancestors().map(|directory| directory.join(".cargo"));
    let names = |directory: PathBuf| ["config.toml", "config"].map(|name| directory.join(name));
    let files = above.chain(home).flat_map(names);
    files
        .filter_map(|path| fs::read_to_string(path).ok())
        .collect()
}

/// Writes the side's tree out and builds the programs that are wanted, or takes them from earlier builds of the same.
pub(super) fn prepare(
    state: &State,
    repository: &Repository,
    name: &str,
    revision: Revision,
    args: &[String],
    wanted: &Wanted,
) -> Result<Side> {
    let source = state.dir.join("src").join(name);
    let short = &revision.commit[..revision.commit.len().min(9)];
    let label = format!("{name} ({}, {short})", revision.name);
    let mut tree = Tree {
        package: PACKAGE.into(),
        target: state.dir.join("build").join(name),
        args: args.to_vec(),
        others: NAMES.map(|name| state.dir.join("src").join(name)).into(),
        root: source.clone(),
        side: label.clone(),
        ..Tree::default()
    };
    let index = source.with_extension("index");
    let manifest = repository.object(&revision, &format!("{PACKAGE}/Cargo.toml"))?;
    let mut listing = None;
    if manifest.is_some() {
        repository.write_out(&revision, &source, &index)?;
        listing = tree.listing();
    }
    // Whether programs are built with the features that they require alone. With others a program may be another one.
    let no_defaults = listing
        .as_ref()
        .is_some_and(|listing| listing.needs_no_defaults);
    let by_features = no_defaults && !build::chooses_features(args);
    let selection = by_features.then(|| format!("{wanted:?}"));
    // The lock file is part of the tree.
    let inputs = [
        vec![
            format!("{FORMAT}\n{}", revision.tree),
            said(program("rustc -vV"))?,
        ],
        vec![build::inherited_flags().unwrap_or_default()],
        settings(std::env::vars_os()),
        configurations(&state.dir),
        args.to_vec(),
        selection.into_iter().collect(),
    ];
    let mut side = Side {
        key: git::hash(inputs.concat().join("\n").as_bytes())?,
        revision,
        args: args.to_vec(),
        label: label.clone(),
        has_benches: manifest.is_some(),
        programs: Vec::new(),
    };
    if !side.has_benches {
        return Ok(side);
    }
    let mut set = Set::of(state.dir.join("bin").join(&side.key));
    if let Some(programs) = set.programs(wanted, &label) {
        eprintln!("{label}: built before");
        side.programs = programs;
        return Ok(side);
    }
    // Otherwise cargo chooses the programs, by what they require.
    let by_default = |programs: &[(String, Vec<String>)]| programs.iter().all(|p| p.1.is_empty());
    let listed = listing
        .map(|listing| listing.programs)
        .filter(|programs| (by_default(programs) || by_features) && !build::chooses_benches(args));
    let names = |listed: &Vec<(String, _)>| listed.iter().map(|(name, _)| name.clone()).collect();
    let targets: Option<Vec<String>> = listed.as_ref().map(names);
    if let (Some(listed), Some(targets)) = (listed, &targets) {
        tree.benches = wanted.of(targets);
        tree.features = by_features.then(|| features(&listed, &tree.benches));
        tree.benches.retain(|name| !set.has(name));
    }
    let mut built = Vec::new();
    // Nothing is wanted of programs that are all known.
    if targets.is_none() || !tree.benches.is_empty() {
        eprintln!("{label}: building {}", tree.benches.join(", "));
        seed::seed(&state.dir.join("build"), name, || {
            repository.write_anew(&side.revision, &source, &index)
        })?;
        built = tree.build().map_err(of_bench)?;
    }
    forget_old(&state.dir.join("bin"), &set.dir)?;
    set.add(targets, built)?;
    side.programs = set.programs(wanted, &label).unwrap_or_default();
    Ok(side)
}

/// What the programs of these names require.
fn features(listed: &[(String, Vec<String>)], names: &[String]) -> Vec<String> {
    let wanted = listed.iter().filter(|(name, _)| names.contains(name));
    let features: BTreeSet<&String> = wanted.flat_map(|(_, features)| features).collect();
    features.into_iter().cloned().collect()
}

/// Removes all but the latest sets of programs; `own` stays.
fn forget_old(dir: &Path, own: &Path) -> Result<()> {
    let mut sets = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten() {
        let entry = entry?;
        sets.push((entry.metadata()?.modified()?, entry.path()));
    }
    sets.sort();
    let old = sets.len().saturating_sub(KEPT);
    for (_, path) in sets[..old].iter().filter(|(_, path)| path != own) {
        fs_err::remove_dir_all(path)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{configurations, settings};

    #[test]
    fn what_changes_builds_counts() {
        let variables = [
            ("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER", "ld"),
            ("CARGO_PROFILE_BENCH_LTO", "fat"),
            ("CARGO_TARGET_DIR", "elsewhere"),
            ("CARGO_PKG_NAME", "xtask"),
        ];
        let found = settings(
            variables
                .map(|(name, value)| (name.into(), value.into()))
                .into_iter(),
        );
        let linker = "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER=ld";
        assert_eq!(found, ["CARGO_PROFILE_BENCH_LTO=fat", linker]);

        let top = tempfile::tempdir().expect("a directory");
        let below = top.path().join("a/b");
        let before = configurations(&below);
        fs_err::create_dir_all(top.path().join(".cargo")).expect("writable");
        fs_err::write(top.path().join(".cargo/config.toml"), "lto").expect("writable");
        let mut after = configurations(&below);
        after.retain(|text| text != "lto");
        assert_eq!(after, before);
        assert!(configurations(&below).contains(&"lto".to_owned()));
    }
}
