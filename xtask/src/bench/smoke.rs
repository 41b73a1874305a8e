//! `cargo xtask bench --smoke`: does every row run?

use std::time::Duration;

use anyhow::{Result, ensure};

use super::{BenchArgs, programs, rows};
use crate::measure::build::Executable;
use crate::measure::child;
use crate::progress::Progress;
use crate::workspace::Workspace;

/// Of one program, with all its rows.
const LIMIT: Duration = Duration::from_secs(300);
/// Lines of a failed program's output that the error shows.
const TAIL: usize = 12;
/// What criterion prints before it tests a row.
const TESTING: &str = "Testing ";

/// Runs every row once, all rows of a program in one process: they have to leave nothing behind.
pub(super) fn run(ws: &Workspace, args: &BenchArgs) -> Result<()> {
    let mut executables = programs::build(ws, &args.layers)?;
    // Names and contenders are checked, too.
    rows::select(
        rows::group(programs::list(&executables)?)?,
        &args.selection(),
    )?;
    if args.layers.is_empty() {
        executables.extend(programs::build_targets(ws, &[programs::LATENCY])?);
    }
    let progress = Progress::new("bench smoke", executables.len());
    let mut rows = 0;
    for executable in &executables {
        progress.at(&executable.name);
        rows += test(
            executable,
            args.filter.as_ref().map(regex_lite::Regex::as_str),
        )?;
        progress.step();
    }
    progress.finish();
    println!("{rows} benches of {} programs run", executables.len());
    Ok(())
}

/// How many rows were run.
fn test(executable: &Executable, filter: Option<&str>) -> Result<usize> {
    let mut command = std::process::Command::new(&executable.path);
    command.arg("--test").args(filter);
    let ended = child::run(&mut command, LIMIT, |_, _| {})?;
    let tested = || ended.stdout.lines().filter_map(|l| l.strip_prefix(TESTING));
    ensure!(
        ended.succeeded(),
        "the bench `{}` does not run ({}); to see it alone: `{} --test`{}",
        tested().next_back().unwrap_or(&executable.name),
        ended.how(LIMIT),
        executable.path.display(),
        ended.tail(TAIL)
    );
    Ok(tested().count())
}
