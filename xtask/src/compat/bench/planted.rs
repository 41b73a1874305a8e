//! A copy of the workspace, in which text is changed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use crate::workspace::{Workspace, write};

/// Files below the root, and their text in a copy.
pub(super) type Changed = BTreeMap<PathBuf, String>;

/// Copies what git tracks or would track to `name` below the target directory, but for what is changed. A file that is as it was is not
/// written, so cargo builds nothing again.
pub(super) fn copied(ws: &Workspace, name: &str, changed: &Changed) -> Result<PathBuf> {
    let tree = ws.target.join(name);
    for file in ws.files()? {
        match changed.get(&file) {
            Some(text) => write(&tree, &file, text)?,
            None => write(&tree, &file, fs_err::read(ws.root.join(&file))?)?,
        };
    }
    Ok(tree)
}

/// Changes the text of a file that may have been changed before.
pub(super) fn change(
    ws: &Workspace,
    changed: &mut Changed,
    file: &Path,
    change: impl FnOnce(&str) -> Result<String>,
) -> Result<()> {
    let text = match changed.get(file) {
        Some(text) => text.clone(),
        None => fs_err::read_to_string(ws.root.join(file))?,
    };
    changed.insert(file.to_owned(), change(&text)?);
    Ok(())
}

/// `text` with `to` in the place of `from`, which is there once.
pub(super) fn edited(text: &str, from: &str, to: &str, file: &Path) -> Result<String> {
    let found = text.matches(from).count();
    ensure!(
        found == 1,
        "{} has `{}` {found} times, not once",
        file.display(),
        from.trim()
    );
    Ok(text.replacen(from, to, 1))
}
