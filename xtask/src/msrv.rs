//! `cargo xtask msrv`: the layers with the oldest compiler they support.

use anyhow::Result;

use crate::build::{Build, words};
use crate::toolchain::Compiler;
use crate::workspace::Workspace;

/// Checks every layer that declares the workspace's `rust-version`, with default and all features.
pub(crate) fn run(ws: &Workspace) -> Result<()> {
    let mut versions: Vec<_> = ws.layers().iter().map(|l| l.rust_version.clone()).collect();
    versions.dedup();
    let [Some(version)] = &versions[..] else {
        anyhow::bail!("the layers declare different `rust-version`s, or none: {versions:?}");
    };
    let version = format!("{}.{}", version.major, version.minor);
    let compiler = Compiler::of_version(ws, &version, false)?;
    let build = Build::special(ws, "msrv", "").envs(compiler.env());
    let layers = ws.layer_args();
    build.cargo(&words("check --lib", layers.iter().copied()))?;
    build.cargo(&words("check --lib --all-features", layers))
}
