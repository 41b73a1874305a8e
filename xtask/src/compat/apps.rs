//! `cargo xtask compat --apps`: scenarios that must start up, run and end on the drop-in.
//!
//! The package `crates/compat/apps` is built with the feature `multi_threaded` and without it. Each
//! scenario is a process of its own with a watchdog inside, which says what every thread was doing if the
//! scenario does not end.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use super::registry::BEVY_TASKS;
use super::sides::{BUILDS, Side, build, listed};
use crate::process::run_limited;
use crate::progress::run_all;
use crate::workspace::Workspace;

/// The watchdog inside ends a scenario after this many seconds.
const LIMIT: &str = "60";
/// Ends a program whose watchdog does not, its dump included.
const HARD_LIMIT: Duration = Duration::from_secs(240);

/// Runs the scenarios whose names contain `filter`, also after one has failed: `multi_threaded/empty`, say.
pub(super) fn run(ws: &Workspace, filter: &str) -> Result<()> {
    let dir = ws.root.join("crates/compat/apps");
    Side::Ours.prove(ws, &dir, &[], &BEVY_TASKS)?;
    let mut scenarios: Vec<(String, PathBuf)> = Vec::new();
    for way in BUILDS {
        let program = build(&dir, &ws.target.join("compat/apps"), "apps", way)?;
        let scenario = |line: String| {
            let name = line.split('\t').next().unwrap_or_default();
            (format!("{}/{name}", way.0), program.clone())
        };
        scenarios.extend(listed(&program)?.into_iter().map(scenario));
    }
    scenarios.retain(|(name, _)| name.contains(filter));
    let name = |(name, _): &(String, PathBuf)| name.clone();
    run_all("compat --apps", &scenarios, name, |(name, program)| {
        let name = name.split_once('/').map_or(&**name, |(_, name)| name);
        let mut command = Command::new(program);
        command.args(["--scenario", name, "--limit", LIMIT]);
        let finished = run_limited(command, HARD_LIMIT)?;
        finished.passed()?;
        Ok(format!("{:.1?}", finished.time))
    })
}
