//! `cargo xtask loom --sweep`: every ordering is a mutant.
//!
//! Each Acquire, Release and AcqRel of the modelled layers, and each fence, is weakened, and some model must fail; or the
//! reviewed list says why none does. There is one build: `terrace_sync` weakens orderings at run time (`atomic/weakened.rs`),
//! named by where they are used. The models have been run before, as they are, and have noted which orderings they come to.
//!
//! A model that passes with many orderings weakened at once passes with each of them: there is nothing more that it could see.
//! So it is run with all that it comes to and that no model has caught yet; where it fails, with each half of them, down to
//! the single ones.

mod sites;

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use comfy_table::Table;
use serde::Deserialize;

use super::{EXHAUSTED, LoomArgs, MOST_SCHEDULES, explore, weakened_limit};
use crate::build::Build;
use crate::models::{Environment, Model, Times, Verdict};
use crate::process::parallel;
use crate::progress::Progress;
use crate::table;
use crate::workspace::Workspace;
use sites::{Order, Site};

/// The reviewed list: the orderings that no model misses, and why.
const LIST: &str = "loom-tests/orderings.toml";
/// How many schedules a model runs in at most.
const SCHEDULES: usize = 20_000;
/// What says to a model where to note the orderings that it comes to.
const RECORD: &str = "TERRACE_SWEEP_RECORD";
/// What says to a model which ordering is weakened.
const WEAKEN: &str = "TERRACE_SWEEP";

/// One row of the list: an access whose ordering may be weakened without a model that fails.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    file: String,
    /// `Type::function`, or `function`.
    function: String,
    /// What is called; from the second call of that name on with `#2`.
    access: String,
    /// `FROM to WEAKER`, after `failure ` where it is the ordering of a failed exchange; or `not reached`.
    weakened: Vec<String>,
    /// Why no model can or need fail.
    reason: String,
}

impl table::Row for Row {
    const NAME: &'static str = "unseen";

    /// What the row says, as [`Job::entry`] has it.
    fn keys(&self) -> Vec<String> {
        let (file, function, access) = (&self.file, &self.function, &self.access);
        let weakened = self.weakened.iter();
        weakened
            .map(|how| format!("{file} {function} {access}, {how}"))
            .collect()
    }

    fn check(&self) -> Result<()> {
        ensure!(
            !self.weakened.is_empty(),
            "{} {}: nothing is weakened",
            self.file,
            self.function
        );
        ensure!(!self.reason.trim().is_empty(), "there is no reason");
        Ok(())
    }
}

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

impl Job {
    /// What the list says of it.
    fn entry(&self) -> String {
        let Site {
            file,
            function,
            access,
            order,
            ..
        } = &self.site;
        let failure = if self.site.place == 0 { "" } else { "failure " };
        let how = self.to.map(|to| format!("{failure}{order} to {to}"));
        format!(
            "{file} {function} {access}, {}",
            how.as_deref().unwrap_or("not reached")
        )
    }

    fn title(&self) -> String {
        format!("line {}: {}", self.site.line, self.entry())
    }
}

#[derive(Clone)]
enum Outcome {
    /// A model failed: which, and what it said.
    Caught(String),
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
    fs_err::create_dir_all(dir)?;
    if file.exists() {
        fs_err::remove_file(&file)?;
    }
    Ok(environment(RECORD, file.display().to_string(), args))
}

/// What a model is told, and in how many schedules it runs at most. The order in which loom tries them is fixed, so that the
/// same is found each time, on any machine.
fn environment(key: &'static str, value: String, args: &LoomArgs) -> Environment {
    // How often loom looks whether it has gone so far.
    let schedules = args.schedules.unwrap_or(SCHEDULES);
    let interval = (schedules / 20).max(1);
    vec![
        (key, value),
        (MOST_SCHEDULES, schedules.to_string()),
        ("LOOM_CHECKPOINT_INTERVAL", interval.to_string()),
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
    let rows: Vec<Row> = table::load(&ws.root, LIST)?;
    let reach = models.iter().map(|model| {
        let noted = fs_err::read_to_string(record(build, model)).unwrap_or_default();
        Reach {
            model,
            time: times.get(&model.title()).copied().unwrap_or_default(),
            orderings: noted.lines().map(str::to_owned).collect(),
        }
    });
    let mut reach: Vec<Reach<'_>> = reach.collect();
    reach.sort_by_key(|r| r.time);
    let reached: Vec<&String> = reach.iter().flat_map(|r| &r.orderings).collect();
    let jobs = jobs(&sites::all(&ws.root, &reached)?, &reach, args);
    ensure!(!jobs.is_empty(), "no ordering matches");
    let start = |job: &Job| job.to.map_or(Outcome::Unreached, |_| Outcome::Survived);
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
    let outcomes = sweep.outcomes().clone();
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
                let Job { site, to } = &self.jobs[*index];
                let comes = to.is_some() && model.orderings.contains(&site.reported());
                comes && *to == site.weaker().get(choice).copied() && !self.is_caught(*index)
            };
            let set: Vec<usize> = (0..self.jobs.len()).filter(open).collect();
            self.try_set(model, &set)?;
        }
        self.progress.step();
        Ok(())
    }

    /// Tries `set` at once, then in halves if the model fails.
    fn try_set(&self, model: &Reach<'_>, set: &[usize]) -> Result<()> {
        let Some(&first) = set.first() else {
            return Ok(());
        };
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
                let entry = self.jobs[first].title();
                self.progress.line(&format!("caught: {entry}"));
                Outcome::Caught(format!("{title}: {how}"))
            }
            Verdict::Failed(how) => Outcome::Error(format!("{title}: {how}")),
            Verdict::Missing => Outcome::Error(format!("there is no test {title}")),
            Verdict::TimedOut => Outcome::Error(format!("{title} does not end")),
        };
        if !self.is_caught(first) {
            self.outcomes()[first] = outcome;
        }
        Ok(())
    }

    fn is_caught(&self, index: usize) -> bool {
        matches!(self.outcomes()[index], Outcome::Caught(_))
    }

    fn outcomes(&self) -> MutexGuard<'_, Vec<Outcome>> {
        let outcomes = self.outcomes.lock();
        outcomes.unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is to be tried: with a filter or a layer, of those sites alone.
fn jobs(all: &[Site], reach: &[Reach<'_>], args: &LoomArgs) -> Vec<Job> {
    let mut jobs = Vec::new();
    for site in all {
        let Site {
            file,
            function,
            access,
            ..
        } = site;
        let name = format!("{file} {function} {access}");
        if !args.chooses(Some(sites::layer(file)), &[&name]) {
            continue;
        }
        let job = |to| Job {
            site: site.clone(),
            to,
        };
        if reach.iter().any(|r| r.orderings.contains(&site.reported())) {
            jobs.extend(site.weaker().iter().map(|to| job(Some(*to))));
        } else {
            jobs.push(job(None));
        }
    }
    jobs
}

/// Prints what came of every ordering; an error unless what survived is what the list says.
fn judge(jobs: &[Job], outcomes: &[Outcome], rows: &[Row], args: &LoomArgs) -> Result<()> {
    let mut table = Table::new();
    table.load_preset(comfy_table::presets::NOTHING);
    table.set_header(["ordering", "", "model and failure, or reason"]);
    let mut wrong = Vec::new();
    let mut counts = BTreeMap::<&str, usize>::new();
    for (job, outcome) in jobs.iter().zip(outcomes) {
        let entry = job.entry();
        let listed = rows
            .iter()
            .find(|row| table::Row::keys(*row).contains(&entry));
        let (word, about, mistake) = match (outcome, listed) {
            (Outcome::Caught(by), None) => ("caught", by.as_str(), ""),
            (Outcome::Survived, Some(row)) => ("listed", row.reason.as_str(), ""),
            (Outcome::Unreached, Some(row)) => ("listed as not reached", row.reason.as_str(), ""),
            (Outcome::Error(why), _) => ("ERROR", why.as_str(), "nothing was learnt"),
            (Outcome::Caught(by), Some(_)) => (
                "STALE",
                by.as_str(),
                "the list has it, and a model catches it",
            ),
            (Outcome::Survived, None) => {
                ("SURVIVED", "", "no model misses it: write one, or list it")
            }
            (Outcome::Unreached, None) => (
                "UNREACHED",
                "",
                "no model comes to it: write one, or list it",
            ),
        };
        *counts.entry(word).or_default() += 1;
        table.add_row([job.title().as_str(), word, about]);
        if !mistake.is_empty() {
            wrong.push(format!("{}: {mistake}", job.title()));
        }
    }
    println!("{table}");
    wrong.extend(strays(jobs, rows, args));
    let counts = counts.iter().map(|(word, count)| format!("{count} {word}"));
    let counts = counts.collect::<Vec<_>>().join(", ");
    println!("loom: {} weakened orderings: {counts}", jobs.len());
    for what in &wrong {
        println!("- {what}");
    }
    ensure!(
        wrong.is_empty(),
        "{} orderings are not accounted for by models or by {LIST}",
        wrong.len()
    );
    Ok(())
}

/// Rows that are about nothing in the source.
fn strays(jobs: &[Job], rows: &[Row], args: &LoomArgs) -> Vec<String> {
    let known: HashSet<String> = jobs.iter().map(Job::entry).collect();
    let is_chosen = |row: &&Row| args.chooses(Some(sites::layer(&row.file)), &[""]);
    let entries = rows.iter().filter(is_chosen).flat_map(table::Row::keys);
    let strays = entries.filter(|entry| !known.contains(entry));
    strays
        .map(|entry| format!("{LIST} lists {entry}: there is no such thing"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::Row;
    use crate::table::mistakes;

    #[test]
    fn rows_say_what_and_why() {
        let of = |rows: &[&str]| {
            mistakes::<Row>("file = \"a.rs\"\nfunction = \"f\"\naccess = \"load\"", rows)
        };
        let good = "weakened = [\"Acquire to Relaxed\"]\nreason = \"a count\"";
        assert_eq!(of(&[good]), "");
        assert!(of(&[good, good]).contains("two rows"));
        assert!(of(&["weakened = []\nreason = \"a count\""]).contains("nothing is weakened"));
        assert!(of(&["weakened = [\"a to b\"]\nreason = \" \""]).contains("no reason"));
    }
}
