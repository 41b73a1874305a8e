//! `cargo xtask tsan`.

use clap::Args;

use crate::workspace::Workspace;

/// Options of `cargo xtask tsan`.
#[derive(Args)]
pub(crate) struct TsanArgs {}

pub(crate) fn run(_ws: &Workspace, _args: &TsanArgs) -> anyhow::Result<()> {
    anyhow::bail!("`cargo xtask tsan` is not there yet")
}
