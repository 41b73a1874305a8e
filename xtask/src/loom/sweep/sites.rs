//! The orderings in the source of the modelled layers: every access and fence that is stronger than `Relaxed`.
//!
//! A *site* is one ordering of one call. It is named by its file, its function and the call, so that a row of the reviewed
//! list survives a line that moves; it is found again at run time by the line and column of the call, which is what
//! `#[track_caller]` reports. Where a name holds the ordering, the run of a model tells it: such a name is that of a mutant,
//! which has a model that comes to it.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use anyhow::{Context, Result};

use crate::source::{Named, Role, Source};

/// The layers that models are made of.
const LAYERS: [&str; 7] = [
    "sync", "queue", "park", "local", "thread", "executor", "fork",
];

/// What passes on the orderings of its callers, or stands in for the machine under a checker.
const PASSING_ON: [&str; 5] = [
    "crates/sync/src/atomic",
    "crates/sync/src/fences.rs",
    "crates/sync/src/fences/full.rs",
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
#[derive(Clone, Debug)]
pub(super) struct Site {
    /// Relative to the root of the workspace.
    pub(super) file: String,
    /// `Type::function`, or `function`.
    pub(super) function: String,
    /// The name of what is called; from the second of a name in a function on `name#2`.
    pub(super) access: String,
    pub(super) line: usize,
    column: usize,
    /// 0, or 1 for the ordering of a failed exchange.
    pub(super) place: usize,
    pub(super) order: Order,
}

impl Site {
    /// How a checker's run reports it.
    pub(super) fn reported(&self) -> String {
        let Self {
            file,
            line,
            column,
            place,
            order,
            ..
        } = self;
        format!("{file}:{line}:{column}:{place}:{order}")
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

/// The sites of the layers below `root`, those that a run has `reached` by another name than that of an ordering too.
pub(super) fn all(root: &Path, reached: &[&String]) -> Result<Vec<Site>> {
    let mut sites = Vec::new();
    let mut calls = HashMap::new();
    for layer in LAYERS {
        let dir = root.join("crates").join(layer).join("src");
        for name in crate::workspace::rust_files(root, &dir)? {
            let passes_on = PASSING_ON.iter().any(|passing| name.starts_with(passing));
            if !passes_on && !name.ends_with("/tests.rs") {
                let text = fs_err::read_to_string(root.join(&name))?;
                let source = Source::new(&name, &text).with_context(|| name.clone())?;
                sites.extend(of_file(&name, &source, &mut calls));
            }
        }
    }
    for at in reached {
        sites.extend(reached_by_name(at, &sites, &calls)?);
    }
    sites.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
    Ok(sites)
}

/// The sites of one file; its `calls` are added by `FILE:LINE:COLUMN`.
fn of_file(name: &str, source: &Source, calls: &mut HashMap<String, Site>) -> Vec<Site> {
    let mut numbers = HashMap::new();
    let mut sites = BTreeMap::new();
    for (index, named) in source.names.iter().enumerate() {
        if named.around.apart {
            continue;
        }
        if named.role == Role::Call {
            let call = call(name, named, &mut numbers);
            // A fence without an argument.
            if ["light", "heavy"].contains(&&**named.path.last().unwrap_or(&call.access)) {
                let order = "SeqCst";
                sites.insert(
                    (index, 0, order),
                    Site {
                        order,
                        ..call.clone()
                    },
                );
            }
            calls.insert(format!("{name}:{}:{}", call.line, call.column), call);
        }
        if let (Some(order), Some((call, argument))) = (mentioned(named), named.around.call) {
            let call = &source.names[call];
            let at = format!("{name}:{}:{}", call.line, call.column);
            let access = call.path.last().map_or("", String::as_str);
            // Where a failed exchange has an ordering of its own.
            let place = usize::from(match access {
                "fetch_update" => argument == 1,
                _ => argument == 3,
            });
            if let Some(call) = calls.get(&at).filter(|_| order != "Relaxed") {
                let site = Site {
                    place,
                    order,
                    ..call.clone()
                };
                sites.insert((index, place, order), site);
            }
        }
    }
    sites.into_values().collect()
}

fn call(file: &str, named: &Named, numbers: &mut HashMap<(String, String), usize>) -> Site {
    let function = named.around.function.to_string();
    let name = named.path.last().cloned().unwrap_or_default();
    let number = numbers.entry((function.clone(), name.clone())).or_insert(0);
    *number += 1;
    let access = if *number == 1 {
        name
    } else {
        format!("{name}#{number}")
    };
    Site {
        file: file.to_owned(),
        function,
        access,
        line: named.line,
        column: named.column,
        place: 0,
        order: "Relaxed",
    }
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

/// The site that a run reports, if it is not among the `known` ones: a name holds its ordering. A lock's orderings are those
/// of the checker's stand-in for it.
fn reached_by_name(
    at: &str,
    known: &[Site],
    calls: &HashMap<String, Site>,
) -> Result<Option<Site>> {
    let mut parts = at.rsplitn(3, ':');
    let order = parts.next().and_then(order).unwrap_or("Relaxed");
    let place = parts.next().and_then(|place| place.parse().ok());
    let place = parts.next().zip(place);
    let is_ours =
        at.starts_with("crates/") && !at.starts_with("crates/sync/") && order != "Relaxed";
    let Some((call, place)) = place.filter(|_| is_ours) else {
        return Ok(None);
    };
    let call = calls.get(call).with_context(|| {
        format!(
            "a model uses an ordering at {at}, where no call is: a function that passes orderings on needs \
             `#[cfg_attr(terrace_loom, track_caller)]`"
        )
    })?;
    let is_lock = ["lock", "try_lock"]
        .iter()
        .any(|lock| call.access.starts_with(lock));
    let is_known = known.iter().any(|site| site.reported() == at);
    Ok((!is_lock && !is_known).then(|| Site {
        place,
        order,
        ..call.clone()
    }))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::{of_file, reached_by_name};
    use crate::source::Source;

    fn found(text: &str, reached: &[&str]) -> Vec<String> {
        let source = Source::new("crates/a.rs", text).expect("it is Rust");
        let mut calls = HashMap::new();
        let mut sites = of_file("crates/a.rs", &source, &mut calls);
        for at in reached {
            sites.extend(reached_by_name(at, &sites, &calls).expect("a call is there"));
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
            "f swap (9, 15, 0) AcqRel",
            "f store (9, 7, 0) Release",
            "f store#2 (10, 7, 0) Release",
            "f heavy (11, 13, 0) SeqCst",
            "f compare_exchange (12, 7, 1) Acquire",
        ];
        assert_eq!(found(text, &[]), wanted);
        wanted.push("f compare_exchange (12, 7, 0) Release");
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
