//! `cargo xtask bench --smoke`: does every row run?

use std::time::Duration;

use anyhow::Result;

use super::{BenchArgs, programs, rows};
use crate::measure::child;
use crate::measure::criterion::Program;
use crate::progress::Progress;
use crate::workspace::Workspace;

/// Of one program, with all its rows.
const LIMIT: Duration = Duration::from_secs(300);
/// What criterion prints before it tests a row.
const TESTING: &str = "Testing ";

/// Runs every row once, all rows of a program in one process: they have to leave nothing behind.
pub(super) fn run(ws: &Workspace, args: &BenchArgs) -> Result<()> {
    let mut built = programs::build_timed(ws, args)?;
    let selection = &args.selection;
    // Names and contenders are checked, too.
    rows::select(rows::group(programs::list(&built)?)?, selection)?;
    if selection.layers.is_empty() {
        built.push(programs::build_latency(ws)?);
    }
    let filter = selection.filter.as_ref().map(regex_lite::Regex::as_str);
    let progress = Progress::new("bench smoke", built.len());
    let mut rows = 0;
    for program in &built {
        progress.at(&program.name);
        rows += test(program, filter)?;
        progress.step();
    }
    progress.finish();
    println!("{rows} benches of {} programs run", built.len());
    Ok(())
}

/// How many rows were run.
fn test(program: &Program, filter: Option<&str>) -> Result<usize> {
    let mut command = std::process::Command::new(&program.path);
    command.arg("--test").args(filter);
    let ended = child::run(&mut command, LIMIT, |_, _| {})?;
    let lines = ended.stdout.lines();
    let rows: Vec<&str> = lines.filter_map(|l| l.strip_prefix(TESTING)).collect();
    let row = rows.last().copied().unwrap_or(&program.name);
    let path = program.path.display();
    let what = format!("the bench `{row}` does not run; to see it alone: `{path} --test`");
    let count = rows.len();
    ended.checked(&what)?;
    Ok(count)
}
