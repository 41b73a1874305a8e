//! `cargo xtask test`.

use crate::workspace::Workspace;

pub(crate) fn run(_ws: &Workspace) -> anyhow::Result<()> {
    anyhow::bail!("`cargo xtask test` is not there yet")
}
