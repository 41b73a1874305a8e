//! `cargo xtask demo`: a headless Bevy app on the drop-in.

use clap::Args;

/// Options of `cargo xtask demo`.
#[derive(Args)]
pub(crate) struct DemoArgs {}

/// Runs the app and prints frame times and what the pool did.
pub(crate) fn run(_args: DemoArgs) -> anyhow::Result<()> {
    anyhow::bail!("`cargo xtask demo` is not there yet")
}
