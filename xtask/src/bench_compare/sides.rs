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
use crate::measure::build::{self, Listed, Special, Tree};
use crate::process::{program, said};

/// The package of the benches, below the root of the repository.
pub(super) const PACKAGE: &str = "benches";
/// Raised when builds of the same inputs are no longer the same.
const FORMAT: u32 = 3;
/// Sets of programs that are kept.
const KEPT: usize = 8;

/// Which side; in lower case in files and messages. The names are equally long, so are all paths: the length
/// of a path shifts the stack of a program, and with it its times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    Base,
    Head,
}

impl Which {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::Head => "head",
        }
    }

    pub(super) fn other(self) -> Self {
        match self {
            Self::Base => Self::Head,
            Self::Head => Self::Base,
        }
    }
}

/// The command's own directory below the target directory, held by one process at a time.
pub(super) struct State {
    pub(super) dir: PathBuf,
    _lock: File,
}

impl State {
    pub(super) fn lock(target: &Path) -> Result<Self> {
        let dir = target.join("bench-compare");
        fs_err::create_dir_all(&dir)?;
        let dir = dir.canonicalize()?;
        let path = dir.join("lock");
        let lock =
            File::create(&path).with_context(|| format!("cannot create {}", path.display()))?;
        lock.try_lock().map_err(|_| {
            anyhow!(
                "another bench-compare works in {}; wait for its end",
                dir.display()
            )
        })?;
        Ok(Self { dir, _lock: lock })
    }

    /// The target directory.
    pub(super) fn target(&self) -> &Path {
        self.dir.parent().unwrap_or(&self.dir)
    }
}

/// A side, ready to be measured.
#[derive(Clone, Debug)]
pub(super) struct Side {
    pub(super) which: Which,
    pub(super) revision: Revision,
    pub(super) args: Vec<String>,
    /// The hash of all that the programs depend on.
    pub(super) key: String,
    /// Whether the revision has the package.
    pub(super) has_benches: bool,
    /// Those that are wanted.
    pub(super) programs: Vec<Built>,
}

impl Side {
    /// For errors.
    pub(super) fn label(&self) -> String {
        let commit = &self.revision.commit;
        let short = &commit[..commit.len().min(9)];
        format!("{} ({}, {short})", self.which.name(), self.revision.name)
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

/// What the environment and cargo's own files say about builds. Which of it matters is cargo's to know: all counts.
fn settings(variables: impl Iterator<Item = (OsString, OsString)>, files: &[String]) -> String {
    let mut lines: Vec<String> = variables
        .filter(|(name, _)| {
            let name = name.to_string_lossy();
            name != TARGET_DIR && VARIABLES.iter().any(|start| name.starts_with(start))
        })
        .map(|(name, value)| format!("{}={}", name.display(), value.display()))
        .collect();
    lines.sort();
    lines.extend(files.iter().cloned());
    lines.join("\n")
}

/// The texts of the configuration files that cargo reads beside those of the tree: of the directories above it, and the
/// user's.
fn configurations(below: &Path) -> Vec<String> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo")));
    let above = below.ancestors().map(|directory| directory.join(".cargo"));
    let names = |directory: PathBuf| ["config.toml", "config"].map(|name| directory.join(name));
    above
        .chain(home)
        .flat_map(names)
        .filter_map(|path| fs::read_to_string(path).ok())
        .collect()
}

/// Writes the side's tree out and builds the programs that are wanted, or takes them from earlier builds of the same.
pub(super) fn prepare(
    state: &State,
    repository: &Repository,
    which: Which,
    revision: Revision,
    args: &[String],
    wanted: &Wanted,
) -> Result<Side> {
    let rustc = said(program("rustc -vV"))?;
    let flags = build::inherited_flags().unwrap_or_default();
    let manifest = repository.object(&revision, &format!("{PACKAGE}/Cargo.toml"))?;
    let by_features = is_built_by_features(repository, manifest.as_deref(), args)?;
    // With other features a program may be another one.
    let selection = by_features.then(|| format!("{wanted:?}"));
    // The lock file is part of the tree.
    let inputs = format!(
        "{FORMAT}\n{}\n{rustc}\n{flags}\n{}\n{}\n{}",
        revision.tree,
        settings(std::env::vars_os(), &configurations(&state.dir)),
        args.join("\n"),
        selection.unwrap_or_default()
    );
    let key = git::hash_text(&inputs)?;
    let mut side = Side {
        which,
        revision,
        args: args.to_vec(),
        key,
        has_benches: false,
        programs: Vec::new(),
    };
    if manifest.is_none() {
        return Ok(side);
    }
    side.has_benches = true;
    let set = Set::of(state.dir.join("bin").join(&side.key));
    if let Some(programs) = set.programs(wanted, &side.label()) {
        eprintln!("{}: built before", side.label());
        side.programs = programs;
        return Ok(side);
    }
    let sources = [Which::Base, Which::Head].map(|w| state.dir.join("src").join(w.name()));
    let source = state.dir.join("src").join(which.name());
    let index = source.with_extension("index");
    repository.write_out(&side.revision, &source, &index)?;
    let mut tree = Tree {
        root: source,
        package: PACKAGE.into(),
        target: state.dir.join("build").join(which.name()),
        benches: Vec::new(),
        features: None,
        args: args.to_vec(),
        special: Special::default(),
        others: sources.to_vec(),
        side: side.label(),
    };
    let listed = tree.programs().filter(|listed| {
        let by_default = listed.iter().all(|program| program.features.is_empty());
        (by_default || by_features) && !build::chooses_benches(args)
    });
    let names = |listed: &Vec<Listed>| listed.iter().map(|l| l.name.clone()).collect();
    let targets: Option<Vec<String>> = listed.as_ref().map(names);
    if let Some(targets) = &targets {
        tree.benches = wanted.of(targets);
        if by_features {
            tree.features = Some(features_of(&listed.unwrap_or_default(), &tree.benches));
        }
        tree.benches.retain(|name| !set.has(name));
    }
    // Nothing is wanted of programs that are all known.
    if targets.is_none() || !tree.benches.is_empty() {
        eprintln!("{}: building {}", side.label(), tree.benches.join(", "));
        seed::seed(&state.dir.join("build"), which, &tree.root)?;
    }
    let executables = match &targets {
        Some(_) if tree.benches.is_empty() => Vec::new(),
        _ => tree.build().map_err(of_bench)?,
    };
    forget_old(&state.dir.join("bin"), &set.dir)?;
    let set = set.with(targets, executables)?;
    side.programs = set.programs(wanted, &side.label()).unwrap_or_default();
    Ok(side)
}

/// Whether a side's programs are built with the features that they require alone: its manifest says that they need no others, and
/// its arguments choose none. `manifest` is the hash of the manifest's object.
fn is_built_by_features(
    repository: &Repository,
    manifest: Option<&str>,
    args: &[String],
) -> Result<bool> {
    match manifest {
        Some(object) if !build::chooses_features(args) => {
            Ok(build::needs_no_defaults(&repository.bytes(object)?))
        }
        _ => Ok(false),
    }
}

/// What the programs of these names require.
fn features_of(listed: &[Listed], names: &[String]) -> Vec<String> {
    let wanted = listed.iter().filter(|listed| names.contains(&listed.name));
    let features: BTreeSet<&String> = wanted.flat_map(|listed| &listed.features).collect();
    features.into_iter().cloned().collect()
}

/// Removes all but the latest sets of programs; `own` stays.
fn forget_old(dir: &Path, own: &Path) -> Result<()> {
    let Ok(entries) = fs::read_dir(dir) else {
        return Ok(());
    };
    let mut sets = Vec::new();
    for entry in entries {
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
        let of = |variables: &[(&str, &str)]| {
            let pair = |(name, value): &(&str, &str)| ((*name).into(), (*value).into());
            settings(variables.iter().map(pair), &[])
        };
        let profile = ("CARGO_PROFILE_BENCH_LTO", "fat");
        let linker = ("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER", "ld");
        assert_eq!(of(&[profile, linker]), of(&[linker, profile]));
        assert_ne!(of(&[profile]), of(&[]));
        let elsewhere = ("CARGO_TARGET_DIR", "elsewhere");
        assert_eq!(of(&[elsewhere, ("CARGO_PKG_NAME", "xtask")]), of(&[]));
    }

    #[test]
    fn configurations_above_count() {
        let top = tempfile::tempdir().expect("a directory");
        let below = top.path().join("a").join("b");
        let before = configurations(&below);
        fs_err::create_dir_all(top.path().join(".cargo")).expect("writable");
        let text = "[profile.bench]\nlto = true\n";
        fs_err::write(top.path().join(".cargo").join("config.toml"), text).expect("writable");
        let mut after = configurations(&below);
        assert!(after.contains(&text.to_owned()));
        after.retain(|known| known != text);
        assert_eq!(after, before);
    }
}
