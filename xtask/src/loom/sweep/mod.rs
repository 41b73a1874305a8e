//! `cargo xtask loom --sweep`: every ordering is a mutant.
//!
//! Each Acquire, Release and AcqRel of the modelled layers, and each fence, is weakened, and some model must fail; or the
//! reviewed list says why none does. There is one build: `terrace_sync` weakens orderings at run time (`atomic/weakened.rs`),
//! named by where they are used. The models have been run before, as they are, and have noted which orderings they come to.
//!
//! A model that passes with many orderings weakened at once passes with each of them: there is nothing more that it could see.
//! So it is run with all that it comes to and that no model has caught yet; where it fails, with each half of them, down to
//! the single ones.

mod list;
mod order;
mod reader;
mod sites;

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use comfy_table::Table;

use super::{EXHAUSTED, LoomArgs, explore, weakened_limit};
use crate::build::Build;
use crate::models::{Environment, Model, Times, Verdict};
use crate::process::parallel;
use crate::progress::Progress;
use crate::workspace::Workspace;
use list::{LIST, Row, UNREACHED};
use order::Order;
use sites::Site;

/// What says to a model where to note the orderings that it comes to.
const RECORD: &str = "TERRACE_SWEEP_RECORD";
/// What says to a model which ordering is weakened.
const WEAKEN: &str = "TERRACE_SWEEP";

/// A model, how long it takes, and the orderings that it comes to.
struct Reach<'m> {
    model: &'m Model,
    time: Duration,
    orderings: HashSet<String>,
}

/// One ordering and what takes its place; nothing where no model comes to it.
struct Job {
    site: Site,
    to: Option<Order>,
}

#[derive(Clone)]
enum Outcome {
    /// A model failed: which, and what it said.
    Caught(String, String),
    /// Every model that comes to it passes.
    Survived,
    /// No model comes to it.
    Unreached,
    /// A model told neither, and none caught it.
    Error(String),
}

/// The environment in which `model` notes the orderings that it comes to; what it noted before is removed.
pub(super) fn recording(build: &Build, model: &Model, args: &LoomArgs) -> Result<Environment> {
    let file = record(build, model);
    let dir = file.parent().context("a file in a directory")?;
    std::fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
    if file.exists() {
        std::fs::remove_file(&file)?;
    }
    Ok(environment(RECORD, file.display().to_string(), args))
}

/// What a model is told, and in how many schedules it runs at most. The order in which loom tries them is fixed, so that the
/// same is found each time, on any machine.
fn environment(key: &'static str, value: String, args: &LoomArgs) -> Environment {
    vec![
        (key, value),
        ("LOOM_MAX_PERMUTATIONS", args.schedules.to_string()),
        // How often loom looks whether it has gone so far.
        (
            "LOOM_CHECKPOINT_INTERVAL",
            (args.schedules / 20).max(1).to_string(),
        ),
    ]
}

fn record(build: &Build, model: &Model) -> PathBuf {
    let name = model.title().replace("::", "-");
    build.target().join("sweep").join(name)
}

/// Weakens every ordering chosen; the models have been run while [`recording`].
pub(super) fn run(
    ws: &Workspace,
    build: &Build,
    models: &[Model],
    times: &Times,
    args: &LoomArgs,
) -> Result<()> {
    let all = sites::all(&ws.root)?;
    let rows = list::load(&ws.root)?;
    let mut reach = Vec::new();
    for model in models {
        let noted = std::fs::read_to_string(record(build, model)).unwrap_or_default();
        reach.push(Reach {
            model,
            time: times.get(&model.title()).copied().unwrap_or_default(),
            orderings: noted.lines().map(str::to_owned).collect(),
        });
    }
    reach.sort_by_key(|r| r.time);
    understood(ws, &all, &reach)?;
    let jobs = jobs(&all, &reach, args);
    ensure!(!jobs.is_empty(), "no ordering matches");

    let start = |job: &Job| match job.to {
        Some(_) => Outcome::Survived,
        None => Outcome::Unreached,
    };
    let sweep = Sweep {
        outcomes: Mutex::new(jobs.iter().map(start).collect()),
        jobs: &jobs,
        progress: Progress::new("models with weakened orderings", reach.len()),
        args,
    };
    for result in parallel(&reach, |model| sweep.try_all(model)) {
        result?;
    }
    sweep.progress.finish();
    let outcomes = sweep.outcomes.into_inner();
    let outcomes = outcomes.unwrap_or_else(PoisonError::into_inner);
    judge(&jobs, &outcomes, &rows, args)
}

/// What is known so far.
struct Sweep<'s> {
    jobs: &'s [Job],
    outcomes: Mutex<Vec<Outcome>>,
    progress: Progress,
    args: &'s LoomArgs,
}

impl Sweep<'_> {
    /// Tries all that `model` comes to and none has caught.
    fn try_all(&self, model: &Reach<'_>) -> Result<()> {
        self.progress.at(&model.model.title());
        // What an AcqRel may become are two things, one at a time.
        for choice in 0..2 {
            let open = |index: &usize| {
                let job = &self.jobs[*index];
                let to = job.site.order.weaker().get(choice).copied();
                let comes = model.orderings.contains(&job.site.reported());
                comes && job.to.is_some() && job.to == to && !self.is_caught(*index)
            };
            let set: Vec<usize> = (0..self.jobs.len()).filter(open).collect();
            self.try_set(model, &set)?;
        }
        self.progress.step();
        Ok(())
    }

    /// Tries `set` at once, then in halves if the model fails.
    fn try_set(&self, model: &Reach<'_>, set: &[usize]) -> Result<()> {
        if set.is_empty() {
            return Ok(());
        }
        let weakened = |index: &usize| {
            let Job { site, to } = &self.jobs[*index];
            to.map(|to| format!("{}:{to}", site.reported()))
        };
        let weakened: Vec<String> = set.iter().filter_map(weakened).collect();
        let env = environment(WEAKEN, weakened.join(","), self.args);
        let limit = weakened_limit(Some(&model.time));
        let title = model.model.title();
        let (verdict, _) = explore(model.model, self.args.preemptions, limit, env)?;
        let outcome = match verdict {
            Verdict::Passed => return Ok(()),
            _ if set.len() > 1 => {
                let (first, second) = set.split_at(set.len() / 2);
                self.try_set(model, first)?;
                return self.try_set(model, second);
            }
            Verdict::Failed(how) if !how.starts_with(EXHAUSTED) => {
                self.progress
                    .line(&format!("caught: {}", self.jobs[set[0]].title()));
                Outcome::Caught(title, how)
            }
            Verdict::Failed(how) => Outcome::Error(format!("{title}: {how}")),
            Verdict::Missing => Outcome::Error(format!("there is no test {title}")),
            Verdict::TimedOut => Outcome::Error(format!("{title} does not end")),
        };
        if !self.is_caught(set[0]) {
            self.outcomes()[set[0]] = outcome;
        }
        Ok(())
    }

    fn is_caught(&self, index: usize) -> bool {
        matches!(self.outcomes()[index], Outcome::Caught(..))
    }

    fn outcomes(&self) -> MutexGuard<'_, Vec<Outcome>> {
        let outcomes = self.outcomes.lock();
        outcomes.unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether every ordering that a model used is one that was found in the source.
fn understood(ws: &Workspace, all: &[Site], reach: &[Reach<'_>]) -> Result<()> {
    let known: HashSet<String> = all.iter().map(Site::reported).collect();
    let reached = reach.iter().flat_map(|r| &r.orderings);
    let strange = reached
        .filter(|o| {
            o.starts_with("crates/") && !o.starts_with("crates/sync/") && !o.ends_with(":Relaxed")
        })
        .find(|o| !known.contains(*o) && !is_lock(ws, o));
    ensure!(
        strange.is_none(),
        "a model uses an ordering at {} that is not found in the source there: a function that passes orderings on needs \
         `#[cfg_attr(terrace_loom, track_caller)]`",
        strange.map_or("", String::as_str)
    );
    Ok(())
}

/// Whether what is called there is a lock, whose orderings are those of the checker's stand-in for it.
fn is_lock(ws: &Workspace, reported: &str) -> bool {
    let mut words = reported.split(':');
    let (Some(file), Some(line), Some(column)) = (words.next(), words.next(), words.next()) else {
        return false;
    };
    let text = std::fs::read_to_string(ws.root.join(file)).unwrap_or_default();
    let line = line
        .parse()
        .ok()
        .and_then(|n: usize| text.lines().nth(n - 1));
    let call = column.parse().ok().and_then(|n: usize| line?.get(n - 1..));
    call.is_some_and(|call| ["lock(", "try_lock("].iter().any(|l| call.starts_with(l)))
}

/// What is to be tried: with a filter or a layer, of those sites alone.
fn jobs(all: &[Site], reach: &[Reach<'_>], args: &LoomArgs) -> Vec<Job> {
    let mut jobs = Vec::new();
    for site in all.iter().filter(|site| chosen(site, args)) {
        let job = |to| Job {
            site: site.clone(),
            to,
        };
        if reach.iter().any(|r| r.orderings.contains(&site.reported())) {
            jobs.extend(site.order.weaker().iter().map(|to| job(Some(*to))));
        } else {
            jobs.push(job(None));
        }
    }
    jobs
}

fn chosen(site: &Site, args: &LoomArgs) -> bool {
    args.chooses(
        Some(site.layer()),
        &[&format!("{} {} {}", site.file, site.function, site.access)],
    )
}

/// Prints what came of every ordering; an error unless what survived is what the list says.
fn judge(jobs: &[Job], outcomes: &[Outcome], rows: &[Row], args: &LoomArgs) -> Result<()> {
    let mut table = Table::new();
    table.load_preset(comfy_table::presets::NOTHING);
    table.set_header(["ordering", "", "model, or reason", "how"]);
    let mut wrong = Vec::new();
    let mut counts = [0; 3];
    for (job, outcome) in jobs.iter().zip(outcomes) {
        let listed = rows.iter().find(|row| row.says(&job.site, &job.entry()));
        let title = job.title();
        let cells = match (outcome, listed) {
            (Outcome::Caught(model, how), None) => {
                counts[0] += 1;
                ["caught", model, how]
            }
            (Outcome::Survived, Some(row)) => {
                counts[1] += 1;
                ["listed", &row.reason, ""]
            }
            (Outcome::Unreached, Some(row)) => {
                counts[2] += 1;
                ["not reached", &row.reason, ""]
            }
            (Outcome::Error(why), _) => {
                wrong.push(format!("nothing was learnt about {title}: {why}"));
                ["ERROR", why, ""]
            }
            (Outcome::Caught(model, how), Some(_)) => {
                wrong.push(format!(
                    "{LIST} says that no model misses {title}, and {model} does"
                ));
                ["STALE", model, how]
            }
            (Outcome::Survived, None) => {
                wrong.push(format!(
                    "no model misses {title}: write one, or list it in {LIST}"
                ));
                ["SURVIVED", "", ""]
            }
            (Outcome::Unreached, None) => {
                wrong.push(format!(
                    "no model comes to {title}: write one, or list it in {LIST}"
                ));
                ["UNREACHED", "", ""]
            }
        };
        table.add_row([title.as_str(), cells[0], cells[1], cells[2]]);
    }
    println!("{table}");
    wrong.extend(strays(jobs, rows, args));
    let [caught, listed, unreached] = counts;
    println!(
        "loom: {} weakened orderings: {caught} caught, {listed} listed, {unreached} listed as not reached",
        jobs.len()
    );
    for what in &wrong {
        println!("- {what}");
    }
    ensure!(
        wrong.is_empty(),
        "{} orderings are not accounted for",
        wrong.len()
    );
    Ok(())
}

/// Rows that are about nothing in the source.
fn strays(jobs: &[Job], rows: &[Row], args: &LoomArgs) -> Vec<String> {
    if args.filter.is_some() {
        return Vec::new();
    }
    let layer_of = |row: &Row| {
        let of_scope = row.file.starts_with("crates/executor/src/protocol/scope/");
        let layer = row.file.split('/').nth(1).unwrap_or_default();
        if of_scope {
            "scope".to_owned()
        } else {
            layer.to_owned()
        }
    };
    let mut strays = Vec::new();
    for row in rows
        .iter()
        .filter(|row| args.layer.as_ref().is_none_or(|l| *l == layer_of(row)))
    {
        for entry in &row.weakened {
            if !jobs
                .iter()
                .any(|job| row.is_of(&job.site) && *entry == job.entry())
            {
                let Row {
                    file,
                    function,
                    access,
                    ..
                } = row;
                strays.push(format!(
                    "{LIST} lists {file} {function} {access}, {entry}: there is no such thing"
                ));
            }
        }
    }
    strays
}

impl Job {
    fn entry(&self) -> String {
        self.to
            .map_or(UNREACHED.to_owned(), |to| list::entry(&self.site, to))
    }

    fn title(&self) -> String {
        let Site {
            file,
            function,
            access,
            line,
            ..
        } = &self.site;
        let what = match self.to {
            Some(_) => self.entry(),
            None => self.site.order.to_string(),
        };
        format!("{file}:{line} {function} {access}, {what}")
    }
}
