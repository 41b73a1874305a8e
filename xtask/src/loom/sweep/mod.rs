//! `cargo xtask loom --sweep`: every ordering is a mutant.
//!
//! Each Acquire, Release and AcqRel of the modelled layers, and each fence, is weakened, and some model must fail; or the
//! reviewed list says why none does. There is one build: `terrace_sync` weakens orderings at run time (`atomic/weakened.rs`),
//! named by where they are used. The models have been run before, as they are, and have noted which orderings they come to.
//!
//! A model that passes with many orderings weakened at once passes with each of them: there is nothing more that it could see.
//! So it is run with all that it comes to and that no model has caught yet; where it fails, with each half of them, down to
//! the single ones.

pub(crate) mod list;
pub(crate) mod sites;

use std::collections::HashSet;
use std::sync::Mutex;
use std::time::Duration;

use anyhow::{Result, ensure};

use super::{LoomArgs, MOST_SCHEDULES, verdict, weakened_limit};
use crate::build::Build;
use crate::models::{Environment, Model, Times, Verdict};
use crate::progress::run_parallel;
use crate::workspace::Workspace;
use sites::{Order, Site};

/// How many schedules a model runs in at most.
const SCHEDULES: usize = 60_000;
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

/// One ordering, what takes its place, and what came of it.
struct Job {
    site: Site,
    /// Nothing where no model comes to it.
    to: Option<Order>,
    verdict: Mutex<Verdict>,
}

impl Job {
    fn new(site: &Site, to: Option<Order>) -> Self {
        let (site, verdict) = (site.clone(), Mutex::new(Verdict::Passed));
        Self { site, to, verdict }
    }

    fn verdict(&self) -> Verdict {
        self.verdict.lock().expect("no run panics").clone()
    }

    fn is_caught(&self) -> bool {
        matches!(self.verdict(), Verdict::Failed(_))
    }
}

/// Where a model notes the orderings that it comes to, in its directory of this name.
const NOTES: (&str, &str) = ("sweep-", "orderings");

/// The environment in which `model` notes the orderings that it comes to; what it noted before is removed.
pub(super) fn recording(build: &Build, model: &Model, args: &LoomArgs) -> Result<Environment> {
    let file = model.notes(build, NOTES.0)?.join(NOTES.1);
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

/// Weakens every ordering chosen; the models have been run while [`recording`].
pub(super) fn run(
    ws: &Workspace,
    build: &Build,
    models: &[Model],
    times: &Times,
    args: &LoomArgs,
) -> Result<()> {
    let rows = list::load(&ws.root)?;
    let reach = models.iter().map(|model| {
        let noted = model.noted(build, NOTES.0).join(NOTES.1);
        let noted = fs_err::read_to_string(noted).unwrap_or_default();
        Reach {
            model,
            time: times.get(&model.title()).copied().unwrap_or_default(),
            orderings: noted.lines().map(str::to_owned).collect(),
        }
    });
    let mut reach: Vec<Reach<'_>> = reach.collect();
    reach.sort_by_key(|r| r.time);
    let jobs = jobs(ws, &reach, args)?;
    ensure!(!jobs.is_empty(), "no ordering matches");
    let title = |reach: &Reach<'_>| reach.model.title();
    run_parallel("models with weakened orderings", &reach, title, |reach| {
        reach.try_all(&jobs, args)
    })?;
    list::judge(&jobs, &rows, args)
}

/// What is to be tried: with a filter or a layer, of those sites alone.
fn jobs(ws: &Workspace, reach: &[Reach<'_>], args: &LoomArgs) -> Result<Vec<Job>> {
    let reached: HashSet<&String> = reach.iter().flat_map(|r| &r.orderings).collect();
    let mut jobs = Vec::new();
    for site in sites::all(&ws.root, &reached)? {
        if !args.chooses(Some(sites::layer(&site.file)), &[&site.name()]) {
            continue;
        }
        if reached.contains(&site.reported()) {
            jobs.extend(site.weaker().iter().map(|to| Job::new(&site, Some(*to))));
        } else {
            jobs.push(Job::new(&site, None));
        }
    }
    Ok(jobs)
}

impl Reach<'_> {
    /// Tries all that the model comes to and none has caught.
    fn try_all(&self, jobs: &[Job], args: &LoomArgs) -> Result<String> {
        let (mut tried, mut caught) = (0, 0);
        // What an AcqRel may become are two things, one at a time.
        for choice in 0..2 {
            let open = |job: &&Job| {
                let comes = job.to.is_some() && self.orderings.contains(&job.site.reported());
                comes && job.to == job.site.weaker().get(choice).copied() && !job.is_caught()
            };
            let set: Vec<&Job> = jobs.iter().filter(open).collect();
            self.try_set(&set, args)?;
            tried += set.len();
            caught += set.iter().filter(|job| job.is_caught()).count();
        }
        Ok(format!("{tried} tried, {caught} caught"))
    }

    /// Tries `set` at once, then in halves if the model fails.
    fn try_set(&self, set: &[&Job], args: &LoomArgs) -> Result<()> {
        let [job, others @ ..] = set else {
            return Ok(());
        };
        let weakened = set
            .iter()
            .filter_map(|Job { site, to, .. }| to.map(|to| format!("{}:{to}", site.reported())));
        let env = environment(WEAKEN, weakened.collect::<Vec<_>>().join(","), args);
        let limit = weakened_limit(Some(&self.time));
        let title = self.model.title();
        let verdict = match verdict(&self.model.run(&env, limit)?) {
            Verdict::Passed => return Ok(()),
            _ if !others.is_empty() => {
                let (first, second) = set.split_at(set.len() / 2);
                self.try_set(first, args)?;
                return self.try_set(second, args);
            }
            Verdict::Failed(how) => Verdict::Failed(format!("{title}: {how}")),
            Verdict::Unclear(why) => Verdict::Unclear(format!("{title}: {why}")),
        };
        if !job.is_caught() {
            *job.verdict.lock().expect("no run panics") = verdict;
        }
        Ok(())
    }
}
