//! `cargo xtask doc`: the documentation, warnings denied.

use anyhow::Result;

use crate::build::{Build, words};
use crate::workspace::Workspace;

/// Builds the documentation of every package of the workspace, private items too, so that links
/// in their comments stay alive.
pub(crate) fn run(ws: &Workspace) -> Result<()> {
    let deny = |build: Build| build.env("RUSTDOCFLAGS", "-Dwarnings");
    deny(Build::plain(ws)).cargo(&words("doc --no-deps", ws.layer_args()))?;
    let all = "doc --no-deps --workspace";
    let private = words(all, ["--document-private-items"]);
    deny(Build::beside(ws, "doc-private")).cargo(&private)?;
    let compat = ws.manifest("crates/compat");
    let compat = words(all, ["--manifest-path", &compat]);
    deny(Build::special(ws, "compat-lint", "")).cargo(&compat)
}
