//! `cargo xtask compat --apps`: scenarios that must start up, run and end on the drop-in.
//!
//! The package `crates/compat/apps` is built with the feature `multi_threaded` and without it. Each
//! scenario is a process of its own with a watchdog inside, which says what every thread was doing if the
//! scenario does not end.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use xshell::cmd;

use super::registry;
use crate::process::run_limited;
use crate::progress::Progress;
use crate::workspace::Workspace;

/// The watchdog inside ends a scenario after this.
const LIMIT: Duration = Duration::from_secs(60);
/// Ends a program whose watchdog does not, its dump included.
const HARD_LIMIT: Duration = Duration::from_secs(240);

/// One way to build the program: a name, and what cargo is told.
const BUILDS: &[(&str, &[&str])] = &[
    ("multi_threaded", &[]),
    ("single_threaded", &["--no-default-features"]),
];

/// One scenario of one build.
struct Scenario {
    /// `BUILD/NAME`.
    shown: String,
    name: String,
    program: PathBuf,
}

/// Runs the scenarios whose names contain `filter`, also after one has failed.
pub(super) fn run(ws: &Workspace, filter: Option<&str>) -> Result<()> {
    let mut scenarios = Vec::new();
    for (build, features) in BUILDS {
        let program = compile(ws, build, features)?;
        scenarios.extend(list(build, program)?);
    }
    scenarios.retain(|scenario| filter.is_none_or(|text| scenario.shown.contains(text)));
    ensure!(
        !scenarios.is_empty(),
        "no scenario's name contains the filter"
    );

    let progress = Progress::new("compat --apps", scenarios.len());
    let mut failed = Vec::new();
    for scenario in &scenarios {
        progress.at(&scenario.shown);
        if let Err(error) = run_one(scenario) {
            progress.line(&format!("{}: FAILED: {error:#}", scenario.shown));
            failed.push(scenario.shown.as_str());
        }
        progress.step();
    }
    progress.finish();
    ensure!(failed.is_empty(), "failed: {}", failed.join(", "));
    eprintln!("compat --apps: {} scenarios passed", scenarios.len());
    Ok(())
}

/// Builds the program, with debug assertions, and keeps it apart from the other build's.
fn compile(ws: &Workspace, build: &str, features: &[&str]) -> Result<PathBuf> {
    let dir = ws.root.join("crates/compat/apps");
    registry::prove_patched(&dir, &[], &ws.root.join("crates/compat/bevy_tasks"))?;
    let target = ws.target.join("compat/apps");
    let sh = ws.sh.clone();
    sh.change_dir(&dir);
    sh.set_var("CARGO_TARGET_DIR", &target);
    cmd!(sh, "cargo build --quiet {features...}").run()?;
    let program = target.join(format!("apps-{build}"));
    std::fs::copy(target.join("debug/apps"), &program)
        .with_context(|| format!("cannot copy the program to {}", program.display()))?;
    Ok(program)
}

fn list(build: &str, program: PathBuf) -> Result<Vec<Scenario>> {
    let output = Command::new(&program)
        .arg("--list")
        .output()
        .with_context(|| format!("cannot start {}", program.display()))?;
    let text = String::from_utf8(output.stdout).context("the list is no text")?;
    let scenarios = text.lines().filter_map(|line| line.split('\t').next());
    Ok(scenarios
        .map(|name| Scenario {
            shown: format!("{build}/{name}"),
            name: name.to_owned(),
            program: program.clone(),
        })
        .collect())
}

fn run_one(scenario: &Scenario) -> Result<()> {
    let limit = LIMIT.as_secs().to_string();
    let mut command = Command::new(&scenario.program);
    command.args(["--scenario", &scenario.name, "--limit", &limit]);
    let finished = run_limited(command, HARD_LIMIT)?;
    let status = finished
        .status
        .map_or("killed".to_owned(), |status| status.to_string());
    ensure!(
        finished.status.is_some_and(|status| status.success()),
        "{status} after {:.1?}\n{}",
        finished.time,
        finished.output
    );
    Ok(())
}
