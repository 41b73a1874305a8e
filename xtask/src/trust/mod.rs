//! `cargo xtask trust`: the page about what is proven, and how, out of the sources and of what runs have recorded.

mod counts;
pub(crate) mod record;

use std::path::Path;

use anyhow::Result;

use crate::ci;
use crate::generated::{self, cell};
use crate::loom::readme;
use crate::workspace::Workspace;
use record::{Check, Record};

const PAGE: &str = "docs/trust.md";
const RECORD: &str = "docs/checks.json";
const COMMAND: &str = "cargo xtask trust";

/// A way to find faults.
struct Method {
    name: &'static str,
    finds: &'static str,
    misses: &'static str,
    /// How much of it there is, below this root.
    count: fn(&Path) -> Result<String>,
    /// The part of `cargo xtask ci` that runs it; none, if only the workflow does.
    part: Option<&'static str>,
}

const METHODS: [Method; 17] = [
    Method {
        name: "[models](../loom-tests/README.md), under loom",
        finds: "a lost wake, a race, a leak or a deadlock of one protocol, in every schedule within the bound",
        misses: "what needs more than 2 preemptions, or more than 5 threads",
        count: counts::models,
        part: Some("loom --mutants"),
    },
    Method {
        name: "mutants of the models",
        finds: "a model that looks at nothing: it must fail with its line weakened",
        misses: "a fault that is in no table",
        count: counts::mutants,
        part: Some("loom --mutants"),
    },
    Method {
        name: "sweep of the orderings",
        finds: "an Acquire, Release or fence that no model needs",
        misses: "an ordering outside of the modelled layers",
        count: counts::orderings,
        part: Some("loom --sweep"),
    },
    Method {
        name: "models of the whole scheduler, under shuttle",
        finds: "a stall or a lost task of eight workers, in random schedules; planted faults show that it does",
        misses: "weak memory, and schedules that were not drawn",
        count: counts::shuttle,
        part: Some("shuttle --mutants"),
    },
    Method {
        name: "planted faults",
        finds: "a net with a hole: the model, test or sanitizer of each fault must catch it",
        misses: "a fault that is in no table",
        count: counts::faults,
        part: Some("prove"),
    },
    Method {
        name: "unit and integration tests",
        finds: "a broken promise of one crate",
        misses: "a schedule that the machine did not run",
        count: counts::tests,
        part: Some("test"),
    },
    Method {
        name: "behaviour suite",
        finds: "a kind of executor that behaves unlike the others",
        misses: "a behaviour that all kinds get wrong and that no test names",
        count: counts::behaviours,
        part: Some("test"),
    },
    Method {
        name: "differential programs",
        finds: "a line that a random program prints on a drop-in and not on the stock crate",
        misses: "what no program of a seed does; timing",
        count: counts::programs,
        part: Some("compat"),
    },
    Method {
        name: "published tests",
        finds: "a test of bevy_ecs, zbus, rayon or others that fails on a drop-in alone",
        misses: "what those projects do not test",
        count: counts::suites,
        part: Some("compat"),
    },
    Method {
        name: "soak",
        finds: "a stall, or a future that is lost or dropped twice, in random use of all executors at once",
        misses: "what comes less often than once a run",
        count: counts::soak,
        part: Some("soak --minutes 1"),
    },
    Method {
        name: "ThreadSanitizer",
        finds: "a data race in a schedule that ran, also in the standard library",
        misses: "races of schedules that did not run; a fence is a stronger access there",
        count: counts::tsan,
        part: Some("tsan"),
    },
    Method {
        name: "AddressSanitizer",
        finds: "a use after free, a write out of bounds; leaks in the behaviour suite",
        misses: "races; memory that no test touches",
        count: counts::asan,
        part: Some("asan"),
    },
    Method {
        name: "Miri",
        finds: "undefined behaviour by the rules of the language",
        misses: "most schedules; layers above `thread`",
        count: counts::miri,
        part: None,
    },
    Method {
        name: "other targets, checked",
        finds: "code that does not compile, or warns",
        misses: "what happens when it runs",
        count: counts::targets,
        part: Some("targets"),
    },
    Method {
        name: "other targets, run",
        finds: "a test that fails on another system, or on weak or 32-bit hardware",
        misses: "reorderings that an emulator does not do",
        count: counts::imitated,
        part: Some("targets --run"),
    },
    Method {
        name: "footprint",
        finds: "bytes, dependencies and build time beside the peers'",
        misses: "stacks of threads",
        count: counts::footprint,
        part: Some("footprint"),
    },
    Method {
        name: "self-test of the benchmark comparison",
        finds: "a comparison that misses a planted slowdown, or sees one where there is none",
        misses: "a slowdown below the noise",
        count: counts::comparisons,
        part: Some("bench-compare --self-test"),
    },
];

/// Renews both pages.
pub(crate) fn run(ws: &Workspace) -> Result<()> {
    readme::renew(&ws.root)?;
    renew(ws)
}

/// Renews the page about what is proven.
pub(crate) fn renew(ws: &Workspace) -> Result<()> {
    generated::renew(&ws.root, PAGE, COMMAND, &part(&ws.root)?)
}

/// The generated part.
fn part(root: &Path) -> Result<String> {
    let record = Record::read(&root.join(RECORD))?;
    let mut part =
        "| method | what it can find | what it cannot | how many | where it runs | last run |\n"
            .to_owned();
    part += "|:--|:--|:--|:--|:--|:--|";
    for method in &METHODS {
        let Method {
            name,
            finds,
            misses,
            count,
            part: of,
        } = method;
        let count = count(root)?;
        let (place, last) = match of {
            None => ("the workflow".to_owned(), NOT_RECORDED.to_owned()),
            Some(of) => {
                let place = format!("`{of}`: {}", ci::runs_in(of));
                (
                    place,
                    last(&record, of).map_or(NOT_RECORDED.to_owned(), shown),
                )
            }
        };
        let row = [*name, finds, misses, &count, &place, &last].map(cell);
        part += &format!("\n| {} |", row.join(" | "));
    }
    part += "\n\n## Last runs\n\nEvery part of `cargo xtask ci` that has a record, in [checks.json](checks.json).\n\n";
    part += "| part | last run | what it said at its end |\n|:--|:--|:--|";
    for check in &record.0 {
        let summary = check.summary.as_deref().map(cell).unwrap_or_default();
        part += &format!("\n| `{}` | {} | {summary} |", check.name, shown(check));
    }
    Ok(part)
}

const NOT_RECORDED: &str = "no record";

/// The latest run of a part, in whichever of its forms.
fn last<'r>(record: &'r Record, part: &str) -> Option<&'r Check> {
    let runs = ci::forms(part)
        .into_iter()
        .filter_map(|name| record.of(name));
    runs.max_by_key(|check| check.date.clone())
}

/// When, of what, with which result, and how long.
fn shown(check: &Check) -> String {
    let date: String = check.date.chars().take(10).collect();
    let commit: String = check.commit.chars().take(12).collect();
    let changed = if check.changed { " with changes" } else { "" };
    let result = if check.passed { "passed" } else { "**failed**" };
    format!("{date}, `{commit}`{changed}, {result}, {} s", check.seconds)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{METHODS, PAGE, part};
    use crate::{ci, generated};

    #[test]
    fn the_page_is_that_of_the_sources_and_the_record() {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
        let page = fs_err::read_to_string(root.join(PAGE)).expect("it is there");
        let wanted = part(root).expect("the sources are there");
        let same = generated::part(&page) == Some(wanted.as_str());
        assert!(same, "`cargo xtask trust` renews {PAGE}");
    }

    #[test]
    fn methods_name_parts() {
        for part in METHODS.iter().filter_map(|method| method.part) {
            assert!(ci::names().contains(&part), "{part}");
        }
    }
}
