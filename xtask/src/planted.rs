//! Planted faults: a line that is wrong where `weakened!("NAME")` of `terrace-sync` holds, and a net that must catch it. The
//! mutants of loom and of shuttle, and `cargo xtask prove`, differ in the net alone.
//!
//! A model reads the name from its environment when it starts. Every other net needs a build with `--cfg
//! terrace_weaken="NAME"`. A wrapper of rustc, with a path of its own for each fault, gives the cfg to workspace crates alone.
//! Cargo keys their artifacts by that path, and builds nothing else anew.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use anyhow::{Context, Result};

use crate::build::{Binary, Build};
use crate::workspace::write;

/// The same build with the fault called `name` in it, if there is to be one.
pub(crate) fn plant(build: Build, name: Option<&str>) -> Result<Build> {
    let Some(name) = name else {
        return Ok(build);
    };
    let dir = build.target().join("mutants").join(name);
    let path = dir.join("rustc-wrapper");
    let text = format!("#!/bin/sh\nexec \"$@\" --cfg 'terrace_weaken=\"{name}\"'\n");
    // One that is there may be in use, and stays as it is.
    if write(&dir, "rustc-wrapper", text)? {
        fs_err::set_permissions(&path, Permissions::from_mode(0o755))?;
    }
    let wrapper = path.display().to_string();
    Ok(build.env("RUSTC_WORKSPACE_WRAPPER", wrapper))
}

/// Builds the test program called `file` with `args`; that it does not compile is told apart from a test that fails.
pub(crate) fn program(build: &Build, args: &[&str], file: &str) -> Result<Binary> {
    let binaries = build.test_binaries(&[args, &["--test", file]].concat(), true);
    let mut binaries = binaries.context("does not compile")?.into_iter();
    let binary = binaries.find(|binary| binary.name == file);
    binary.context("cargo built no test")
}
