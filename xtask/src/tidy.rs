//! `cargo xtask tidy`.

use crate::workspace::Workspace;

pub(crate) fn run(_ws: &Workspace) -> anyhow::Result<()> {
    anyhow::bail!("`cargo xtask tidy` is not there yet")
}
