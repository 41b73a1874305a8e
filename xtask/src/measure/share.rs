//! Of the instructions of a bench those that are the executor's own, out of callgrind's file.
//!
//! A workload also runs channels, the allocator and the bench itself, which are the same whoever executes it. The
//! executor's own are the lines of its crates and of its task cell; and lines of the standard library that were inlined
//! into a function of these. The format is that of Valgrind's manual, "Callgrind Format Specification".

use std::collections::HashMap;

/// What paths of the sources of executors contain: ours, and the peers'.
const SOURCES: [&str; 12] = [
    "crates/executor/",
    "crates/fork/",
    "crates/local/",
    "crates/park/",
    "crates/queue/",
    "crates/sync/",
    "crates/tasks/",
    "crates/thread/",
    "crates/trace/",
    "/async-executor-",
    "/async-task-",
    "/tokio-1",
];
/// How names of functions of executors begin, after any `<` and `&`.
const NAMES: [&str; 4] = ["terrace_", "async_executor::", "async_task::", "tokio::"];
/// What paths of the standard library contain.
const LIBRARY: &str = "library/";

/// All instructions, and the executor's own.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Share {
    pub(crate) all: u64,
    pub(crate) own: u64,
}

/// Reads a profile. Lines that are not understood are left out.
pub(crate) fn share(profile: &str) -> Share {
    let mut names = Names::default();
    let mut share = Share::default();
    let (mut file, mut function) = (Place::Other, false);
    // The line after `calls=` holds what was called, which is counted where it was spent.
    let mut of_callee = false;
    for line in profile.lines() {
        if let Some((key, value)) = line.split_once('=') {
            match key {
                "fl" | "fi" | "fe" => file = place(names.resolve(Kind::File, value)),
                "fn" => function = is_executors(names.resolve(Kind::Function, value)),
                "cfi" | "cfl" => {
                    names.resolve(Kind::File, value);
                }
                "cfn" => {
                    names.resolve(Kind::Function, value);
                }
                "calls" => of_callee = true,
                _ => {}
            }
            continue;
        }
        if !line.starts_with(|c: char| c.is_ascii_digit() || "+-*".contains(c)) {
            continue;
        }
        let cost = line.split_ascii_whitespace().nth(1);
        let cost = cost.and_then(|cost| cost.parse::<u64>().ok());
        if std::mem::take(&mut of_callee) {
            continue;
        }
        let cost = cost.unwrap_or(0);
        share.all += cost;
        if file == Place::Executor || file == Place::Library && function {
            share.own += cost;
        }
    }
    share
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    Executor,
    Library,
    Other,
}

fn place(path: &str) -> Place {
    if SOURCES.iter().any(|part| path.contains(part)) {
        Place::Executor
    } else if path.contains(LIBRARY) {
        Place::Library
    } else {
        Place::Other
    }
}

fn is_executors(function: &str) -> bool {
    let function = function.trim_start_matches(['<', '&']);
    let benches = function.starts_with("terrace_benches");
    !benches && NAMES.iter().any(|name| function.starts_with(name))
}

/// Names are written out once, `(7) name`, and later called `(7)`.
#[derive(Default)]
struct Names<'p>(HashMap<(Kind, &'p str), &'p str>);

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    File,
    Function,
}

impl<'p> Names<'p> {
    fn resolve(&mut self, kind: Kind, value: &'p str) -> &'p str {
        let numbered = value.strip_prefix('(').and_then(|v| v.split_once(')'));
        let Some((number, name)) = numbered else {
            return value;
        };
        match name.trim_start() {
            "" => self.0.get(&(kind, number)).copied().unwrap_or_default(),
            name => {
                self.0.insert((kind, number), name);
                name
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Share, share};

    #[test]
    fn lines_are_the_executors_or_not() {
        let profile = "\
version: 1
positions: line
events: Ir Dr

fl=(1) somewhere/terrace/crates/local/src/core.rs
fn=(1) terrace_local::core::LocalCore::run
12 5 1
fi=(2) /rustc/0/library/core/src/ptr.rs
+3 7
fi=(3) /registry/async-channel-2.5.0/src/lib.rs
* 100
fe=(1)
calls=3 40
12 1000 20
-1 1
cfi=(4) /registry/async-executor-1.14.1/src/lib.rs
cfn=(2) async_executor::State::run

fl=(4)
fn=(2)
1 20

fl=(2)
fn=(3) <terrace_benches::Gate as core::future::future::Future>::poll
1 300
fn=(4) <&async_task::raw::RawTask<F> as core::clone::Clone>::clone
1 2

totals: 435 1
";
        assert_eq!(
            share(profile),
            Share {
                all: 5 + 7 + 100 + 1 + 20 + 300 + 2,
                own: 5 + 7 + 1 + 20 + 2,
            }
        );
    }

    #[test]
    fn what_is_no_profile_has_none() {
        assert_eq!(share("fn=(1)\nnonsense\n+ x\n"), Share::default());
    }
}
