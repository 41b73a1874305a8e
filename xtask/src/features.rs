//! `cargo xtask features`.

use crate::workspace::Workspace;

pub(crate) fn run(_ws: &Workspace) -> anyhow::Result<()> {
    anyhow::bail!("`cargo xtask features` is not there yet")
}
