//! Which benches are on both sides, and which of them have to be measured.

use std::collections::BTreeMap;

use anyhow::Result;
use regex_lite::Regex;

use super::failure::{Code, Failure, OrCode};
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

/// The benches by the sides they are on.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) matched: Vec<Matched>,
    pub(super) added: Vec<String>,
    pub(super) removed: Vec<String>,
}

/// The layer of a bench: the first part of its id.
pub(super) fn layer(id: &str) -> &str {
    id.split('/').next().unwrap_or(id)
}

/// The threads a bench declares by a last part that is or ends in `t<N>`: `queue/steal/ring/64-t2`.
pub(super) fn threads(id: &str) -> Option<usize> {
    let last = id.rsplit('/').next()?;
    let word = last.rsplit(['-', '_', ' ']).next()?;
    word.strip_prefix('t')?.parse().ok()
}

/// A bench as one side lists it.
struct Listed {
    program: Program,
    hash: String,
}

/// Lists both sides and matches them.
///
/// # Errors
///
/// If a program cannot list its benches.
pub(super) fn plan(base: &Side, head: &Side, selection: &Selection) -> Result<Plan> {
    let base = list(base, selection)?;
    let mut head = list(head, selection)?;
    let mut plan = Plan::default();
    for (id, old) in base {
        match head.remove(&id) {
            Some(new) => plan.matched.push(Matched {
                identical: old.hash == new.hash,
                id,
                base: old.program,
                head: new.program,
            }),
            None => plan.removed.push(id),
        }
    }
    plan.added = head.into_keys().collect();
    Ok(plan)
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

    use super::{Selection, layer, threads};

    #[test]
    fn threads_are_declared_by_the_last_part() {
        assert_eq!(threads("executor/spawn/terrace/1000-t4"), Some(4));
        assert_eq!(threads("executor/spawn/terrace/t2"), Some(2));
        assert_eq!(threads("executor/spawn/terrace/t2/10"), None);
        assert_eq!(threads("executor/spawn/terrace/test"), None);
        assert_eq!(threads("executor/spawn/terrace/-t"), None);
    }

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
