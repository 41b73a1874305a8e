//! `cargo xtask bench-compare BASE [HEAD]`: which benches got slower or faster between two trees.
//!
//! The trees are built apart, each in a target directory of its own. Programs that are the same bytes are not
//! timed. All others are run in rounds, both sides of a bench in turn, and judged by the rounds' ratios;
//! `docs/bench-compare.md` says how and why.

mod args;
mod comparison;
mod failure;
mod git;
mod plan;
mod programs;
mod seed;
pub(crate) mod self_test;
mod sides;
mod verdict;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use cargo_metadata::MetadataCommand;

use crate::measure::child;
use crate::measure::criterion::Length;
use crate::measure::id;
use crate::measure::instr;
use crate::measure::machine;
use crate::measure::rounds::{self, Effort};
use crate::measure::runs::{self, Kind, Run, Runs};
use crate::report;
use crate::report::model::{Comparison, Metric, Outcome, SCHEMA, Settings};
pub(crate) use args::BenchCompareArgs;
use failure::Code;
pub(crate) use failure::Failure;
use git::{Repository, Revision, Worktree};
use plan::Plan;
use programs::Wanted;
use sides::{NAMES, PACKAGE, Side, State};

/// Raised when a line of `runs.jsonl` means something else than before.
const RUNS_SCHEMA: u32 = 2;

/// Compares the two sides in the repository around the current directory, and prints and writes the result.
pub(crate) fn run(args: &BenchCompareArgs) -> Result<()> {
    if args.self_test {
        return self_test::run();
    }
    child::catch_interrupts()?;
    compare(args)
        .and_then(|(comparison, out)| conclude(&comparison, &out))
        .map_err(failure::finished)
}

fn compare(args: &BenchCompareArgs) -> Result<(Comparison, PathBuf)> {
    let here = std::env::current_dir().context("there is no current directory")?;
    let worktree = Worktree::find(&here)?.with_context(|| {
        let here = here.display();
        format!("{here} is in no git repository with a working tree; go into one and run it again")
    })?;
    let target = target_directory(&worktree.root);
    if target.to_str().is_none() {
        bail!(
            "cargo cannot build below a path that is not Unicode; set CARGO_TARGET_DIR to another place than {target:?}"
        );
    }
    let state = State::lock(&target)?;
    let out = args.out.clone().unwrap_or_else(|| state.dir.join("report"));
    // Found out now rather than after the builds.
    fs_err::create_dir_all(&out)
        .and_then(|()| tempfile::tempfile_in(&out))
        .with_context(|| format!("cannot write to {}; give another --out", out.display()))?;
    let repository = Repository::open(worktree, &state.dir.join("repository"))?;
    let (base, head) = revisions(args, &repository, &state, &out)?;
    let mut warnings = base.notes.clone();
    warnings.extend(head.notes.iter().cloned());
    warnings.dedup();
    // A build that fails may fail of it.
    for warning in &warnings {
        eprintln!("{warning}");
    }
    let differs = |path: &str| -> Result<bool> {
        Ok(repository.object(&base, path)? != repository.object(&head, path)?)
    };
    let harness_changed = differs(PACKAGE)?;
    if differs(".cargo")? {
        warnings.push(
            "`.cargo` differs: cargo also reads the one of the working tree, for both sides"
                .to_owned(),
        );
    }

    let metrics = args.metrics();
    let wanted = Wanted {
        layers: args.selection.layers.clone(),
        timed: metrics.iter().any(|m| *m != Metric::Instr),
        counted: metrics.contains(&Metric::Instr),
    };
    let prepare = |name, revision, args: &[String]| {
        sides::prepare(&state, &repository, name, revision, args, &wanted)
    };
    let base = prepare(NAMES[0], base, &args.base_arg)?;
    let head = match args.aa {
        true => base.clone(),
        false => prepare(NAMES[1], head, &args.head_arg)?,
    };
    let counts = |side: &Side| side.programs.iter().any(|built| built.program.counts());
    if counts(&base) || counts(&head) {
        instr::needs_valgrind().context("leave `instr` out of --metric, or help")?;
    }
    let plan = Plan::new(&base, &head, &args.selection).map_err(failure::of_bench)?;
    if plan.both.is_empty() {
        return Err(nothing(&plan, &base, &head));
    }
    let length = Length::of_millis(args.time_ms);
    let subject = (RUNS_SCHEMA, &base.key, &head.key, args.aa, length);
    let mut runs = Runs::open(&out, &serde_json::to_string(&subject)?, args.resume)?;
    if runs.resumed > 0 {
        eprintln!("{} runs are taken over", runs.resumed);
    }
    let machine = machine::machine();
    let home = state.dir.join("home");
    let mut failed = rounds::measure(
        Effort {
            budget: args.budget.map(|minutes| minutes * 60.0),
            ..Effort::new("bench-compare", Kind::Time, args.rounds)
        },
        &plan.rows(Kind::Time, args.aa),
        &mut runs,
        |row, at| row.entries[at].program.run(&row.name, length, &home),
        |runs, id, rounds| {
            id::is_gated(id, machine.cores) && comparison::is_undecided(args, runs, id, rounds)
        },
    )?;
    // Counts hardly vary: four runs tell whether these do.
    let effort = Effort::new("bench-compare: instructions", Kind::Instructions, 1);
    let rows = plan.rows(Kind::Instructions, args.aa);
    let home = tempfile::tempdir().context("cannot make a temporary directory")?;
    failed.extend(rounds::measure_all(effort, &rows, &mut runs, |row, at| {
        let entry = &row.entries[at];
        let count = entry.program.count(&entry.id, home.path())?;
        Ok(Run::of(count.instructions))
    })?);
    let benches = comparison::benches(args, &plan, &runs, &failed, machine.cores);
    warnings.extend(comparison::warnings(&metrics, &benches));
    let fail_on = metrics.iter().copied().filter(|m| args.fails_on(*m));
    let comparison = Comparison {
        schema: SCHEMA,
        created: machine::now(),
        command: machine::command_line(),
        seconds: runs.seconds(),
        resumed: runs.resumed > 0,
        base: base.told(),
        head: head.told(),
        machine,
        settings: Settings {
            rounds: args.rounds as usize,
            budget_minutes: args.budget,
            warm_up_ms: length.warm_up_ms,
            time_ms: length.time_ms,
            threshold: args.threshold(metrics[0]),
            fail_on: fail_on.collect(),
            metrics: metrics.clone(),
            aa: args.aa,
        },
        harness_changed,
        layers: comparison::layers(&benches, &metrics),
        outcome: comparison::outcome(args, &plan, &failed, &benches),
        benches,
        added: plan.added,
        removed: plan.removed,
        failed,
        warnings,
    };
    Ok((comparison, out))
}

/// Prints and writes the result; what is not good is an error.
fn conclude(comparison: &Comparison, out: &Path) -> Result<()> {
    report::show(comparison, out)?;
    let code = match comparison.outcome {
        Outcome::Pass => return Ok(()),
        Outcome::Regression => Code::Regression,
        Outcome::Failed => Code::Bench,
        Outcome::TooNoisy => Code::Noisy,
        Outcome::Missing => Code::Missing,
    };
    Err(Failure::error(code, report::conclusion(comparison)))
}

fn revisions(
    args: &BenchCompareArgs,
    repository: &Repository,
    state: &State,
    out: &Path,
) -> Result<(Revision, Revision)> {
    let base = repository.resolve(args.base())?;
    let head = match &args.head {
        _ if args.aa => base.clone(),
        Some(name) => repository.resolve(name)?,
        None => {
            // What this command wrote is no change: with it a resumed run would be of another tree.
            let out = out.canonicalize()?;
            let written = report::FILES.iter().chain([&runs::NAME]);
            let mut excluded: Vec<PathBuf> = written.map(|name| out.join(name)).collect();
            excluded.push(state.target.clone());
            repository.snapshot(&excluded)?
        }
    };
    Ok((base, head))
}

fn nothing(plan: &Plan, base: &Side, head: &Side) -> anyhow::Error {
    let amount = |side: &Side, ids: &[String]| match (side.has_benches, ids.len()) {
        (false, _) => format!("{} has no `{PACKAGE}`", side.label),
        (true, n) => format!("{} has {n} that match", side.label),
    };
    anyhow!(
        "no bench is on both sides: {}, {}; check the names, --layer and --filter",
        amount(base, &plan.removed),
        amount(head, &plan.added)
    )
}

/// Where cargo puts artifacts of the workspace; where it cannot tell, what it was told or its default.
fn target_directory(root: &Path) -> PathBuf {
    let metadata = MetadataCommand::new()
        .current_dir(root)
        .no_deps()
        .other_options(["--offline".to_owned()])
        .exec();
    metadata.map_or_else(
        |_| {
            let told = std::env::var_os("CARGO_TARGET_DIR").filter(|path| !path.is_empty());
            root.join(told.unwrap_or_else(|| "target".into()))
        },
        |metadata| metadata.target_directory.into_std_path_buf(),
    )
}
