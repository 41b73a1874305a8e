//! `cargo xtask doc`.

use crate::workspace::Workspace;

pub(crate) fn run(_ws: &Workspace) -> anyhow::Result<()> {
    anyhow::bail!("`cargo xtask doc` is not there yet")
}
