//! Which benches are on both sides, and which of them have to be measured.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use clap::Args;
use regex_lite::Regex;

use super::programs::Built;
use super::sides::{NAMES, Side};
use crate::measure::id::layer;
use crate::measure::rounds::{Entry, Row};
use crate::measure::runs::Kind;

/// What the user wants to see.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct Selection {
    /// Only benches of this layer, the first part of their ids; may be given again
    #[arg(long = "layer", value_name = "LAYER")]
    pub(super) layers: Vec<String>,
    /// Only benches whose id matches
    #[arg(long, value_name = "REGEX")]
    filter: Option<Regex>,
}

impl Selection {
    fn has(&self, id: &str) -> bool {
        (self.layers.is_empty() || self.layers.iter().any(|l| l == layer(id)))
            && self.filter.as_ref().is_none_or(|f| f.is_match(id))
    }
}

/// The benches by the sides they are on.
#[derive(Default)]
pub(super) struct Plan {
    /// Of both sides, and whether all of their programs are the same bytes.
    pub(super) both: BTreeMap<String, bool>,
    pub(super) added: Vec<String>,
    pub(super) removed: Vec<String>,
    /// What is run of both sides, and whether the programs are the same bytes.
    rows: Vec<(Kind, bool, Row)>,
}

impl Plan {
    /// Matches the benches.
    pub(super) fn new(base: &Side, head: &Side, selection: &Selection) -> Result<Self> {
        let (base, mut head) = (list(base, selection)?, list(head, selection)?);
        let mut plan = Self::default();
        for ((kind, id), old) in base {
            let Some(new) = head.remove(&(kind, id.clone())) else {
                plan.removed.push(id);
                continue;
            };
            let identical = old.0.hash == new.0.hash;
            *plan.both.entry(id.clone()).or_insert(true) &= identical;
            let sides = NAMES.into_iter().zip([old, new]);
            let entries =
                sides.map(|(side, (built, call))| Entry::new(side, &call, &built.program));
            let entries = entries.collect();
            plan.rows.push((kind, identical, Row { name: id, entries }));
        }
        plan.added.extend(head.into_keys().map(|(_, id)| id));
        // A bench that is timed on both sides is not missing where it is not counted.
        let timed = plan.rows(Kind::Time, true);
        for list in [&mut plan.added, &mut plan.removed] {
            list.retain(|id| timed.iter().all(|row| row.name != *id));
            list.sort();
            list.dedup();
        }
        Ok(plan)
    }

    /// What has to be run: without `all` only what differs.
    pub(super) fn rows(&self, kind: Kind, all: bool) -> Vec<Row> {
        let rows = self.rows.iter();
        let rows = rows.filter(|(of, identical, _)| *of == kind && (all || !identical));
        rows.map(|(_, _, row)| row.clone()).collect()
    }
}

/// The benches of a side: the program of each, and what that has to be told.
fn list(side: &Side, selection: &Selection) -> Result<BTreeMap<(Kind, String), (Built, String)>> {
    let mut benches = BTreeMap::new();
    for built in &side.programs {
        let program = &built.program;
        let (kind, all) = if program.counts() {
            let all = program.list_counted().with_context(|| side.label.clone())?;
            (Kind::Instructions, all)
        } else {
            let ids = program.list()?.into_iter();
            (Kind::Time, ids.map(|id| (id.clone(), id)).collect())
        };
        for (id, call) in all.into_iter().filter(|(id, _)| selection.has(id)) {
            let old = benches.insert((kind, id.clone()), (built.clone(), call));
            ensure!(
                old.is_none(),
                "{} has two benches called `{id}`; rename one",
                side.label
            );
        }
    }
    Ok(benches)
}

#[cfg(test)]
mod tests {
    use super::{Regex, Selection};

    #[test]
    fn layers_are_whole_first_parts() {
        let selection = Selection {
            layers: vec!["queue".to_owned()],
            filter: Some(Regex::new("ring|inbox").expect("a valid pattern")),
        };
        assert!(selection.has("queue/push/ring/1"));
        assert!(!selection.has("queues/push/ring/1"));
        assert!(!selection.has("queue/push/injector/1"));
        assert!(Selection::default().has("anything"));
    }
}
