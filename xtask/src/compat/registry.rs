//! Published packages: finding cargo's unpacked copy of their source, and copying it to work on.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use cargo_metadata::{MetadataCommand, Package};

use crate::workspace;

/// The version of Bevy that the drop-in stands in for.
pub(super) const BEVY: &str = "0.20.1";

/// A package of ours that stands in for a published one of the same name and version.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct DropIn {
    pub(super) name: &'static str,
    pub(super) version: &'static str,
}

pub(super) const BEVY_TASKS: DropIn = DropIn {
    name: "bevy_tasks",
    version: BEVY,
};

pub(super) const ASYNC_EXECUTOR: DropIn = DropIn {
    name: "async-executor",
    version: "1.14.1",
};

pub(super) const RAYON_CORE: DropIn = DropIn {
    name: "rayon-core",
    version: "1.13.0",
};

impl DropIn {
    /// Where it lies in the workspace with this root.
    fn dir(&self, root: &Path) -> PathBuf {
        root.join("crates/compat").join(self.name)
    }

    /// What cargo calls it; or what it calls the published one, if there is no `root`.
    fn shown(&self, root: Option<&Path>) -> String {
        let place = root.map_or(String::new(), |root| {
            format!(" ({})", self.dir(root).display())
        });
        format!("{} v{}{place}", self.name, self.version)
    }
}

/// Has cargo fetch packages, each a name and a version, and says where they are. Writes a package into `dir` for it.
pub(super) fn locate(dir: &Path, names: &[(&str, &str)]) -> Result<Vec<Package>> {
    let dependencies = names.iter().map(|(name, version)| {
        format!("{name} = {{ version = \"={version}\", default-features = false }}\n")
    });
    workspace::probe(dir, &dependencies.collect::<String>())?;
    let metadata = MetadataCommand::new()
        .manifest_path(dir.join("Cargo.toml"))
        .exec()
        .with_context(|| format!("cannot fetch {names:?}: is the registry reachable?"))?;
    let find = |&(name, version): &(&str, &str)| {
        let is = |p: &&Package| p.name.as_str() == name && p.version.to_string() == version;
        let found = metadata.packages.iter().find(is).cloned();
        found.with_context(|| format!("cargo did not find {name}"))
    };
    names.iter().map(find).collect()
}

/// Copies the source of `package` to `dir`, as a workspace of its own with `patch` at the end of its manifest. Its lock file stays
/// behind: it may hold older versions than those that drop-ins stand in for. Files that
/// are the same already are left alone, so that cargo does not build them again.
pub(super) fn copy(package: &Package, dir: &Path, patch: &str) -> Result<()> {
    copy_tree(source(package), dir)?;
    let manifest = fs_err::read_to_string(&package.manifest_path)?;
    let manifest = format!("{manifest}\n[workspace]\n{patch}");
    write_if_changed(&dir.join("Cargo.toml"), manifest.as_bytes())
}

/// Where the source of `package` lies.
pub(super) fn source(package: &Package) -> &Path {
    let manifest = package.manifest_path.as_std_path();
    manifest.parent().unwrap_or(manifest)
}

fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    fs_err::create_dir_all(to)?;
    for entry in fs_err::read_dir(from)? {
        let entry = entry?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy_tree(&path, &target)?;
        } else if entry.file_name() != "Cargo.toml" && entry.file_name() != "Cargo.lock" {
            write_if_changed(&target, &fs_err::read(&path)?)?;
        }
    }
    Ok(())
}

/// Writes a file unless it holds this already.
pub(super) fn write_if_changed(file: &Path, content: &[u8]) -> Result<()> {
    if fs_err::read(file).is_ok_and(|old| old == content) {
        return Ok(());
    }
    if let Some(dir) = file.parent() {
        fs_err::create_dir_all(dir)?;
    }
    Ok(fs_err::write(file, content)?)
}

/// The lines of a manifest that put these drop-ins, of the workspace with this root, in the place of the published packages.
pub(super) fn patch(root: &Path, drop_ins: &[DropIn]) -> String {
    let line = |drop_in: &DropIn| {
        let dir = drop_in.dir(root).display().to_string();
        format!("{} = {{ path = {dir:?} }}\n", drop_in.name)
    };
    let lines: String = drop_ins.iter().map(line).collect();
    format!("\n[patch.crates-io]\n{lines}")
}

/// Fails unless the package in `dir` gets the package of this name from the workspace with this `root` and nowhere else, or from
/// the registry if there is none: cargo only warns about a patch that it does not use. `args` may choose features.
pub(super) fn prove(
    dir: &Path,
    args: &[&str],
    drop_in: &DropIn,
    root: Option<&Path>,
) -> Result<()> {
    let features = args.iter().skip_while(|arg| **arg != "--features").take(2);
    let mut tree = std::process::Command::new("cargo");
    tree.current_dir(dir)
        .args(["tree", "--quiet", "--edges", "all", "--depth", "0"])
        .args(["--invert", drop_in.name])
        .args(features);
    let output = tree
        .output()
        .context("cannot start cargo; is it on the PATH?")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let wanted = drop_in.shown(root);
    // An ambiguous name (two packages of one name) makes cargo fail.
    ensure!(
        output.status.success() && text.lines().next().map(str::trim) == Some(wanted.as_str()),
        "{} does not run on {wanted}: `cargo tree -i {}` says\n{text}{}",
        dir.display(),
        drop_in.name,
        String::from_utf8_lossy(&output.stderr),
    );
    Ok(())
}
