//! `cargo xtask compat`: published Bevy crates on the drop-in package.

mod bench;

use clap::Args;

/// Options of `cargo xtask compat`.
#[derive(Args)]
pub(crate) struct CompatArgs {
    /// Record the names of the tests that pass on the stock crate
    #[arg(long, conflicts_with_all = ["bench", "apps"])]
    bless: bool,
    /// Run only the start-up apps
    #[arg(long, conflicts_with = "bench")]
    apps: bool,
    /// Compare the speed of ECS workloads on the stock crate and on the drop-in
    #[arg(long)]
    bench: bool,
    /// Run only what contains this text: suites and apps, or rows of the bench
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    #[command(flatten)]
    bench_args: bench::BenchArgs,
}

/// Runs the published suites, the apps, or the bench.
pub(crate) fn run(args: CompatArgs) -> anyhow::Result<()> {
    if args.bench {
        return bench::run(args.filter.as_deref(), args.bench_args);
    }
    let part = match (args.bless, args.apps) {
        (true, _) => "compat --bless",
        (_, true) => "compat --apps",
        _ => "compat",
    };
    anyhow::bail!("`cargo xtask {part}` is not there yet")
}
