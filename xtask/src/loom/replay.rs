//! A failing model's last schedule: kept in a file, and run again with locations and loom's log.
//!
//! Loom tries schedules in a fixed order, and can write to a file where it is. A run notes that now and then. After a failure
//! the model runs again from there and notes every schedule, so that the last one noted is the one that fails.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::LIMIT;
use crate::build::Build;
use crate::models::{Environment, Model};

/// Schedules between two notes.
const INTERVAL: usize = 2_000;

const FILE: &str = "LOOM_CHECKPOINT_FILE";
const EVERY: &str = "LOOM_CHECKPOINT_INTERVAL";

/// The environment in which a model notes where it is.
pub(super) fn noting(build: &Build, model: &Model) -> Result<Environment> {
    Ok(notes(&model.notes(build, "")?, INTERVAL))
}

fn notes(dir: &Path, interval: usize) -> Environment {
    // What `terrace_sync::model` appends is the number of the body.
    let file = dir.join("body").display().to_string();
    vec![(FILE, file), (EVERY, interval.to_string())]
}

/// Finds the schedule in which `model` has failed; the command that runs it again.
pub(super) fn command(build: &Build, model: &Model) -> Result<String> {
    let dir = model.noted(build, "");
    // Earlier bodies have passed: only the last one goes on from its note.
    model.run(&notes(&dir, 1), LIMIT)?;
    let command = format!("cargo xtask loom {}", model.title());
    let paths = fs_err::read_dir(&dir)?.map(|entry| Ok(entry?.path()));
    let paths = paths.collect::<Result<Vec<PathBuf>>>()?;
    // The note of the body that ran last.
    let notes = paths.into_iter().filter(|path| body(path).is_some());
    Ok(match notes.max_by_key(|path| body(path)) {
        None => format!("it fails in its first step:\n  {command}"),
        Some(file) => format!(
            "the failing schedule alone, with locations:\n  {command} --schedule {}",
            file.display()
        ),
    })
}

/// The number of the body that a file is of.
fn body(path: &Path) -> Option<usize> {
    path.extension()?.to_str()?.parse().ok()
}

/// The environment in which a model runs in the schedule of `file`, and says what it does.
pub(super) fn environment(file: &Path) -> Result<Environment> {
    let number =
        body(file).context("the file's name ends in the number of a body, as in `body.0`")?;
    // As `terrace_sync::model` has it.
    let preemptions = std::env::var("TERRACE_LOOM_PREEMPTIONS").unwrap_or("2".to_owned());
    Ok(vec![
        ("TERRACE_LOOM_REPLAY", number.to_string()),
        (FILE, std::path::absolute(file)?.display().to_string()),
        // It is the first of what would be a search: the file stays as it is.
        (EVERY, usize::MAX.to_string()),
        ("LOOM_MAX_PREEMPTIONS", preemptions),
        ("LOOM_MAX_BRANCHES", "10000".to_owned()),
        ("LOOM_LOG", "trace".to_owned()),
        ("LOOM_LOCATION", "1".to_owned()),
    ])
}
