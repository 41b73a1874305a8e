//! The reviewed list of the orderings that no model misses, and what a sweep has found beside it.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use anyhow::{Result, ensure};
use serde::Deserialize;

use super::{Job, sites};
use crate::loom::LoomArgs;
use crate::models::Verdict;
use crate::table;

const LIST: &str = "loom-tests/orderings.toml";

/// How a row says that no model comes to the access.
const NOT_REACHED: &str = "not reached";

/// One row of the list: an access whose ordering may be weakened without a model that fails.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    pub(crate) file: String,
    /// `Type::function`, or `function`.
    pub(crate) function: String,
    /// What is called; from the second call of that name on with `#2`.
    pub(crate) access: String,
    /// `FROM to WEAKER`, after `failure ` where it is the ordering of a failed exchange; or `not reached`.
    pub(crate) weakened: Vec<String>,
    /// Why no model can or need fail.
    pub(crate) reason: String,
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

impl Row {
    pub(crate) fn is_not_reached(&self) -> bool {
        self.weakened.iter().any(|how| how == NOT_REACHED)
    }
}

pub(crate) fn load(root: &Path) -> Result<Vec<Row>> {
    table::load(root, LIST)
}

/// What the list says of a job.
fn entry(Job { site, to, .. }: &Job) -> String {
    let failure = if site.place == 0 { "" } else { "failure " };
    let how = to.map(|to| format!("{failure}{} to {to}", site.order));
    let how = how.as_deref().unwrap_or(NOT_REACHED);
    format!("{}, {how}", site.name())
}

/// Prints what came of every ordering; an error unless what survived is what the list says.
pub(super) fn judge(jobs: &[Job], rows: &[Row], args: &LoomArgs) -> Result<()> {
    let entries = rows.iter().flat_map(|row| {
        let entries = table::Row::keys(row).into_iter();
        entries.map(move |entry| (entry, row))
    });
    let listed: BTreeMap<String, &Row> = entries.collect();
    let mut wrong = Vec::new();
    for job in jobs {
        let (entry, line) = (entry(job), job.site.line);
        match (job.verdict(), listed.get(&entry)) {
            (Verdict::Failed(by), None) => println!("caught: line {line}: {entry}: {by}"),
            (Verdict::Passed, Some(row)) => {
                println!("listed: line {line}: {entry}: {}", row.reason);
            }
            (Verdict::Failed(by), Some(_)) => {
                wrong.push(format!("{entry} is listed, and a model catches it: {by}"));
            }
            (Verdict::Passed, None) => {
                let what = format!("line {line}: {entry}: no model misses it");
                wrong.push(format!("{what}: write one, or list it"));
            }
            (Verdict::Unclear(why), _) => wrong.push(format!("{entry}: nothing is learnt: {why}")),
        }
    }
    let known: HashSet<String> = jobs.iter().map(entry).collect();
    for (entry, row) in &listed {
        if args.chooses(Some(sites::layer(&row.file)), &[""]) && !known.contains(entry) {
            wrong.push(format!("{LIST} lists {entry}: there is no such thing"));
        }
    }
    for what in &wrong {
        println!("- {what}");
    }
    let (all, wrong) = (jobs.len(), wrong.len());
    println!("loom: {all} weakened orderings, {wrong} mistakes");
    ensure!(
        wrong == 0,
        "models and {LIST} do not account for {wrong} orderings"
    );
    Ok(())
}
