//! A package on the stock crate and on the drop-in: copies, their builds, and the proof of which `bevy_tasks` is in each.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::registry::{self, DropIn, write_if_changed};
use crate::build::Build;
use crate::process::{run_limited, same};
use crate::progress::run_all;
use crate::workspace::Workspace;

/// Far more than a program needs to list what it has.
const LIST_LIMIT: Duration = Duration::from_secs(60);

/// For profiles.
const DEBUG: &str = "\n[profile.release]\ndebug = \"line-tables-only\"\n";

/// Copies a package of the compat workspace to `to` below the target directory, as a workspace of its own with these drop-ins.
///
/// Sides are copies in directories of their own, from the same lock file, each with a target directory of its own: with a
/// shared one cargo would run one side's program for both.
pub(super) fn copy(
    ws: &Workspace,
    package: &str,
    to: &str,
    drop_ins: &[DropIn],
) -> Result<PathBuf> {
    let compat = ws.root.join("crates/compat");
    let source = compat.join(package);
    let dir = ws.target.join("compat").join(to);
    let manifest = fs_err::read_to_string(source.join("Cargo.toml"))
        .with_context(|| format!("cannot read the manifest of {package}"))?;
    let patched = registry::patch(&ws.root, drop_ins);
    // The copy lies elsewhere.
    let manifest = manifest.replace("path = \"../", &format!("path = \"{}/", compat.display()));
    let generated = format!("{manifest}\n[workspace]\n{DEBUG}{patched}");
    write_if_changed(&dir.join("Cargo.toml"), generated.as_bytes())?;
    for entry in fs_err::read_dir(source.join("src"))? {
        let path = entry?.path();
        let file = path.file_name().context("an entry has a name")?;
        write_if_changed(&dir.join("src").join(file), &fs_err::read(&path)?)?;
    }
    lock(&compat.join("Cargo.lock"), &dir)?;
    Ok(dir)
}

/// Has the package in `dir` start from the versions in the lock file `from`, again whenever that changes. Cargo
/// then adds and removes what the one side uses and the other does not.
fn lock(from: &Path, dir: &Path) -> Result<()> {
    let Ok(lock) = fs_err::read(from) else {
        return Ok(());
    };
    let copy = dir.join("Cargo.lock.from");
    if fs_err::read(&copy).is_ok_and(|old| old == lock) {
        return Ok(());
    }
    fs_err::write(dir.join("Cargo.lock"), &lock)?;
    fs_err::write(copy, lock)?;
    Ok(())
}

/// One way to build programs: a name, and what cargo is told.
pub(super) type Way = (&'static str, &'static [&'static str]);

/// The way to build what is measured.
pub(super) const OPTIMISED: Way = ("optimised", &["--release"]);

/// The ways to build those that depend on `bevy_tasks`.
pub(super) const BUILDS: [Way; 2] = [
    ("multi_threaded", &[]),
    ("single_threaded", &["--no-default-features"]),
];

/// Builds the package in `dir`; its program at `program` below `target` is kept apart from that of other ways.
pub(super) fn build(
    dir: &Path,
    target: &Path,
    program: &str,
    (name, args): Way,
) -> Result<PathBuf> {
    let build = Build::of(dir, target.to_owned());
    build.cargo(&[&["build", "--quiet"], args].concat())?;
    let own = target.join(format!("{program}-{name}"));
    fs_err::copy(target.join(program), &own)?;
    Ok(own)
}

/// What a program prints that is told to list what it has.
pub(super) fn listed(program: &Path) -> Result<Vec<String>> {
    let mut command = Command::new(program);
    command.arg("--list");
    let finished = run_limited(command, LIST_LIMIT)?;
    finished.passed()?;
    Ok(finished.output.lines().map(str::to_owned).collect())
}

/// A side of a comparison.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// The published packages.
    Stock,
    /// Ours in their place.
    Ours,
}

impl Side {
    pub(super) const BOTH: [Self; 2] = [Self::Stock, Self::Ours];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Stock => "stock",
            Self::Ours => "ours",
        }
    }

    /// What is patched in.
    pub(super) fn patched(self, drop_ins: &[DropIn]) -> &[DropIn] {
        match self {
            Self::Stock => &[],
            Self::Ours => drop_ins,
        }
    }

    /// Fails unless the package in `dir` uses our drop-in, or else the package that it stands in for.
    pub(super) fn prove(self, ws: &Workspace, dir: &Path, drop_in: &DropIn) -> Result<()> {
        let root = (self == Self::Ours).then_some(&*ws.root);
        registry::prove(dir, &[], drop_in, root)
    }

    /// The program of a package, which bears its name.
    pub(super) fn program(
        self,
        ws: &Workspace,
        package: &str,
        drop_ins: &[DropIn],
        way: Way,
    ) -> Result<PathBuf> {
        let to = format!("{package}/{}", self.name());
        let dir = copy(ws, package, &to, self.patched(drop_ins))?;
        for drop_in in drop_ins {
            self.prove(ws, &dir, drop_in)?;
        }
        let profile = if way == OPTIMISED { "release" } else { "debug" };
        build(
            &dir,
            &dir.join("target"),
            &format!("{profile}/{package}"),
            way,
        )
    }
}

/// Runs the programs whose names contain `filter` in turns on both sides, `runs` times on each and with each variant. All runs print what
/// the first one does. `output` is what a run on a side prints.
pub(super) fn compare<V>(
    title: &str,
    sides: &[PathBuf; 2],
    filter: Option<&str>,
    (runs, variants): (usize, &[V]),
    output: impl Fn(&Path, &str, &V) -> Result<String>,
) -> Result<()> {
    let mut names = listed(&sides[0])?;
    names.retain(|name| filter.is_none_or(|text| name.contains(text)));
    ensure!(!names.is_empty(), "no program's name contains the filter");
    run_all(title, &names, String::clone, |name| {
        let mut first = None;
        for variant in variants {
            for run in 0..2 * runs {
                let side = run % 2;
                let printed = output(&sides[side], name, variant)?;
                let expected = first.get_or_insert_with(|| printed.clone());
                ensure!(!expected.is_empty(), "it prints nothing");
                let shown = Side::BOTH[side].name();
                same([("the first run", expected), (shown, &printed)])?;
            }
        }
        let lines = first.unwrap_or_default().lines().count();
        Ok(format!(
            "the same {lines} lines, {} times on each side",
            runs * variants.len()
        ))
    })
}
