//! The commands of the Terrace workspace: `cargo xtask COMMAND`.
//!
//! One module per command. The package depends on none of the product crates, so it builds when
//! they do not.

mod api;
mod asan;
mod bench;
mod bench_compare;
mod book;
mod build;
mod check;
mod ci;
mod compat;
mod debian;
mod demo;
mod doc;
mod edits;
mod examples;
mod features;
mod footprint;
mod generated;
mod lint;
mod loom;
mod measure;
mod models;
mod msrv;
mod no_std;
mod package;
mod planted;
mod process;
mod processes;
mod progress;
mod prove;
#[path = "../../crates/trace/src/quoted.rs"]
mod quoted;
mod report;
mod sanitizer;
mod scale;
mod shuttle;
mod soak;
mod source;
mod table;
mod targets;
mod test;
mod tidy;
mod timeline;
mod toolchain;
mod trust;
mod tsan;
mod wasm;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use workspace::Workspace;

/// The commands of the Terrace workspace.
#[derive(Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    arg_required_else_help = true
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run every check that continuous integration runs, in order; stop at the first failure
    Ci(ci::CiArgs),
    /// Check one layer within a minute: format, clippy, tidy, its tests, its models
    Check(check::CheckArgs),
    /// Check formatting and run clippy, warnings denied, under every cfg
    Lint,
    /// Check the house rules that compilers do not
    Tidy,
    /// Run the tests of the workspace: debug, release, counted
    Test(test::TestArgs),
    /// Run every example of the layers to its end
    Examples,
    /// Build the documentation, warnings denied
    Doc,
    /// Build the book, draw its results, and check the links of all pages
    Book(book::BookArgs),
    /// Build each layer alone with each combination of its features
    Features,
    /// Check the layers with the oldest supported compiler
    Msrv,
    /// Check the concurrency models with loom
    Loom(loom::LoomArgs),
    /// Run the models of the whole scheduler in random schedules with shuttle
    Shuttle(shuttle::ShuttleArgs),
    /// Plant faults and require the net of each, a test, a model or a sanitizer, to catch it
    Prove(prove::ProveArgs),
    /// Count the cache lines that each operation hands over with 4 to 64 workers, ours and the peers'
    Scale(scale::ScaleArgs),
    /// Use executors at random for minutes, and account for every future
    Soak(soak::SoakArgs),
    /// Run the tests of the layers under ThreadSanitizer with an instrumented standard library
    Tsan(sanitizer::SanitizerArgs),
    /// Run the tests of the layers under AddressSanitizer; leaks, too, where the suite runs
    Asan(sanitizer::SanitizerArgs),
    /// Build the layers for machines without an operating system, and run two images under qemu
    NoStd(no_std::NoStdArgs),
    /// Check the layers and the drop-ins for every target they are for, or run the tests of the layers on other systems
    Targets(targets::TargetsArgs),
    /// Run the behaviour suite on wasm32 under node
    Wasm(wasm::WasmArgs),
    /// Compare what each layer offers with the lists in docs/api, and look for its examples
    Api(api::ApiArgs),
    /// Package the layers, build each package, and count what the drop-in adds to a lock file
    Package,
    /// Run a program with two versions of the layers, and one that loads a library with them again
    Processes,
    /// Run published Bevy crates on the drop-in package, and async-executor's tests on ours
    Compat(compat::CompatArgs),
    /// Compare the benches of two commits, or of one with the working tree
    BenchCompare(Box<bench_compare::BenchCompareArgs>),
    /// Run a headless Bevy app on the drop-in and say what the pool did
    Demo(demo::DemoArgs),
    /// Make a page out of a trace that terrace-trace has written
    Timeline(timeline::TimelineArgs),
    /// Measure our layers beside the projects one would use in their place
    Bench(Box<bench::BenchArgs>),
    /// Render a saved comparison of benches again
    BenchReport(report::ReportArgs),
    /// Renew the page of benchmark results out of saved measurements
    BenchPage(report::page::PageArgs),
    /// Renew docs/trust.md and the tables of the models out of the sources and of what runs have recorded
    Trust,
    /// Count bytes, dependencies and build time of our executor beside others
    Footprint(footprint::FootprintArgs),
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if let Some(failure) = error.downcast_ref::<bench_compare::Failure>() {
                eprintln!("error: {failure}");
                return ExitCode::from(failure.code as u8);
            }
            // No backtrace: these errors are about the workspace, not about this program.
            eprintln!("error: {error}");
            for cause in error.chain().skip(1) {
                eprintln!("  because: {cause}");
            }
            ExitCode::FAILURE
        }
    }
}

fn run() -> anyhow::Result<()> {
    if measure::instr::stands_in()? || measure::wake::stands_in() {
        return Ok(());
    }
    match Cli::parse().command {
        // It works in the repository around the current directory, whatever that is.
        Command::BenchCompare(args) => bench_compare::run(&args),
        // It works anywhere.
        Command::Timeline(args) => timeline::run(&args),
        command => dispatch(&Workspace::find()?, command),
    }
}

/// The command in the words after `cargo xtask`.
fn parse(words: &str) -> anyhow::Result<Command> {
    let words = std::iter::once("cargo xtask").chain(words.split_whitespace());
    Ok(Cli::try_parse_from(words)?.command)
}

fn dispatch(ws: &Workspace, command: Command) -> anyhow::Result<()> {
    match command {
        Command::Ci(args) => ci::run(ws, &args),
        Command::Check(args) => check::run(ws, &args),
        Command::Lint => lint::run(ws),
        Command::Tidy => tidy::run(ws),
        Command::Test(args) => test::run(ws, &args),
        Command::Examples => examples::run(ws),
        Command::Doc => doc::run(ws),
        Command::Book(args) => book::run(ws, &args),
        Command::Features => features::run(ws),
        Command::Msrv => msrv::run(ws),
        Command::Loom(args) => loom::run(ws, &args),
        Command::Shuttle(args) => shuttle::run(ws, &args),
        Command::Prove(args) => prove::run(ws, &args),
        Command::Scale(args) => scale::run(ws, &args),
        Command::Soak(args) => soak::run(ws, &args),
        Command::Tsan(args) => sanitizer::run(ws, &args, &tsan::sanitizer()),
        Command::Asan(args) => sanitizer::run(ws, &args, &asan::sanitizer(ws)?),
        Command::NoStd(args) => no_std::run(ws, &args),
        Command::Targets(args) => targets::run(ws, &args),
        Command::Wasm(args) => wasm::run(ws, &args),
        Command::Api(args) => api::run(ws, &args),
        Command::Package => package::run(ws),
        Command::Processes => processes::run(ws),
        Command::Compat(args) => compat::run(ws, args),
        Command::BenchCompare(args) => bench_compare::run(&args),
        Command::Demo(args) => demo::run(ws, &args),
        Command::Timeline(args) => timeline::run(&args),
        Command::Bench(args) => bench::run(ws, &args),
        Command::BenchReport(args) => report::run(&args),
        Command::BenchPage(args) => report::page::run(ws, &args),
        Command::Trust => trust::run(ws),
        Command::Footprint(args) => footprint::run(ws, &args),
    }
}
