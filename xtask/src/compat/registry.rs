//! Published packages: finding cargo's unpacked copy of their source, and copying it to work on.

use std::path::Path;

use anyhow::{Context, Result};
use cargo_metadata::{MetadataCommand, Package};

use crate::workspace::{self, Workspace, files_below, write};

/// A published package. For some there is one of ours in the compat workspace, of the same name and version.
#[derive(Clone, Copy)]
pub(crate) struct Published {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
}

pub(super) const fn published(name: &'static str, version: &'static str) -> Published {
    Published { name, version }
}

pub(crate) const BEVY_TASKS: Published = bevy("bevy_tasks");
pub(super) const ASYNC_EXECUTOR: Published = published("async-executor", "1.14.1");
pub(super) const RAYON_CORE: Published = published("rayon-core", "1.13.0");
pub(super) const SMOL: Published = published("smol", "2.0.2");

/// A package of the version of Bevy that the drop-in stands in for.
pub(super) const fn bevy(name: &'static str) -> Published {
    published(name, "0.20.1")
}

/// Has cargo fetch a package and says where it is. Writes a package that depends on it, below the target directory.
pub(super) fn locate(ws: &Workspace, wanted: Published) -> Result<Package> {
    let Published { name, version } = wanted;
    let dir = ws.target.join("compat/locate").join(name);
    let dependency = format!("{name} = {{ version = \"={version}\", default-features = false }}\n");
    workspace::probe(&dir, &dependency)?;
    let metadata = MetadataCommand::new()
        .manifest_path(dir.join("Cargo.toml"))
        .exec()
        .context("cannot fetch a published package: is the registry reachable?")?;
    let is_it = |p: &Package| p.name.as_str() == name && p.version.to_string() == version;
    let found = metadata.packages.into_iter().find(is_it);
    found.with_context(|| format!("cargo did not find {name}"))
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
    for file in files_below(from)? {
        if !file.ends_with("Cargo.toml") && !file.ends_with("Cargo.lock") {
            write(to, file.strip_prefix(from)?, fs_err::read(&file)?)?;
        }
    }
    Ok(())
}
