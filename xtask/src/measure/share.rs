//! Of the instructions of a bench those that are the executor's own, out of callgrind's file.
//!
//! A workload also runs channels, the allocator and the bench itself, which are the same for all executors. The
//! executor's own are the lines of its crates and of its task cell; and lines of the standard library that were inlined
//! into a function of these. `callgrind_annotate`, which comes with valgrind, reads the file.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::process::said;

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
/// Each file and function on a line of its own.
const ARGS: [&str; 4] = [
    "--threshold=100",
    "--auto=no",
    "--show=Ir",
    "--show-percs=no",
];

/// The executor's own part of a profile's instructions.
pub(crate) fn own(profile: &Path) -> Result<f64> {
    let mut command = Command::new("callgrind_annotate");
    command.args(ARGS).arg(profile).stdin(Stdio::null());
    let listing = said(command).context("callgrind_annotate, which comes with valgrind")?;
    Ok(part(&listing))
}

/// The executor's own part of what `callgrind_annotate` lists, as `1,234  file:function [object]`.
fn part(listing: &str) -> f64 {
    let (mut all, mut own) = (0, 0);
    for line in listing.lines() {
        let Some((cost, place)) = line.trim_start().split_once(' ') else {
            continue;
        };
        let cost = cost.replace(',', "").parse::<u64>();
        let (Ok(cost), Some((file, function))) = (cost, place.trim_start().split_once(':')) else {
            continue;
        };
        all += cost;
        if is_own(file, function) {
            own += cost;
        }
    }
    own as f64 / all as f64
}

fn is_own(file: &str, function: &str) -> bool {
    let function = function.trim_start_matches(['<', '&']);
    let named = NAMES.iter().any(|name| function.starts_with(name));
    let inlined = file.contains(LIBRARY) && named && !function.starts_with("terrace_benches");
    inlined || SOURCES.iter().any(|part| file.contains(part))
}

#[cfg(test)]
mod tests {
    use super::part;

    #[test]
    fn lines_are_the_executors_or_not() {
        let listing = "\
Profile data file 'callgrind.out' (creator: callgrind-3.19.0)
Events shown:     Ir
 1,000  PROGRAM TOTALS
   250  somewhere/terrace/crates/local/src/core.rs:terrace_local::core::LocalCore::run
    50  /rustc/0/library/core/src/ptr.rs:terrace_local::core::LocalCore::run [bench]
   100  /registry/async-executor-1.14.1/src/lib.rs:async_executor::State::run
   100  /rustc/0/library/core/src/clone.rs:<&async_task::raw::RawTask<F> as core::clone::Clone>::clone
   300  /registry/async-channel-2.5.0/src/lib.rs:terrace_local::core::LocalCore::run
   200  /rustc/0/library/core/src/ptr.rs:<terrace_benches::Gate as core::future::future::Future>::poll
";
        assert_eq!(part(listing), 0.5);
        assert!(part("nothing").is_nan());
    }
}
