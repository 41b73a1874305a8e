//! `cargo xtask compat --apps`: scenarios that must start up, run and end on the drop-in.
//!
//! The package `crates/compat/apps` is built with the feature `multi_threaded` and without it. Each
//! scenario is a process of its own with a watchdog inside, which says what every thread was doing if the
//! scenario does not end.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};

use super::registry::{self, BEVY_TASKS};
use super::sides::{BUILDS, build, listed};
use crate::process::run_limited;
use crate::progress::run_all;
use crate::workspace::Workspace;

/// The watchdog inside ends a scenario after this many seconds.
const LIMIT: &str = "60";
/// Ends a program whose watchdog does not, its dump included.
const HARD_LIMIT: Duration = Duration::from_secs(240);

/// One scenario of one build.
struct Scenario {
    /// `BUILD/NAME`.
    shown: String,
    name: String,
    program: PathBuf,
}

/// Runs the scenarios whose names contain `filter`, also after one has failed.
pub(super) fn run(ws: &Workspace, filter: Option<&str>) -> Result<()> {
    let dir = ws.root.join("crates/compat/apps");
    registry::prove(&dir, &[], &BEVY_TASKS, Some(&ws.root))?;
    let mut scenarios = Vec::new();
    for way in BUILDS {
        let program = build(&dir, &ws.target.join("compat/apps"), "debug/apps", way)?;
        for line in listed(&program)? {
            let name = line.split('\t').next().unwrap_or_default().to_owned();
            scenarios.push(Scenario {
                shown: format!("{}/{name}", way.0),
                name,
                program: program.clone(),
            });
        }
    }
    scenarios.retain(|scenario| filter.is_none_or(|text| scenario.shown.contains(text)));
    ensure!(
        !scenarios.is_empty(),
        "no scenario's name contains the filter"
    );
    let name = |scenario: &Scenario| scenario.shown.clone();
    run_all("compat --apps", &scenarios, name, |scenario| {
        let mut command = Command::new(&scenario.program);
        command.args(["--scenario", &scenario.name, "--limit", LIMIT]);
        let finished = run_limited(command, HARD_LIMIT)?;
        finished.passed()?;
        Ok(format!("{:.1?}", finished.time))
    })
}
