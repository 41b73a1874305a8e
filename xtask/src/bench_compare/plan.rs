//! Which benches are on both sides, and which of them have to be measured.

use std::collections::BTreeMap;

use anyhow::Result;
use regex_lite::Regex;

use super::failure::{Code, Failure, OrCode};
use super::instructions::Counted;
use super::sides::Side;
use crate::measure::criterion::Program;

/// What the user wants to see.
#[derive(Clone, Debug, Default)]
pub(super) struct Selection {
    /// First parts of ids; empty: all.
    pub(super) layers: Vec<String>,
    pub(super) filter: Option<Regex>,
}

impl Selection {
    pub(super) fn has(&self, id: &str) -> bool {
        (self.layers.is_empty() || self.layers.iter().any(|l| l == layer(id)))
            && self.filter.as_ref().is_none_or(|f| f.is_match(id))
    }
}

/// A bench of both sides.
#[derive(Clone, Debug)]
pub(super) struct Matched {
    pub(super) id: String,
    pub(super) base: Program,
    pub(super) head: Program,
    /// Whether both programs are the same bytes.
    pub(super) identical: bool,
}

/// A bench of both sides whose instructions are counted.
#[derive(Clone, Debug)]
pub(super) struct MatchedCount {
    pub(super) id: String,
    pub(super) identical: bool,
}

/// The programs of both sides that count instructions.
pub(super) struct Counters {
    pub(super) base: BTreeMap<String, Counted>,
    pub(super) head: BTreeMap<String, Counted>,
}

/// The benches by the sides they are on.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) matched: Vec<Matched>,
    pub(super) counted: Vec<MatchedCount>,
    pub(super) added: Vec<String>,
    pub(super) removed: Vec<String>,
}

/// The layer of a bench: the first part of its id.
pub(super) fn layer(id: &str) -> &str {
    id.split('/').next().unwrap_or(id)
}

/// A bench as one side lists it.
struct Listed {
    program: Program,
    hash: String,
}

impl Plan {
    /// Whether no bench is on both sides.
    pub(super) fn is_empty(&self) -> bool {
        self.matched.is_empty() && self.counted.is_empty()
    }

    /// Matches the benches that are timed.
    ///
    /// # Errors
    ///
    /// If a program cannot list its benches.
    pub(super) fn add_timed(
        &mut self,
        base: &Side,
        head: &Side,
        selection: &Selection,
    ) -> Result<()> {
        let base = list(base, selection)?;
        let mut head = list(head, selection)?;
        for (id, old) in base {
            match head.remove(&id) {
                Some(new) => self.matched.push(Matched {
                    identical: old.hash == new.hash,
                    id,
                    base: old.program,
                    head: new.program,
                }),
                None => self.removed.push(id),
            }
        }
        self.added.extend(head.into_keys());
        Ok(())
    }

    /// Matches the benches whose instructions are counted. One that is timed on both sides is not missing
    /// where it is not counted.
    pub(super) fn add_counted(&mut self, counters: &Counters) {
        let ids = |programs: &BTreeMap<String, Counted>| -> BTreeMap<String, String> {
            let of = |p: &Counted| {
                let hash = p.hash.clone();
                p.ids.clone().into_iter().map(move |id| (id, hash.clone()))
            };
            programs.values().flat_map(of).collect()
        };
        let mut head = ids(&counters.head);
        for (id, hash) in ids(&counters.base) {
            match head.remove(&id) {
                Some(other) => self.counted.push(MatchedCount {
                    id,
                    identical: hash == other,
                }),
                None => self.removed.push(id),
            }
        }
        self.added.extend(head.into_keys());
        for list in [&mut self.added, &mut self.removed] {
            list.retain(|id| self.matched.iter().all(|m| m.id != *id));
            list.sort();
            list.dedup();
        }
    }
}

fn list(side: &Side, selection: &Selection) -> Result<BTreeMap<String, Listed>> {
    let mut benches = BTreeMap::new();
    for built in side.programs.iter().filter(|p| !p.counts_instructions()) {
        let program = Program {
            path: built.path.clone(),
            side: side.label(),
        };
        for id in program.list().or_bench_failure()? {
            if !selection.has(&id) {
                continue;
            }
            let listed = Listed {
                program: program.clone(),
                hash: built.hash.clone(),
            };
            if benches.insert(id.clone(), listed).is_some() {
                return Err(Failure::error(
                    Code::Bench,
                    format!("{} has two benches called `{id}`; rename one", side.label()),
                ));
            }
        }
    }
    Ok(benches)
}

#[cfg(test)]
mod tests {
    use regex_lite::Regex;

    use super::{Selection, layer};

    #[test]
    fn layers_are_whole_first_parts() {
        assert_eq!(layer("queue/push/ring/1"), "queue");
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
