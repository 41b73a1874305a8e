//! Published packages: finding cargo's unpacked copy of their source, copying it to work on, and putting ours in their place.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use cargo_metadata::{MetadataCommand, Package};

use crate::process::said;
use crate::workspace;

/// A published package. For some there is one of ours in the compat workspace, of the same name and version.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Published {
    pub(super) name: &'static str,
    pub(super) version: &'static str,
}

pub(super) const fn published(name: &'static str, version: &'static str) -> Published {
    Published { name, version }
}

pub(super) const BEVY_TASKS: Published = bevy("bevy_tasks");
pub(super) const ASYNC_EXECUTOR: Published = published("async-executor", "1.14.1");
pub(super) const RAYON_CORE: Published = published("rayon-core", "1.13.0");
pub(super) const SMOL: Published = published("smol", "2.0.2");

/// A package of the version of Bevy that the drop-in stands in for.
pub(super) const fn bevy(name: &'static str) -> Published {
    published(name, "0.20.1")
}

impl Published {
    /// Where ours lies in the workspace with this root.
    fn dir(&self, root: &Path) -> String {
        let dir = root.join("crates/compat").join(self.name);
        dir.display().to_string()
    }
}

/// Has cargo fetch packages and says where they are. Writes a package into `dir` for it.
pub(super) fn locate(dir: &Path, wanted: &[Published]) -> Result<Vec<Package>> {
    let dependencies = wanted.iter().map(|Published { name, version }| {
        format!("{name} = {{ version = \"={version}\", default-features = false }}\n")
    });
    workspace::probe(dir, &dependencies.collect::<String>())?;
    let metadata = MetadataCommand::new()
        .manifest_path(dir.join("Cargo.toml"))
        .exec()
        .context("cannot fetch published packages: is the registry reachable?")?;
    let find = |Published { name, version }: &Published| {
        let is = |p: &&Package| p.name.as_str() == *name && p.version.to_string() == *version;
        let found = metadata.packages.iter().find(is).cloned();
        found.with_context(|| format!("cargo did not find {name}"))
    };
    wanted.iter().map(find).collect()
}

/// Copies the source of `package` to `dir`, as a workspace of its own with `patch` at the end of its manifest. Its lock file stays
/// behind: it may hold older versions than those that drop-ins stand in for.
pub(super) fn copy(package: &Package, dir: &Path, patch: &str) -> Result<()> {
    copy_tree(source(package), dir)?;
    let manifest = fs_err::read_to_string(&package.manifest_path)?;
    write(
        dir,
        "Cargo.toml",
        format!("{manifest}\n[workspace]\n{patch}"),
    )?;
    Ok(())
}

/// Where the source of `package` lies.
pub(super) fn source(package: &Package) -> &Path {
    let manifest = package.manifest_path.as_std_path();
    manifest.parent().unwrap_or(manifest)
}

/// Copies all files but manifests and lock files.
pub(super) fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    for entry in fs_err::read_dir(from)? {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name());
        if path.is_dir() {
            copy_tree(&path, &to.join(name))?;
        } else if name != "Cargo.toml" && name != "Cargo.lock" {
            write(to, name, fs_err::read(&path)?)?;
        }
    }
    Ok(())
}

/// Writes a file in `dir`, and says so, unless it holds this already: cargo builds again what is newer.
pub(super) fn write(dir: &Path, file: impl AsRef<Path>, content: impl AsRef<[u8]>) -> Result<bool> {
    let file = dir.join(file);
    if fs_err::read(&file).is_ok_and(|old| old == content.as_ref()) {
        return Ok(false);
    }
    fs_err::create_dir_all(file.parent().unwrap_or(dir))?;
    fs_err::write(file, content)?;
    Ok(true)
}

/// The lines of a manifest that put ours, of the workspace with this root, in the place of published packages.
pub(super) fn patch(root: &Path, drop_ins: &[Published]) -> String {
    let line =
        |drop_in: &Published| format!("{} = {{ path = {:?} }}\n", drop_in.name, drop_in.dir(root));
    let lines: String = drop_ins.iter().map(line).collect();
    format!("\n[patch.crates-io]\n{lines}")
}

/// Fails unless the package in `dir` gets the package of this name from the workspace with this `root` and nowhere else, or from
/// the registry if there is none: cargo only warns about a patch that it does not use. `args` may choose features.
pub(super) fn prove(
    dir: &Path,
    args: &[&str],
    package: &Published,
    root: Option<&Path>,
) -> Result<()> {
    let place = root.map(|root| format!(" ({})", package.dir(root)));
    let wanted = format!(
        "{} v{}{}",
        package.name,
        package.version,
        place.unwrap_or_default()
    );
    let features = args.iter().skip_while(|arg| **arg != "--features").take(2);
    let mut tree = Command::new("cargo");
    tree.current_dir(dir)
        .args(["tree", "--quiet", "--edges", "all", "--depth", "0"])
        .args(["--invert", package.name])
        .args(features);
    // An ambiguous name (two packages of one name) makes cargo fail.
    let text = said(tree)?;
    ensure!(
        text.lines().next() == Some(&wanted),
        "{} does not run on {wanted}: `cargo tree --invert {}` says\n{text}",
        dir.display(),
        package.name,
    );
    Ok(())
}
