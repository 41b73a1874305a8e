//! A package on the stock crate and on the drop-in: copies, their builds, and the proof of which package is in each.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};

use super::registry::{Published, copy_tree};
use crate::build::Build;
use crate::process::{printed, said};
use crate::workspace::{Workspace, write};

/// Far more than a program needs to list what it has.
const LIST_LIMIT: Duration = Duration::from_secs(60);

/// For profiles, where a package has no profile of its own.
const DEBUG: &str = "\n[profile.release]\ndebug = \"line-tables-only\"\n";

/// Copies a package that lies in the compat workspace to `to` below the target directory, as a workspace of its own with `patch` at the
/// end of its manifest.
///
/// Sides are copies in directories of their own, from the same lock file: that of the package, or else of the workspace. Where they share
/// a target directory, the caller gives each side's program a name of its own: cargo would run one for both.
pub(super) fn copy(ws: &Workspace, package: &str, to: &str, patch: &str) -> Result<PathBuf> {
    let compat = ws.root.join("crates/compat");
    let source = compat.join(package);
    let dir = ws.target.join("compat").join(to);
    let manifest = fs_err::read_to_string(source.join("Cargo.toml"))?;
    // The copy lies elsewhere.
    let manifest = manifest.replace("path = \"../", &format!("path = \"{}/", compat.display()));
    let has_profile = manifest.contains("[profile.release]");
    let profile = if has_profile { "" } else { DEBUG };
    write(
        &dir,
        "Cargo.toml",
        format!("{manifest}\n[workspace]\n{profile}{patch}"),
    )?;
    copy_tree(&source.join("src"), &dir.join("src"))?;
    // Cargo then adds and removes what the one side uses and the other does not.
    let own = source.join("Cargo.lock");
    let of_all = compat.join("Cargo.lock");
    let lock = fs_err::read(if own.exists() { own } else { of_all })?;
    if write(&dir, "Cargo.lock.from", &lock)? {
        fs_err::write(dir.join("Cargo.lock"), lock)?;
    }
    Ok(dir)
}

/// One way to build programs: a name, and what cargo is told.
pub(crate) type Way = (&'static str, &'static [&'static str]);

/// The way to build what is measured.
pub(crate) const OPTIMISED: Way = ("optimised", &["--release"]);

/// The same with a timeline, of a program that depends on `bevy_tasks`.
pub(super) const WITH_TIMELINE: Way = (
    "timeline",
    &["--release", "--features", "bevy_tasks/timeline"],
);

/// Has the compiler begin each loop at a cache line. Otherwise chance decides whether a tight loop crosses one, and then it takes up to
/// twice as long: a change at one end of a program makes a row at the other end slower.
const ALIGNED_LOOPS: &str = "-Cllvm-args=-align-loops=64";

/// The ways to build those that depend on `bevy_tasks`.
pub(super) const BUILDS: [Way; 2] = [
    ("multi_threaded", &[]),
    ("single_threaded", &["--no-default-features"]),
];

/// Builds the package in `dir`; its `file` below `target` is kept apart from that of other ways.
pub(super) fn build(dir: &Path, target: &Path, file: &str, (name, args): Way) -> Result<PathBuf> {
    let build = Build::of(dir, target.to_owned());
    let (build, profile) = match args.starts_with(OPTIMISED.1) {
        true => (build.env("RUSTFLAGS", ALIGNED_LOOPS), "release"),
        false => (build, "debug"),
    };
    build.cargo(&[&["build", "--quiet"], args].concat())?;
    let built = target.join(profile).join(file);
    let own = target.join(profile).join(format!("{file}-{name}"));
    fs_err::copy(built, &own)?;
    Ok(own)
}

/// What a program prints that is told to list what it has.
pub(super) fn listed(program: &Path) -> Result<Vec<String>> {
    let mut command = Command::new(program);
    command.arg("--list");
    let lines = printed(command, LIST_LIMIT)?;
    Ok(lines.lines().map(str::to_owned).collect())
}

/// Where ours lies.
fn place(ws: &Workspace, drop_in: &Published) -> String {
    ws.root.join(drop_in.place()).display().to_string()
}

/// A side of a comparison.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// The published packages.
    Stock,
    /// Ours in their place.
    Ours,
}

impl Side {
    pub(crate) const BOTH: [Self; 2] = [Self::Stock, Self::Ours];

    /// What both have.
    pub(crate) fn both<T>(of: impl Fn(Self) -> Result<T>) -> Result<[T; 2]> {
        Ok([of(Self::Stock)?, of(Self::Ours)?])
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Stock => "stock",
            Self::Ours => "ours",
        }
    }

    /// What stands at the end of a manifest of this side: the lines that put ours in the place of published packages.
    pub(crate) fn patch(self, ws: &Workspace, drop_ins: &[Published]) -> String {
        let drop_ins = if self == Self::Ours { drop_ins } else { &[] };
        let line = |drop_in: &Published| {
            format!("{} = {{ path = {:?} }}\n", drop_in.name, place(ws, drop_in))
        };
        let lines: String = drop_ins.iter().map(line).collect();
        format!("\n[patch.crates-io]\n{lines}")
    }

    /// Fails unless the package in `dir` uses our drop-in and nothing else of its name, or else the package that it stands in for:
    /// cargo only warns about a patch that it does not use. `args` may choose features.
    pub(super) fn prove(
        self,
        ws: &Workspace,
        dir: &Path,
        args: &[&str],
        drop_in: &Published,
    ) -> Result<()> {
        let Published { name, version } = drop_in;
        let wanted = match self {
            Self::Stock => format!("{name} v{version}"),
            Self::Ours => format!("{name} v{version} ({})", place(ws, drop_in)),
        };
        let features = args.iter().skip_while(|arg| **arg != "--features").take(2);
        let mut tree = Command::new("cargo");
        tree.current_dir(dir)
            .args(["tree", "--quiet", "--edges", "all", "--depth", "0"])
            .args(["--invert", name])
            .args(features);
        // An ambiguous name (two packages of one name) makes cargo fail.
        let text = said(tree)?;
        ensure!(
            text.lines().next() == Some(&wanted),
            "{} does not run on {wanted}: `cargo tree --invert {name}` says\n{text}",
            dir.display(),
        );
        Ok(())
    }

    /// The program of a package, which bears its name.
    pub(crate) fn program(
        self,
        ws: &Workspace,
        package: &str,
        drop_ins: &[Published],
        way: Way,
    ) -> Result<PathBuf> {
        let to = format!("{package}/{}", self.name());
        let dir = copy(ws, package, &to, &self.patch(ws, drop_ins))?;
        for drop_in in drop_ins {
            self.prove(ws, &dir, &[], drop_in)?;
        }
        build(&dir, &dir.join("target"), package, way)
    }
}
