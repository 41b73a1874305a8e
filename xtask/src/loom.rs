//! `cargo xtask loom`.

use clap::Args;

use crate::workspace::Workspace;

/// Options of `cargo xtask loom`.
#[derive(Args)]
pub(crate) struct LoomArgs {}

pub(crate) fn run(_ws: &Workspace, _args: &LoomArgs) -> anyhow::Result<()> {
    anyhow::bail!("`cargo xtask loom` is not there yet")
}
