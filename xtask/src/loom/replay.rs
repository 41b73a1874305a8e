//! A failing model's last schedule: kept in a file, and run again with locations and loom's log.
//!
//! Loom tries schedules in a fixed order, and can write to a file where it is. A run notes that now and then. After a failure
//! the model runs again from there and notes every schedule, so that the last one noted is the one that fails.

use std::path::Path;

use anyhow::{Context, Result};

use super::{LIMIT, PREEMPTIONS};
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

/// Runs a model that has failed from its last note on, so that it notes the failing schedule.
pub(super) fn find(build: &Build, model: &Model) -> Result<()> {
    // Earlier bodies have passed: only the last one goes on from its note.
    model.run(&notes(&model.noted(build, ""), 1), LIMIT)?;
    Ok(())
}

/// The environment in which a model runs in the schedule of `file`, and says what it does.
pub(super) fn environment(file: &Path) -> Result<Environment> {
    let number = file.extension().and_then(|number| number.to_str());
    let number = number.context("the file's name ends in the number of a body, as in `body.0`")?;
    // As `terrace_sync::model` has it.
    let preemptions = std::env::var(PREEMPTIONS).unwrap_or("2".to_owned());
    Ok(vec![
        ("TERRACE_LOOM_REPLAY", number.to_owned()),
        (FILE, std::path::absolute(file)?.display().to_string()),
        // It is the first of what would be a search: the file stays as it is.
        (EVERY, usize::MAX.to_string()),
        ("LOOM_MAX_PREEMPTIONS", preemptions),
        ("LOOM_MAX_BRANCHES", "10000".to_owned()),
        ("LOOM_LOG", "trace".to_owned()),
        ("LOOM_LOCATION", "1".to_owned()),
    ])
}
