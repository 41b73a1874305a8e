//! `cargo xtask compat --apps`: real Bevy apps on the drop-in, each test in a process of its own.

use anyhow::{Context, Result};
use xshell::cmd;

use crate::workspace::Workspace;

/// Runs the tests of the apps package whose names contain `filter`.
pub(super) fn run(ws: &Workspace, filter: Option<&str>) -> Result<()> {
    let manifest = ws
        .compat_manifest()
        .context("crates/compat/Cargo.toml is missing")?;
    let target = ws.target.join("compat/apps");
    let sh = ws.sh.clone();
    sh.set_var("CARGO_TARGET_DIR", target);
    cmd!(sh, "cargo test --quiet --locked --manifest-path {manifest} --package compat-apps -- {filter...}").run()?;
    Ok(())
}
