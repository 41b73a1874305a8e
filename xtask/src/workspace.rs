//! What the commands need to know about the workspace: its root, its target directory, its members.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use cargo_metadata::{Metadata, MetadataCommand, Package};

use crate::process::{program, said};

/// The workspace this program was built from.
pub(crate) struct Workspace {
    /// The directory of the top-level `Cargo.toml`.
    pub(crate) root: PathBuf,
    /// Where cargo puts artifacts (`CARGO_TARGET_DIR` is honoured); commands that need flags of
    /// their own build in a subdirectory of it, so that they do not evict one another's artifacts.
    pub(crate) target: PathBuf,
    /// `cargo metadata` without dependencies.
    pub(crate) metadata: Metadata,
}

impl Workspace {
    /// Finds the workspace through the location of this package.
    pub(crate) fn find() -> Result<Self> {
        Self::at(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml"))
    }

    /// The workspace with this manifest.
    pub(crate) fn at(manifest: &Path) -> Result<Self> {
        let metadata = MetadataCommand::new()
            .manifest_path(manifest)
            .no_deps()
            .exec()
            .context("`cargo metadata` failed; is the top-level Cargo.toml valid?")?;
        Ok(Self {
            root: metadata.workspace_root.clone().into(),
            target: metadata.target_directory.clone().into(),
            metadata,
        })
    }

    /// The packages under `crates/`: the layers.
    pub(crate) fn layers(&self) -> Vec<&Package> {
        let crates = self.root.join("crates");
        let mut layers: Vec<&Package> = self.metadata.packages.iter().collect();
        layers.retain(|package| package.manifest_path.as_std_path().starts_with(&crates));
        layers.sort_by_key(|layer| layer.name.as_str());
        layers
    }

    pub(crate) fn package(&self, name: &str) -> Result<&Package> {
        let mut packages = self.metadata.packages.iter();
        let found = packages.find(|package| package.name == name);
        found.with_context(|| format!("the workspace has no package {name}"))
    }

    /// The package of the layer `name`, for example `queue`.
    pub(crate) fn layer(&self, name: &str) -> Result<&Package> {
        let mut layers = self.layers().into_iter();
        let found = layers.find(|layer| layer.name.strip_prefix("terrace-") == Some(name));
        found.with_context(|| format!("there is no layer `{name}`, see crates/"))
    }

    /// `-p NAME` for each layer.
    pub(crate) fn layer_args(&self) -> Vec<&str> {
        let layers = self.layers().into_iter();
        layers.flat_map(|l| ["-p", l.name.as_str()]).collect()
    }

    /// The manifest of a package or of an excluded workspace, as an argument.
    pub(crate) fn manifest(&self, dir: &str) -> String {
        let manifest = self.root.join(dir).join("Cargo.toml");
        manifest.display().to_string()
    }

    /// The text of the file with this path below the root.
    pub(crate) fn text(&self, file: &Path) -> Result<String> {
        Ok(fs_err::read_to_string(self.root.join(file))?)
    }

    /// The files that git tracks or would track, below the root.
    pub(crate) fn files(&self) -> Result<Vec<PathBuf>> {
        let mut list = program("git ls-files --cached --others --exclude-standard");
        list.current_dir(&self.root);
        let listed = said(list).context("this needs a git checkout")?;
        let mut paths: Vec<PathBuf> = listed.lines().map(PathBuf::from).collect();
        // One that is tracked and gone is left out.
        paths.retain(|path| self.root.join(path).is_file());
        Ok(paths)
    }
}

/// Writes an empty package with these lines below `[dependencies]` into `dir`, a workspace of its own.
pub(crate) fn probe(dir: &Path, dependencies: &str) -> Result<()> {
    let manifest = format!(
        "[package]\nname = \"probe\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
         [dependencies]\n{dependencies}"
    );
    write(dir, "src/lib.rs", "")?;
    write(dir, "Cargo.toml", manifest)?;
    Ok(())
}

/// Writes a file in `dir`, and says so, unless it holds this already: cargo builds again what is newer.
pub(crate) fn write(dir: &Path, file: impl AsRef<Path>, content: impl AsRef<[u8]>) -> Result<bool> {
    let file = dir.join(file);
    if fs_err::read(&file).is_ok_and(|old| old == content.as_ref()) {
        return Ok(false);
    }
    fs_err::create_dir_all(file.parent().unwrap_or(dir))?;
    fs_err::write(file, content)?;
    Ok(true)
}

/// Sees to it that there is an empty directory here.
pub(crate) fn empty(dir: &Path) -> Result<()> {
    if dir.exists() {
        fs_err::remove_dir_all(dir)?;
    }
    Ok(fs_err::create_dir_all(dir)?)
}

/// All files below `dir`, in order.
pub(crate) fn files_below(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let entries = fs_err::read_dir(dir).with_context(|| format!("no {}", dir.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(files_below(&path)?);
        } else {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// The Rust files below `dir`, relative to `root`, in order.
pub(crate) fn rust_files(root: &Path, dir: &Path) -> Result<Vec<String>> {
    let mut files = files_below(dir)?;
    files.retain(|path| path.extension().is_some_and(|e| e == "rs"));
    let relative = files.iter().map(|path| {
        let path = path.strip_prefix(root).context("a file outside")?;
        Ok(path.display().to_string())
    });
    relative.collect()
}
