//! `cargo xtask test`: the tests of the workspace in each build they mean something in.

use std::time::Duration;

use anyhow::Result;
use clap::Args;

use crate::build::{Build, words};
use crate::features;
use crate::process::run_limited;
use crate::progress::run_parallel;
use crate::workspace::Workspace;

/// What takes longer hangs.
const LIMIT: Duration = Duration::from_secs(3_600);

/// Unit and integration tests; the others are documentation, which one build has to run.
const TESTS: [&str; 2] = ["--lib", "--tests"];

/// Layers that have thread-locals of their own, and those above them, whose tests take minutes to build.
const KEYED: [&str; 6] = [
    "-p",
    "terrace-sync",
    "-p",
    "terrace-local",
    "-p",
    "terrace-thread",
];
const KEYED_ABOVE: [&str; 4] = ["-p", "terrace-executor", "-p", "terrace-fork"];

/// A build whose thread-locals are as on Windows with GNU's tools, on Android and on OpenBSD.
pub(crate) fn keyed(ws: &Workspace) -> Build {
    Build::special(ws, "keyed", "--cfg terrace_keyed_tls")
}

/// One command has them all: with fewer packages, cargo would choose other features.
const DOCUMENTATION: &str = "test --quiet --doc --workspace --exclude xtask";
/// The programs of the book need all features of the umbrella.
const BOOK: &str = "test --quiet --doc --all-features -p terrace";

#[derive(Args)]
pub(crate) struct TestArgs {
    /// Only the debug build with the default features, without the tests that have `bench-compare` build repositories
    #[arg(long)]
    debug: bool,
}

/// Unit and integration tests with default features, in debug.
const MOST: &str = "test --workspace --exclude xtask --lib --bins --examples --tests";

/// What mostly takes one processor or none: tests wait for threads, the compiler goes through the documentation tests of a package on one
/// thread, and the tests of xtask are one large program. The first is built before, as its build takes all processors.
fn side_by_side(ws: &Workspace, args: &TestArgs) -> Result<()> {
    let rest = match args.debug {
        true => "test --quiet -p xtask --bins",
        false => "test --quiet -p xtask",
    };
    let plain = Build::plain(ws);
    let jobs = [MOST, DOCUMENTATION, rest, BOOK];
    run_parallel(
        "tests",
        &jobs,
        |words| (*words).to_owned(),
        |line| {
            let finished = run_limited(plain.command(&words(line, [])), LIMIT)?;
            finished.passed()?;
            // The command prints the names of this job's tests at the end of the job, as the other jobs print while it runs.
            print!("{}", finished.output);
            Ok("passed".to_owned())
        },
    )?;
    Ok(())
}

/// Runs all tests in debug (with documentation tests); those of the layers in release with every
/// feature, in debug with none and with every one, and optimised with counted atomics. Those of layers that keep something in
/// thread-locals also where these are behind keys of the system.
pub(crate) fn run(ws: &Workspace, args: &TestArgs) -> Result<()> {
    let plain = Build::plain(ws);
    plain.cargo(&words(MOST, ["--no-run"]))?;
    side_by_side(ws, args)?;
    let keyed = keyed(ws);
    keyed.cargo(&words("test", [&KEYED[..], &TESTS].concat()))?;
    if args.debug {
        return Ok(());
    }
    keyed.cargo(&words("test", [&KEYED_ABOVE[..], &TESTS].concat()))?;
    keyed.cargo(&["test", "-p", "terrace-conformance", "--test", "anywhere"])?;
    let layers = ws.layer_args();
    let of_layers = [&layers[..], &TESTS].concat();
    let release = words("test --release --all-features", of_layers.iter().copied());
    plain.cargo(&release)?;
    for layer in ws.layers() {
        for set in features::extremes(layer) {
            let set = set.iter().map(String::as_str);
            let more = [layer.name.as_str()].into_iter().chain(TESTS).chain(set);
            plain.cargo(&words("test -p", more))?;
        }
    }
    let counted = Build::special(ws, "count", "--cfg terrace_count");
    counted.cargo(&words("test --release", of_layers))
}
