//! Published packages: finding cargo's unpacked copy of their source, and copying it to work on.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result, bail};
use cargo_metadata::{MetadataCommand, Package};

/// The version of Bevy that the drop-in stands in for.
pub(super) const BEVY: &str = "0.20.1";

/// The version of `async-executor` that ours stands in for.
pub(super) const ASYNC_EXECUTOR: &str = "1.14.1";

/// Has cargo fetch packages, each a name and a version, and says where they are. Writes a package into `dir` for it.
pub(super) fn locate(dir: &Path, names: &[(&str, &str)]) -> Result<Vec<Package>> {
    std::fs::create_dir_all(dir.join("src"))?;
    std::fs::write(dir.join("src/lib.rs"), "")?;
    let mut manifest = String::from(
        "[package]\nname = \"locate\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n",
    );
    for (name, version) in names {
        writeln!(
            manifest,
            "{name} = {{ version = \"={version}\", default-features = false }}"
        )?;
    }
    std::fs::write(dir.join("Cargo.toml"), manifest)?;
    let metadata = MetadataCommand::new()
        .manifest_path(dir.join("Cargo.toml"))
        .exec()
        .with_context(|| format!("cannot fetch {names:?}: is the registry reachable?"))?;
    let find = |&(name, version): &(&str, &str)| {
        let mut found = metadata.packages.iter().filter(|package| {
            package.name.as_str() == name && package.version.to_string() == version
        });
        found
            .next()
            .cloned()
            .with_context(|| format!("cargo did not find {name}"))
    };
    names.iter().map(find).collect()
}

/// Copies the source of `package` to `dir`, as a workspace of its own. Files that are the same already are left
/// alone, so that cargo does not build them again.
pub(super) fn copy(package: &Package, dir: &Path) -> Result<()> {
    let source = package
        .manifest_path
        .parent()
        .context("a manifest lies in a directory")?;
    copy_tree(source.as_std_path(), dir)
}

fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy_tree(&path, &target)?;
        } else if entry.file_name() != "Cargo.toml" {
            write_if_changed(&target, &std::fs::read(&path)?)?;
        }
    }
    Ok(())
}

/// Gives the package in `dir` the manifest of `package`, with `patch` appended.
pub(super) fn write_manifest(package: &Package, dir: &Path, patch: &str) -> Result<()> {
    let manifest = std::fs::read_to_string(&package.manifest_path)?;
    write_if_changed(
        &dir.join("Cargo.toml"),
        format!("{manifest}\n[workspace]\n{patch}").as_bytes(),
    )
}

/// Writes a file unless it holds this already.
pub(super) fn write_if_changed(file: &Path, content: &[u8]) -> Result<()> {
    if std::fs::read(file).is_ok_and(|old| old == content) {
        return Ok(());
    }
    if let Some(dir) = file.parent() {
        std::fs::create_dir_all(dir)?;
    }
    std::fs::write(file, content).with_context(|| format!("cannot write {}", file.display()))
}

/// The lines of a manifest that put the package at `drop_in` in the place of the published one.
pub(super) fn patch(drop_in: &Path) -> String {
    format!(
        "\n[patch.crates-io]\nbevy_tasks = {{ path = {:?} }}\n",
        drop_in.display().to_string()
    )
}

/// Fails unless the package in `dir` gets its `bevy_tasks` from `drop_in` and nowhere else: cargo only warns about a
/// patch that it does not use.
pub(super) fn prove_patched(dir: &Path, args: &[&str], drop_in: &Path) -> Result<()> {
    let mut tree = std::process::Command::new("cargo");
    tree.current_dir(dir).args([
        "tree",
        "--quiet",
        "--edges",
        "all",
        "--invert",
        "bevy_tasks",
        "--depth",
        "0",
    ]);
    let features = args.iter().skip_while(|arg| **arg != "--features").take(2);
    let output = tree.args(features).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let wanted = format!("bevy_tasks v{BEVY} ({})", drop_in.display());
    // An ambiguous name (two packages called bevy_tasks) makes cargo fail.
    if !output.status.success() || text.lines().next().map(str::trim) != Some(wanted.as_str()) {
        bail!(
            "the suite does not run on the drop-in: `cargo tree -i bevy_tasks` says\n{text}{}",
            String::from_utf8_lossy(&output.stderr),
        );
    }
    Ok(())
}
