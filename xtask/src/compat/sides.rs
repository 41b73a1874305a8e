//! A package on the stock crate and on the drop-in: copies, their builds, and the proof of which `bevy_tasks` is in each.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use super::registry::{self, BEVY, write_if_changed};
use crate::workspace::Workspace;

/// Copies a package of the compat workspace to `to` below the target directory, as a workspace of its own with `more` in its
/// manifest, and with the drop-in at `patch` or without one.
///
/// Sides are copies in directories of their own, from the same lock file, each with a target directory of its own: with a
/// shared one cargo would run one side's program for both.
pub(super) fn copy(
    ws: &Workspace,
    package: &str,
    to: &str,
    more: &str,
    patch: Option<&Path>,
) -> Result<PathBuf> {
    let compat = ws.root.join("crates/compat");
    let source = compat.join(package);
    let dir = ws.target.join("compat").join(to);
    let manifest = std::fs::read_to_string(source.join("Cargo.toml"))
        .with_context(|| format!("cannot read the manifest of {package}"))?;
    let patched = patch.map(registry::patch).unwrap_or_default();
    let generated = format!("{manifest}\n[workspace]\n{more}{patched}");
    write_if_changed(&dir.join("Cargo.toml"), generated.as_bytes())?;
    for entry in std::fs::read_dir(source.join("src"))? {
        let path = entry?.path();
        let file = path.file_name().context("an entry has a name")?;
        write_if_changed(&dir.join("src").join(file), &std::fs::read(&path)?)?;
    }
    lock(&compat.join("Cargo.lock"), &dir)?;
    Ok(dir)
}

/// Has the package in `dir` start from the versions in the lock file `from`, again whenever that changes. Cargo
/// then adds and removes what the one side uses and the other does not.
fn lock(from: &Path, dir: &Path) -> Result<()> {
    let Ok(lock) = std::fs::read(from) else {
        return Ok(());
    };
    let copy = dir.join("Cargo.lock.from");
    if std::fs::read(&copy).is_ok_and(|old| old == lock) {
        return Ok(());
    }
    std::fs::write(dir.join("Cargo.lock"), &lock)?;
    std::fs::write(copy, lock)?;
    Ok(())
}

/// Builds the package in `dir`, and returns the target directory.
pub(super) fn build(dir: &Path, args: &[&str]) -> Result<PathBuf> {
    let target = dir.join("target");
    eprintln!("$ cargo build {}  # in {}", args.join(" "), dir.display());
    let status = Command::new("cargo")
        .args(["build", "--quiet"])
        .args(args)
        .current_dir(dir)
        .env("CARGO_TARGET_DIR", &target)
        .status()
        .context("cannot start cargo; is it on the PATH?")?;
    ensure!(status.success(), "{} does not build", dir.display());
    Ok(target)
}

/// Fails unless the package in `dir` uses the `bevy_tasks` at `patch`, or the registry's if there is no patch.
pub(super) fn prove(dir: &Path, patch: Option<&Path>) -> Result<()> {
    if let Some(patch) = patch {
        registry::prove_patched(dir, &[], patch)?;
        eprintln!("bevy_tasks v{BEVY} ({})", patch.display());
        return Ok(());
    }
    let output = Command::new("cargo")
        .args(["tree", "--quiet", "--invert", "bevy_tasks", "--depth", "0"])
        .current_dir(dir)
        .output()
        .context("cannot start cargo; is it on the PATH?")?;
    let text = String::from_utf8_lossy(&output.stdout);
    if text.trim() != format!("bevy_tasks v{BEVY}") {
        bail!(
            "the stock side does not run on the stock crate: `cargo tree -i bevy_tasks` says\n{text}{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    eprintln!("{} (the registry's)", text.trim());
    Ok(())
}
