//! Published packages: finding cargo's unpacked copy of their source, and copying it to work on.

use std::path::Path;

use anyhow::{Context, Result, bail};
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

impl Published {
    /// The package in another version.
    pub(super) const fn of(self, version: &'static str) -> Self {
        Self { version, ..self }
    }

    /// `0.19`, say, of a package of Bevy that is not of the newest.
    pub(super) fn older_bevy(self) -> Option<&'static str> {
        let is_older = self.name.starts_with("bevy_") && BEVYS[1..].contains(&self.version);
        let (line, _) = self.version.rsplit_once('.')?;
        is_older.then_some(line)
    }

    /// Where ours lies, below the root.
    pub(super) fn place(self) -> String {
        let older = self
            .older_bevy()
            .map_or(String::new(), |line| format!("-{line}"));
        format!("crates/compat/{}{older}", self.name)
    }
}

/// The versions of Bevy with a drop-in, the newest first.
pub(super) const BEVYS: [&str; 4] = ["0.20.1", "0.19.1", "0.18.1", "0.17.3"];

/// The version that a command line means: `0.19` or `0.19.1`.
pub(super) fn bevy_version(text: &str) -> Result<&'static str> {
    let is_meant = |version: &&str| {
        let rest = version.strip_prefix(text);
        rest.is_some_and(|rest| rest.is_empty() || (rest.starts_with('.') && text.contains('.')))
    };
    match BEVYS.into_iter().find(is_meant) {
        Some(version) => Ok(version),
        None => bail!("there is a drop-in for Bevy {}", BEVYS.join(", ")),
    }
}

pub(crate) const BEVY_TASKS: Published = bevy("bevy_tasks");
pub(super) const ASYNC_EXECUTOR: Published = published("async-executor", "1.14.1");
pub(super) const RAYON_CORE: Published = published("rayon-core", "1.13.0");
pub(super) const SMOL: Published = published("smol", "2.0.2");

/// A package of the newest Bevy.
pub(super) const fn bevy(name: &'static str) -> Published {
    published(name, BEVYS[0])
}

/// Has cargo fetch a package and says where it is. Writes a package that depends on it, below the target directory.
pub(super) fn locate(ws: &Workspace, wanted: Published) -> Result<Package> {
    let Published { name, version } = wanted;
    let dir = format!("{name}-{version}");
    let dir = ws.target.join("compat/locate").join(dir);
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

#[cfg(test)]
mod tests {
    use super::{BEVY_TASKS, bevy_version};

    #[test]
    fn versions_of_bevy_and_their_places() {
        for text in ["0.18", "0.18.1"] {
            assert_eq!(bevy_version(text).unwrap(), "0.18.1");
        }
        for text in ["", "0", "0.1", "0.16", "0.18.0", "0.19.10"] {
            let error = bevy_version(text).unwrap_err().to_string();
            assert!(error.contains("0.20.1, 0.19.1, 0.18.1, 0.17.3"), "{error}");
        }
        let older = BEVY_TASKS.of("0.18.1");
        assert_eq!(older.place(), "crates/compat/bevy_tasks-0.18");
        assert_eq!(BEVY_TASKS.place(), "crates/compat/bevy_tasks");
    }
}
