//! Planted faults: the sources with a mistake in them, and a net that must catch it. The mutants of loom and of shuttle, and `cargo xtask
//! prove`, differ in the net, and in the way that the fault gets there:
//!
//! | a fault with | is planted by |
//! |---|---|
//! | a model for a net | a line with `weakened!("NAME")`: the model reads the name from its environment when it starts |
//! | another net besides | that line, in a build with `--cfg terrace_weaken="NAME"` |
//! | other nets alone | edits in a copy of the workspace: the product has no line for it |
//!
//! A wrapper of rustc, with a path of its own for each fault, gives the cfg to workspace crates alone. Cargo keys their artifacts by that
//! path, not by that of a copy, and builds nothing else anew.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result};

use crate::build::{Binary, Build};
use crate::edits::{Edit, apply, copied};
use crate::workspace::{Workspace, write};

/// The same build with the fault called `name` in it: by its edits, or by its cfg if there are none.
pub(crate) fn plant(ws: &Workspace, build: Build, name: &str, edits: &[&Edit]) -> Result<Build> {
    let dir = build.target().join("mutants").join(name);
    let path = dir.join("rustc-wrapper");
    let text = format!("#!/bin/sh\nexec \"$@\" --cfg 'terrace_weaken=\"{name}\"'\n");
    // One that is there may be in use, and stays as it is.
    if write(&dir, "rustc-wrapper", text)? {
        fs_err::set_permissions(&path, Permissions::from_mode(0o755))?;
    }
    let wrapper = path.display().to_string();
    let build = build.env("RUSTC_WORKSPACE_WRAPPER", wrapper);
    if edits.is_empty() {
        return Ok(build);
    }
    let changed = apply(edits.iter().copied(), |file| ws.text(file))?;
    let copy = Path::new("faults").join(name);
    Ok(build.in_copy(copied(ws, copy, &changed)?))
}

/// Builds the test program called `file` with `args`; that it does not compile is told apart from a test that fails.
pub(crate) fn program(build: &Build, args: &[&str], file: &str) -> Result<Binary> {
    let binaries = build.test_binaries(&[args, &["--test", file]].concat(), true);
    let mut binaries = binaries.context("does not compile")?.into_iter();
    let binary = binaries.find(|binary| binary.name == file);
    binary.context("cargo built no test")
}
