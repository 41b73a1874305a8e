//! `cargo xtask doc`: the documentation, warnings denied.

use anyhow::Result;

use crate::build::Build;
use crate::workspace::Workspace;

/// Builds the documentation of every package of the workspace, private items too, so that links
/// in their comments stay alive.
pub(crate) fn run(ws: &Workspace) -> Result<()> {
    let deny = |build: Build| build.env("RUSTDOCFLAGS", "-Dwarnings");
    let layers = ws.layer_args();
    deny(Build::plain(ws)).cargo(&[&["doc", "--no-deps"], &layers[..]].concat())?;
    let private = [
        "doc",
        "--no-deps",
        "--workspace",
        "--document-private-items",
    ];
    deny(Build::special(ws, "doc-private", "")).cargo(&private)?;
    let compat = ["--manifest-path", &ws.manifest("crates/compat")];
    let args = [&["doc", "--no-deps", "--workspace"], &compat[..]].concat();
    deny(Build::special(ws, "compat-lint", "")).cargo(&args)
}
