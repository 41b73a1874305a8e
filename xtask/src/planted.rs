//! Planted faults: a line that is wrong where `weakened!("NAME")` of `terrace-sync` holds, and a net that must catch it. The
//! mutants of loom and of shuttle, and `cargo xtask prove`, differ in the net alone.
//!
//! A model reads the name from its environment when it starts. Every other net needs a build with `--cfg
//! terrace_weaken="NAME"`. A wrapper of rustc, with a path of its own for each fault, gives the cfg to workspace crates alone.
//! Cargo keys their artifacts by that path, and builds nothing else anew.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use anyhow::{Context, Result, ensure};
use comfy_table::{Table, presets};

use crate::build::{Binary, Build};
use crate::models::Verdict;
use crate::progress::{Told, run_timed};

/// How it went with one fault.
#[derive(Clone)]
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

    fn told(&self) -> Told {
        match self {
            Self::Caught(how) => ("caught", how.clone()),
            Self::Missed => ("MISSED", "it passes with the fault".to_owned()),
            Self::Error(why) => ("ERROR", why.clone()),
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
    let name = |fault: &F| shown(fault)[0].clone();
    let outcomes = run_timed(title, faults, name, |fault| {
        let outcome = net(fault).unwrap_or_else(|error| Outcome::Error(format!("{error:#}")));
        let (word, said) = outcome.told();
        let is_error = matches!(outcome, Outcome::Error(_));
        let more = if is_error { said } else { String::new() };
        ((word, more), outcome)
    });
    let rows = faults.iter().zip(&outcomes).map(|(fault, (outcome, _))| {
        let ([name, net], (word, how)) = (shown(fault), outcome.told());
        let how = how.lines().next().unwrap_or_default().to_owned();
        [name, net, word.to_owned(), how]
    });
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).add_rows(rows);
    table.set_header(["fault", "net", "", "how"]);
    println!("{table}");
    let caught = outcomes.iter();
    let caught = caught.filter(|(outcome, _)| matches!(outcome, Outcome::Caught(_)));
    let (all, caught) = (faults.len(), caught.count());
    println!("{title}: {caught} of {all} caught");
    ensure!(
        caught == all,
        "{} planted faults were not caught",
        all - caught
    );
    Ok(())
}

/// The same build with the fault called `name` in it.
pub(crate) fn plant(build: &Build, name: &str) -> Result<Build> {
    let dir = build.target().join("mutants").join(name);
    let path = dir.join("rustc-wrapper");
    let text = format!("#!/bin/sh\nexec \"$@\" --cfg 'terrace_weaken=\"{name}\"'\n");
    // One that is there may be in use.
    if !fs_err::read_to_string(&path).is_ok_and(|old| old == text) {
        fs_err::create_dir_all(&dir)?;
        fs_err::write(&path, text)?;
        fs_err::set_permissions(&path, Permissions::from_mode(0o755))?;
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
