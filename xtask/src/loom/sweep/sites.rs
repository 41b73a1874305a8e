//! The orderings in the source of the modelled layers: every access and fence that is stronger than `Relaxed`.
//!
//! A *site* is one ordering of one call. It is named by its file, its function and the call, so that a row of the reviewed
//! list survives a line that moves; it is found again at run time by the line and column of the call, which is what
//! `#[track_caller]` reports.

use std::path::Path;

use anyhow::{Context, Result};

use super::order::Order;
use super::reader::of_file;

/// The layers that models are made of.
const LAYERS: [&str; 7] = [
    "sync", "queue", "park", "local", "thread", "executor", "fork",
];

/// What passes on the orderings of its callers, or stands in for the machine under a checker.
const PASSING_ON: [&str; 5] = [
    "crates/sync/src/atomic",
    "crates/sync/src/fences.rs",
    "crates/sync/src/fences/full.rs",
    "crates/sync/src/fences/system.rs",
    "crates/sync/src/thread/modelled.rs",
];

/// One ordering of one call.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Site {
    /// Relative to the root of the workspace.
    pub(super) file: String,
    /// `Type::function`, or `function`.
    pub(super) function: String,
    /// The name of what is called; from the second of a name in a function on `name#2`.
    pub(super) access: String,
    pub(super) line: usize,
    pub(super) column: usize,
    /// 0, or 1 for the ordering of a failed exchange.
    pub(super) place: u8,
    pub(super) order: Order,
}

impl Site {
    /// How a checker's run reports it.
    pub(super) fn reported(&self) -> String {
        let Self {
            file,
            line,
            column,
            place,
            order,
            ..
        } = self;
        format!("{file}:{line}:{column}:{place}:{order}")
    }

    /// The layer, as in `cargo xtask loom --layer`.
    pub(super) fn layer(&self) -> &str {
        if self.file.starts_with("crates/executor/src/protocol/scope/") {
            return "scope";
        }
        self.file.split('/').nth(1).unwrap_or_default()
    }
}

/// Every site of the layers below `root`.
pub(super) fn all(root: &Path) -> Result<Vec<Site>> {
    let mut sites = Vec::new();
    for layer in LAYERS {
        let mut files = Vec::new();
        rust_files(&root.join("crates").join(layer).join("src"), &mut files)?;
        files.sort();
        for path in files {
            let relative = path.strip_prefix(root).context("a file outside")?;
            let name = relative.display().to_string();
            if PASSING_ON.iter().any(|p| name.starts_with(p)) {
                continue;
            }
            let text = std::fs::read_to_string(&path)?;
            sites.extend(of_file(&name, &text).with_context(|| format!("cannot read {name}"))?);
        }
    }
    Ok(sites)
}

fn rust_files(dir: &Path, files: &mut Vec<std::path::PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(dir).with_context(|| format!("no {}", dir.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            rust_files(&path, files)?;
        } else if path.extension().is_some_and(|e| e == "rs")
            && path.file_stem() != Some("tests".as_ref())
        {
            files.push(path);
        }
    }
    Ok(())
}
