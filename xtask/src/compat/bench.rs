//! `cargo xtask compat --bench`: ECS workloads on the stock crate and on the drop-in, in turn.

use clap::Args;

/// Options of `cargo xtask compat --bench`.
#[derive(Args)]
pub(crate) struct BenchArgs {}

/// Builds both sides, runs them in turn and prints the ratios.
pub(crate) fn run(_filter: Option<&str>, _args: BenchArgs) -> anyhow::Result<()> {
    anyhow::bail!("`cargo xtask compat --bench` is not there yet")
}
