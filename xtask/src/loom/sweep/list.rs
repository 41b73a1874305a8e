//! The reviewed list of the orderings that no model misses, and what a sweep has found beside it.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use anyhow::{Result, ensure};
use serde::Deserialize;

use super::{Job, sites};
use crate::loom::LoomArgs;
use crate::planted::Outcome;
use crate::table;

const LIST: &str = "loom-tests/orderings.toml";

/// One row of the list: an access whose ordering may be weakened without a model that fails.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Row {
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

    /// What the row says, as [`entry`] has it.
    fn keys(&self) -> Vec<String> {
        let (file, function, access) = (&self.file, &self.function, &self.access);
        let weakened = self.weakened.iter();
        weakened
            .map(|how| format!("{file} {function} {access}, {how}"))
            .collect()
    }

    fn check(&self) -> Result<()> {
        ensure!(!self.weakened.is_empty(), "a row weakens nothing");
        ensure!(!self.reason.trim().is_empty(), "there is no reason");
        Ok(())
    }
}

pub(super) fn load(root: &Path) -> Result<Vec<Row>> {
    table::load(root, LIST)
}

/// What the list says of a job.
fn entry(Job { site, to, .. }: &Job) -> String {
    let failure = if site.place == 0 { "" } else { "failure " };
    let how = to.map(|to| format!("{failure}{} to {to}", site.order));
    format!(
        "{}, {}",
        site.name(),
        how.as_deref().unwrap_or("not reached")
    )
}

pub(super) fn title(job: &Job) -> String {
    format!("line {}: {}", job.site.line, entry(job))
}

/// Prints what came of every ordering; an error unless what survived is what the list says.
pub(super) fn judge(jobs: &[Job], rows: &[Row], args: &LoomArgs) -> Result<()> {
    let rows = rows.iter().flat_map(|row| {
        let entries = table::Row::keys(row).into_iter();
        entries.map(move |entry| (entry, row))
    });
    let rows: BTreeMap<String, &Row> = rows.collect();
    let mut wrong = Vec::new();
    let mut counts = BTreeMap::<&str, usize>::new();
    for job in jobs {
        let reason = rows.get(&entry(job)).map(|row| &row.reason);
        let (word, about, mistake) = match (job.outcome(), reason) {
            (Outcome::Caught(by), None) => ("caught", by, ""),
            (Outcome::Missed, Some(reason)) => ("listed", reason.clone(), ""),
            (Outcome::Error(why), _) => ("ERROR", why, "nothing was learnt"),
            (Outcome::Caught(by), Some(_)) => {
                ("STALE", by, "the list has it, and a model catches it")
            }
            (Outcome::Missed, None) => (
                "SURVIVED",
                String::new(),
                "no model misses it: write one, or list it",
            ),
        };
        *counts.entry(word).or_default() += 1;
        println!("{word:9} {}: {about}", title(job));
        if !mistake.is_empty() {
            wrong.push(format!("{}: {mistake}", title(job)));
        }
    }
    let known: HashSet<String> = jobs.iter().map(entry).collect();
    for (entry, row) in &rows {
        if args.chooses(Some(sites::layer(&row.file)), &[""]) && !known.contains(entry) {
            wrong.push(format!("{LIST} lists {entry}: there is no such thing"));
        }
    }
    let counts = counts.iter().map(|(word, count)| format!("{count} {word}"));
    let counts = counts.collect::<Vec<_>>().join(", ");
    println!("loom: {} weakened orderings: {counts}", jobs.len());
    for what in &wrong {
        println!("- {what}");
    }
    let wrong = wrong.len();
    ensure!(
        wrong == 0,
        "{wrong} orderings are not accounted for by models or by {LIST}"
    );
    Ok(())
}
