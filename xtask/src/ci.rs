//! `cargo xtask ci`.

use clap::Args;

use crate::workspace::Workspace;

/// Options of `cargo xtask ci`.
#[derive(Args)]
pub(crate) struct CiArgs {}

pub(crate) fn run(_ws: &Workspace, _args: &CiArgs) -> anyhow::Result<()> {
    anyhow::bail!("`cargo xtask ci` is not there yet")
}
