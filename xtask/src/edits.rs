//! Edits of sources, and a copy of the workspace in which they are done.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use serde::Deserialize;

use crate::workspace::{Workspace, files_below, write};

/// The files of edits lie below.
const SOURCES: &str = "crates";

/// A text that a file has once, and what is to stand there.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Edit {
    /// Below [`SOURCES`].
    pub(crate) file: PathBuf,
    pub(crate) from: String,
    pub(crate) to: String,
}

/// Files below the root, and their text in a copy.
pub(crate) type Changed = BTreeMap<PathBuf, String>;

/// Does the edits one after the other. `read` is asked for the text of each file, by its path below the root.
pub(crate) fn apply<'e>(
    edits: impl IntoIterator<Item = &'e Edit>,
    read: impl Fn(&Path) -> Result<String>,
) -> Result<Changed> {
    let mut changed = Changed::new();
    for Edit { file, from, to } in edits {
        let file = Path::new(SOURCES).join(file);
        let text = match changed.get(&file) {
            Some(text) => text.clone(),
            None => read(&file)?,
        };
        let found = text.matches(from).count();
        ensure!(
            found == 1,
            "{} has `{}` {found} times, not once",
            file.display(),
            from.trim()
        );
        changed.insert(file, text.replacen(from, to, 1));
    }
    Ok(changed)
}

/// Copies what git tracks or would track to `name` below the target directory, but for what is changed. A file that is as it was is not
/// written, so cargo builds nothing again.
pub(crate) fn copied(ws: &Workspace, name: impl AsRef<Path>, changed: &Changed) -> Result<PathBuf> {
    let tree = ws.target.join(name);
    let files = ws.files()?;
    for file in &files {
        match changed.get(file) {
            Some(text) => write(&tree, file, text)?,
            None => write(&tree, file, fs_err::read(ws.root.join(file))?)?,
        };
    }
    // What an earlier copy had, and the workspace has no longer.
    for old in files_below(&tree.join(SOURCES))? {
        let is_there = old
            .strip_prefix(&tree)
            .is_ok_and(|file| files.iter().any(|other| other == file));
        if !is_there {
            fs_err::remove_file(&old)?;
        }
    }
    Ok(tree)
}
