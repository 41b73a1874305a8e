//! The measuring engine that the bench commands share: building the benches of a tree, running them in rounds. The
//! statistics of rounds are `xtask-stats`.

pub(crate) mod build;
pub(crate) mod child;
pub(crate) mod criterion;
pub(crate) mod id;
pub(crate) mod instr;
pub(crate) mod machine;
pub(crate) mod rounds;
pub(crate) mod runs;
pub(crate) mod share;

use std::path::{Path, PathBuf};

use anyhow::Result;

/// The files below a directory whose paths end like this.
fn files(dir: &Path, end: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs_err::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path, end)?);
        } else if path.ends_with(end) {
            found.push(path);
        }
    }
    Ok(found)
}
