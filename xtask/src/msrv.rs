//! `cargo xtask msrv`.

use crate::workspace::Workspace;

pub(crate) fn run(_ws: &Workspace) -> anyhow::Result<()> {
    anyhow::bail!("`cargo xtask msrv` is not there yet")
}
