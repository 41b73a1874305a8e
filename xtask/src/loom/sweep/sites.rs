//! The orderings in the source of the modelled layers: every access and fence that is stronger than `Relaxed`.
//!
//! A *site* is one ordering of one call. It is named by its file, its function and the call, so that a row of the reviewed
//! list survives a line that moves; it is found again at run time by the line and column of the call, which is what
//! `#[track_caller]` reports. Where a name holds the ordering, the run of a model tells it: such a name is that of a mutant,
//! which has a model that comes to it.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::models::layers;
use crate::source::{Named, Role, Source};
use crate::workspace::rust_files;

/// What passes on the orderings of its callers, or stands in for the machine under a checker.
const PASSING_ON: [&str; 6] = [
    "crates/sync/src/atomic",
    "crates/sync/src/fences.rs",
    "crates/sync/src/fences/full.rs",
    "crates/sync/src/fences/steal.rs",
    "crates/sync/src/fences/system.rs",
    "crates/sync/src/thread/modelled.rs",
];

/// An ordering, and the next weaker ones: whatever sees one of these missing sees more missing, too.
const ORDERS: [(Order, &[Order]); 5] = [
    ("Relaxed", &[]),
    ("Acquire", &["Relaxed"]),
    ("Release", &["Relaxed"]),
    ("AcqRel", &["Acquire", "Release"]),
    ("SeqCst", &["AcqRel"]),
];

/// The name of an ordering.
pub(super) type Order = &'static str;

/// One ordering of one call.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Site {
    /// Relative to the root of the workspace.
    pub(super) file: String,
    pub(super) line: usize,
    column: usize,
    /// 0, or 1 for the ordering of a failed exchange.
    pub(super) place: usize,
    pub(super) order: Order,
    /// `Type::function`, or `function`.
    function: String,
    /// The name of what is called; from the second of a name in a function on `name#2`.
    access: String,
}

/// The calls of the layers by `FILE:LINE:COLUMN`, each as the site of an ordering that is not known yet.
type Calls = HashMap<String, Site>;

impl Site {
    fn with(&self, place: usize, order: Order) -> Self {
        let call = self.clone();
        Self {
            place,
            order,
            ..call
        }
    }

    /// How the list names it.
    pub(super) fn name(&self) -> String {
        format!("{} {} {}", self.file, self.function, self.access)
    }

    /// Where the call is, as a checker's run reports it.
    fn at(&self) -> String {
        format!("{}:{}:{}", self.file, self.line, self.column)
    }

    /// How a checker's run reports it.
    pub(super) fn reported(&self) -> String {
        format!("{}:{}:{}", self.at(), self.place, self.order)
    }

    pub(super) fn weaker(&self) -> &'static [Order] {
        let found = ORDERS.iter().find(|(order, _)| *order == self.order);
        found.map_or(&[], |(_, weaker)| weaker)
    }
}

/// Of a file the layer, as in `cargo xtask loom --layer`.
pub(super) fn layer(file: &str) -> &str {
    let of_scope = file.starts_with("crates/executor/src/protocol/scope/");
    let layer = file.split('/').nth(1).unwrap_or_default();
    if of_scope { "scope" } else { layer }
}

/// The sites of the layers below `root`: those in the source, and those that a run has `reached` where a name holds the
/// ordering.
pub(crate) fn all(root: &Path, reached: &HashSet<&String>) -> Result<BTreeSet<Site>> {
    let (mut sites, mut calls) = (BTreeSet::new(), Calls::new());
    // Scopes lie in the executor's folder.
    for layer in layers::NAMES.iter().filter(|layer| **layer != "scope") {
        let dir = root.join("crates").join(layer).join("src");
        for name in rust_files(root, &dir)? {
            if !passes_on(&name) && !name.ends_with("/tests.rs") {
                let text = fs_err::read_to_string(root.join(&name))?;
                let source = Source::new(&name, &text).with_context(|| name.clone())?;
                sites.extend(of_file(&name, &source, &mut calls));
            }
        }
    }
    for at in reached {
        sites.extend(reached_at(at, &calls)?);
    }
    Ok(sites)
}

/// The sites of one file; its `calls` are added.
fn of_file(file: &str, source: &Source, calls: &mut Calls) -> Vec<Site> {
    let mut numbers = HashMap::new();
    let mut sites = Vec::new();
    for named in source.names.iter().filter(|named| !named.around.apart) {
        if named.role == Role::Call {
            let number = numbers.entry((&named.around.function, named.last()));
            let number: &mut usize = number.and_modify(|number| *number += 1).or_insert(1);
            let call = Site {
                file: file.to_owned(),
                line: named.line,
                column: named.column,
                place: 0,
                order: "Relaxed",
                function: named.around.function.to_string(),
                access: match number {
                    1 => named.last().to_owned(),
                    _ => format!("{}#{number}", named.last()),
                },
            };
            // A fence without an argument.
            if ["light", "heavy"].contains(&named.last()) {
                sites.push(call.with(0, "SeqCst"));
            }
            calls.insert(call.at(), call);
        }
        if let (Some(order), Some((call, argument))) = (mentioned(named), named.around.call) {
            let call = &source.names[call];
            // Where a failed exchange has an ordering of its own.
            let last = if call.last() == "fetch_update" { 1 } else { 3 };
            let call = calls.get(&format!("{file}:{}:{}", call.line, call.column));
            let call = call.filter(|_| order != "Relaxed");
            sites.extend(call.map(|call| call.with(usize::from(argument == last), order)));
        }
    }
    sites
}

/// The ordering that is named here.
fn mentioned(named: &Named) -> Option<Order> {
    match (&named.path[..], &named.role) {
        ([.., name], Role::Macro(_, last)) if name == "ordering" => order(last),
        ([.., of, last], _) if of == "Ordering" => order(last),
        _ => None,
    }
}

fn order(name: &str) -> Option<Order> {
    let mut known = ORDERS.iter().map(|(order, _)| *order);
    known.find(|order| *order == name)
}

fn passes_on(file: &str) -> bool {
    PASSING_ON.iter().any(|passing| file.starts_with(passing))
}

/// The site that a run reports. A lock's orderings are those of the checker's stand-in for it.
fn reached_at(reported: &str, calls: &Calls) -> Result<Option<Site>> {
    let mut parts = reported.rsplitn(3, ':');
    let order = parts.next().and_then(order);
    let order = order.filter(|order| *order != "Relaxed");
    let place = parts.next().and_then(|place| place.parse().ok());
    let at = parts.next();
    let at = at.filter(|at| at.starts_with("crates/") && !passes_on(at));
    let (Some(order), Some(place), Some(at)) = (order, place, at) else {
        return Ok(None);
    };
    let Some(call) = calls.get(at) else {
        // `sync` has a checker's stand-ins: no thread of a program uses their orderings.
        ensure!(
            at.starts_with("crates/sync/"),
            "a model uses an ordering at {at}, where no call is: a function that passes orderings on needs \
             `#[cfg_attr(terrace_loom, track_caller)]`"
        );
        return Ok(None);
    };
    let is_lock = call.access.starts_with("lock") || call.access.starts_with("try_lock");
    Ok((!is_lock).then(|| call.with(place, order)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Calls, of_file, reached_at};
    use crate::source::Source;

    fn found(text: &str, reached: &[&str]) -> Vec<String> {
        let source = Source::new("crates/a.rs", text).expect("it is Rust");
        let mut calls = Calls::new();
        let mut sites = BTreeSet::from_iter(of_file("crates/a.rs", &source, &mut calls));
        for at in reached {
            sites.extend(reached_at(at, &calls).expect("a call is there"));
        }
        let shown = sites.iter().map(|site| {
            let at = (site.line, site.column, site.place);
            format!("{} {} {at:?} {}", site.function, site.access, site.order)
        });
        shown.collect()
    }

    #[test]
    fn accesses_are_found_where_they_are_called() {
        let text = "impl Word {\n    fn look(&self) -> u32 {\n        self.0\n            .load(Ordering::Acquire)\n    }\n}\n\
                    fn f() {\n    a.load(Ordering::Relaxed);\n    a.store(b.swap(1, ordering!(\"y\", AcqRel)), Ordering::Release);\n    \
                    a.store(0, Ordering::Release);\n    x!(\"z\", heavy());\n    a.compare_exchange(0, 1, A, Ordering::Acquire);\n}\n";
        let mut wanted = vec![
            "Word::look load (4, 14, 0) Acquire",
            "f store (9, 7, 0) Release",
            "f swap (9, 15, 0) AcqRel",
            "f store#2 (10, 7, 0) Release",
            "f heavy (11, 13, 0) SeqCst",
            "f compare_exchange (12, 7, 1) Acquire",
        ];
        assert_eq!(found(text, &[]), wanted);
        wanted.insert(5, "f compare_exchange (12, 7, 0) Release");
        let reached = ["crates/a.rs:12:7:0:Release", "crates/a.rs:4:14:0:Acquire"];
        assert_eq!(found(text, &reached), wanted);
    }

    #[test]
    fn tests_and_mutants_are_left_out() {
        let text = "#[cfg(test)]\nmod tests {\n    fn f() {\n        a.load(Ordering::Acquire);\n    }\n}\nfn g() {\n    \
                    if weakened!(\"x\") {\n        a.store(0, Ordering::Release);\n    }\n    a.lock();\n}\n";
        assert_eq!(found(text, &["crates/a.rs:11:7:0:Acquire"]), [""; 0]);
    }
}
