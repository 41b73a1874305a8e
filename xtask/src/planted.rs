//! Planted faults: a line that is wrong where `weakened!("NAME")` of `terrace-sync` holds, and a net that must catch it. The
//! mutants of loom and of shuttle, and `cargo xtask prove`, differ in the net alone.
//!
//! A model reads the name from its environment when it starts. Every other net needs a build with `--cfg
//! terrace_weaken="NAME"`. A wrapper of rustc, with a path of its own for each fault, gives the cfg to workspace crates alone.
//! Cargo keys their artifacts by that path, and builds nothing else anew.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use comfy_table::Table;

use crate::build::{Binary, Build};
use crate::models::Verdict;
use crate::process::parallel;
use crate::progress::Progress;

/// How it went with one fault.
pub(crate) enum Outcome {
    /// The net caught it: what was said.
    Caught(String),
    /// The net passed: it does not see the fault.
    Missed,
    /// Nothing was learnt.
    Error(String),
}

impl Outcome {
    /// What a run of the net means that ended.
    pub(crate) fn of(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Failed(how) => Self::Caught(how),
            Verdict::TimedOut => Self::Caught("it does not end".to_owned()),
            Verdict::Passed => Self::Missed,
            Verdict::Missing => Self::Error("there is no such test".to_owned()),
        }
    }

    fn words(&self) -> (&'static str, &str) {
        match self {
            Self::Caught(how) => ("caught", how),
            Self::Missed => ("MISSED", "it passes with the fault"),
            Self::Error(why) => ("ERROR", why.lines().next().unwrap_or_default()),
        }
    }
}

/// Tries the net of every fault, prints a table, fails unless each was caught. `title` says whose they are, `shown` the name
/// of a fault and its net.
pub(crate) fn try_all<F: Sync>(
    title: &str,
    faults: &[F],
    shown: impl Fn(&F) -> [String; 2] + Sync,
    net: impl Fn(&F) -> Result<Outcome> + Sync,
) -> Result<()> {
    let progress = Progress::new(title, faults.len());
    let outcomes = parallel(faults, |fault| {
        let [name, _] = shown(fault);
        progress.at(&name);
        let start = Instant::now();
        let outcome = net(fault).unwrap_or_else(|error| Outcome::Error(format!("{error:#}")));
        let (time, word) = (start.elapsed().as_secs_f64(), outcome.words().0);
        progress.line(&format!("{word:9} {time:7.2} s  {name}"));
        progress.step();
        if let Outcome::Error(why) = &outcome {
            progress.line(why);
        }
        outcome
    });
    progress.finish();
    let mut table = Table::new();
    table.load_preset(comfy_table::presets::NOTHING);
    table.set_header(["fault", "net", "", "how"]);
    let mut missed = faults.len();
    for (fault, outcome) in faults.iter().zip(&outcomes) {
        let ([name, net], (word, how)) = (shown(fault), outcome.words());
        missed -= usize::from(matches!(outcome, Outcome::Caught(_)));
        table.add_row([&name, &net, word, how]);
    }
    println!("{table}");
    println!(
        "{title}: {} of {} caught",
        faults.len() - missed,
        faults.len()
    );
    ensure!(missed == 0, "{missed} planted faults were not caught");
    Ok(())
}

/// The same build with the fault called `name` in it.
pub(crate) fn plant(build: &Build, name: &str) -> Result<Build> {
    let dir = build.target().join("mutants").join(name);
    let path = dir.join("rustc-wrapper");
    let text = format!("#!/bin/sh\nexec \"$@\" --cfg 'terrace_weaken=\"{name}\"'\n");
    // The path is what tells builds apart: the file stays as it is.
    if !fs_err::read_to_string(&path).is_ok_and(|old| old == text) {
        fs_err::create_dir_all(&dir)?;
        fs_err::write(&path, text)?;
        make_executable(&path)?;
    }
    let wrapper = path.display().to_string();
    Ok(build.clone().env("RUSTC_WORKSPACE_WRAPPER", wrapper))
}

/// Builds the test program called `file` with `args`; that it does not compile is told apart from a test that fails.
pub(crate) fn program(build: &Build, args: &[&str], file: &str) -> Result<Binary> {
    let args = [args, &["--test", file]].concat();
    let binaries = build
        .test_binaries(&args, true)
        .context("does not compile")?;
    let binary = binaries.into_iter().find(|b| b.name == file);
    binary.context("cargo built no test")
}

#[cfg(unix)]
fn make_executable(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))?;
    Ok(())
}

#[cfg(not(unix))]
fn make_executable(_path: &Path) -> Result<()> {
    anyhow::bail!("faults can be planted on Unix alone: the compiler's wrapper is a shell script")
}
