//! `cargo xtask soak`: random use of executors for minutes, with everything accounted for.

use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::build::{Binary, Build};
use crate::test;
use crate::workspace::Workspace;

/// The package with the program.
const PACKAGE: &str = "terrace-soak";

#[derive(Args)]
pub(crate) struct SoakArgs {
    /// For how long
    #[arg(long, value_name = "M", default_value_t = 1.0)]
    minutes: f64,
    /// What decides the random choices; without it the time, which is printed
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// The round to begin with
    #[arg(long, value_name = "R", default_value_t = 0)]
    round: u64,
    /// Delay threads at random between two steps of their handshakes
    #[arg(long)]
    jitter: bool,
    /// Thread-locals behind keys of the system, as on Windows with GNU's tools, Android and OpenBSD
    #[arg(long, conflicts_with = "jitter")]
    keyed: bool,
    /// With records of all tasks, and the timeline
    #[arg(long)]
    inspect: bool,
}

/// Builds the program and runs it.
pub(crate) fn run(ws: &Workspace, args: &SoakArgs) -> Result<()> {
    ensure!(
        args.minutes.is_finite() && args.minutes > 0.0,
        "--minutes is a number above 0"
    );
    let seconds = (args.minutes * 60.0).max(1.0) as u64;
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    let numbers = [seconds, args.seed.unwrap_or(now), args.round];
    let build = match (args.jitter, args.keyed) {
        (true, _) => Build::special(ws, "jitter", "--cfg terrace_jitter"),
        (_, true) => test::keyed(ws),
        _ => build(ws),
    };
    let program = with(
        &build,
        if args.inspect {
            &["--features", "inspect"]
        } else {
            &[]
        },
    )?;
    let status = Command::new(&program.path)
        .args(numbers.map(|number| number.to_string()))
        .status()
        .with_context(|| format!("cannot start {}", program.path.display()))?;
    ensure!(status.success(), "the soak found a fault: {status}");
    Ok(())
}

/// Where the program is built.
pub(crate) fn build(ws: &Workspace) -> Build {
    Build::special(ws, "soak", "")
}

/// Builds the program optimised, with debug assertions.
pub(crate) fn program(build: &Build) -> Result<Binary> {
    with(build, &[])
}

fn with(build: &Build, features: &[&str]) -> Result<Binary> {
    let checked = "profile.release.debug-assertions=true";
    let args = ["build", "--release", "--config", checked, "-p", PACKAGE];
    let built = build.binaries(&[&args, features].concat(), false)?;
    built.into_iter().next().context("cargo built no program")
}
