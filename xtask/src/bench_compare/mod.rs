//! `cargo xtask bench-compare BASE [HEAD]`: which benches got slower or faster between two trees.
//!
//! The trees are built apart, each in a target directory of its own. Programs that are the same bytes are not
//! timed. All others are run in rounds, both sides of a bench in turn, and judged by the rounds' ratios;
//! `docs/bench-compare.md` says how and why.

mod args;
mod comparison;
mod failure;
mod git;
mod instructions;
mod plan;
mod programs;
mod rounds;
mod runs;
mod seed;
mod self_test;
mod sides;
mod verdict;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use cargo_metadata::MetadataCommand;

use crate::measure::child;
use crate::measure::criterion::Length;
use crate::measure::id;
use crate::measure::machine;
use crate::report;
use crate::report::model::{Comparison, Metric, Outcome, Verdict};
pub(crate) use args::BenchCompareArgs;
use comparison::{Parts, counts};
use failure::Code;
pub(crate) use failure::Failure;
use git::{Repository, Revision};
use plan::{Counters, Plan, Selection};
use programs::Wanted;
use rounds::Effort;
use runs::{Runs, Subject};
use sides::{PACKAGE, Side, State, Which};

/// Raised when a line of `runs.jsonl` means something else than before.
const RUNS_SCHEMA: u32 = 1;

/// Compares the two sides in the repository around the current directory, and prints and writes the result.
///
/// # Errors
///
/// A [`Failure`] with an exit code, for a regression too.
pub(crate) fn run(args: &BenchCompareArgs) -> Result<()> {
    if args.self_test {
        return self_test::run();
    }
    child::catch_interrupts()?;
    compare(args)
        .and_then(|(comparison, out)| conclude(args, &comparison, &out))
        .map_err(failure::finished)
}

fn compare(args: &BenchCompareArgs) -> Result<(Comparison, PathBuf)> {
    let here = std::env::current_dir().context("there is no current directory")?;
    let worktree = Repository::find(&here)?;
    let target = target_directory(&worktree.root);
    if target.to_str().is_none() {
        return Err(Failure::usage(format!(
            "cargo cannot build below a path that is not Unicode; set CARGO_TARGET_DIR to another place than {target:?}"
        )));
    }
    let state = State::lock(&target)?;
    let out = args.out.clone().unwrap_or_else(|| state.dir.join("report"));
    // Found out now rather than after the builds.
    std::fs::create_dir_all(&out)
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
        layers: args.layers.clone(),
        timed: metrics.iter().any(|m| *m != Metric::Instr),
        counted: metrics.contains(&Metric::Instr),
    };
    let prepare = |which, revision, args: &[String]| {
        sides::prepare(&state, &repository, which, revision, args, &wanted)
    };
    let base = prepare(Which::Base, base, &args.base_arg)?;
    let head = if args.aa {
        as_head(&base, base.revision.clone(), &args.base_arg)
    } else {
        prepare(Which::Head, head, &args.head_arg)?
    };
    let selection = Selection {
        layers: args.layers.clone(),
        filter: args.filter.clone(),
    };
    let mut plan = Plan::default();
    if wanted.timed {
        plan.add_timed(&base, &head, &selection)?;
    }
    let counters = if wanted.counted {
        let target = state.target();
        let counters = Counters {
            base: instructions::programs(target, &repository, &base, &selection)?,
            head: instructions::programs(target, &repository, &head, &selection)?,
        };
        plan.add_counted(&counters);
        Some(counters)
    } else {
        None
    };
    if plan.is_empty() {
        return Err(nothing(&plan, &base, &head));
    }
    let length = Length::of_millis(args.time_ms());
    let subject = Subject {
        schema: RUNS_SCHEMA,
        base: base.key.clone(),
        head: head.key.clone(),
        aa: args.aa,
        length,
    };
    let mut runs = Runs::open(&out, &subject, args.resume)?;
    if runs.resumed > 0 {
        eprintln!("{} runs are taken over", runs.resumed);
    }
    let machine = machine::machine();
    let timed: Vec<_> = plan
        .matched
        .iter()
        .filter(|bench| args.aa || !bench.identical)
        .collect();
    let effort = Effort {
        rounds: args.rounds(),
        budget: args.budget().map(|minutes| minutes * 60.0),
        length,
    };
    let mut failed = if timed.is_empty() {
        Vec::new()
    } else {
        rounds::measure(
            &timed,
            effort,
            &state.dir.join("home"),
            &mut runs,
            |runs, id, rounds| {
                id::is_gated(id, machine.cores) && comparison::is_undecided(args, runs, id, rounds)
            },
        )?
    };
    if let Some(counters) = &counters {
        failed.extend(instructions::measure(counters, args.aa, &mut runs)?);
    }
    let parts = Parts {
        args,
        base: &base,
        head: &head,
        plan: &plan,
        runs: &runs,
        failed,
        length,
        machine,
        harness_changed,
        warnings,
    };
    Ok((parts.compare(), out))
}

/// Prints and writes the result; what is not good is an error.
fn conclude(args: &BenchCompareArgs, comparison: &Comparison, out: &Path) -> Result<()> {
    let written = report::write_all(comparison, out)?;
    print!("{}", report::table(comparison));
    for path in written {
        println!("wrote {}", path.display());
    }
    let ids = |verdict| {
        let benches = comparison
            .benches
            .iter()
            .filter(|b| counts(args, b, verdict));
        list(benches.map(|b| b.id.as_str()))
    };
    let (code, message) = match comparison.outcome {
        Outcome::Pass => return Ok(()),
        Outcome::Regression => (
            Code::Regression,
            format!("slower: {}", ids(Verdict::Slower)),
        ),
        Outcome::Failed => {
            let failed = list(comparison.failed.iter().map(|f| f.id.as_str()));
            let message =
                format!("failed, see above: {failed}; `--resume` runs only what is missing");
            (Code::Bench, message)
        }
        Outcome::TooNoisy => {
            let unstable = ids(Verdict::Unstable);
            let message = format!("too noisy to say: {unstable}; more --rounds or --time may help");
            (Code::Noisy, message)
        }
        Outcome::Missing => {
            let missing = comparison.added.iter().chain(&comparison.removed);
            let missing = list(missing.map(String::as_str));
            (Code::Missing, format!("on one side only: {missing}"))
        }
        Outcome::Interrupted => (Code::Interrupted, "interrupted".to_owned()),
    };
    Err(Failure::error(code, message))
}

/// The first few of them.
fn list<'a>(ids: impl Iterator<Item = &'a str>) -> String {
    const SHOWN: usize = 5;
    let ids: Vec<&str> = ids.collect();
    let mut text = ids[..ids.len().min(SHOWN)].join(", ");
    if ids.len() > SHOWN {
        text += &format!(" and {} more", ids.len() - SHOWN);
    }
    text
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
            let target = state.target();
            // What this command wrote is no change: with it a resumed run would be of another tree.
            let out = out.canonicalize()?;
            let written = report::FILES.iter().chain([&runs::NAME]);
            let mut excluded: Vec<PathBuf> = written.map(|name| out.join(name)).collect();
            excluded.push(target.to_owned());
            repository.snapshot(&excluded)?
        }
    };
    Ok((base, head))
}

fn as_head(base: &Side, revision: Revision, args: &[String]) -> Side {
    Side {
        which: Which::Head,
        revision,
        args: args.to_vec(),
        ..base.clone()
    }
}

fn nothing(plan: &Plan, base: &Side, head: &Side) -> anyhow::Error {
    let amount = |side: &Side, ids: &[String]| match (side.has_benches, ids.len()) {
        (false, _) => format!("{} has no `{PACKAGE}`", side.label()),
        (true, n) => format!("{} has {n} that match", side.label()),
    };
    Failure::usage(format!(
        "no bench is on both sides: {}, {}; check the names, --layer and --filter",
        amount(base, &plan.removed),
        amount(head, &plan.added)
    ))
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
