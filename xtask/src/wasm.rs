//! `cargo xtask wasm`: the behaviour suite on wasm32-unknown-unknown, under node.
//!
//! Where the toolchain in use does not have the target, std is built from its sources. A panic ends the module there: what
//! needs unwinding or threads is checked natively only.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::build::Build;
use crate::process::needs;
use crate::toolchain::{self, Compiler};
use crate::workspace::Workspace;

const TARGET: &str = "wasm32-unknown-unknown";
const PACKAGE: &str = "terrace-conformance";

#[derive(Args)]
pub(crate) struct WasmArgs {
    /// Run only the cases whose name contains this text
    filter: Option<String>,
}

/// Builds the suite as a module and runs its cases.
pub(crate) fn run(ws: &Workspace, args: &WasmArgs) -> Result<()> {
    // Said before minutes are spent on a build.
    needs("node", "nodejs")?;
    let mut build = Build::special(ws, "wasm", "");
    let mut words = vec!["rustc", "-p", PACKAGE, "--lib", "--crate-type", "cdylib"];
    words.extend(["--target", TARGET]);
    if !toolchain::has_target(TARGET)? {
        words.push("-Zbuild-std=std,panic_abort");
        let compiler = Compiler::with_sources(ws)?;
        build = compiler.build(ws, "wasm", &compiler.linker_flag()?);
    }
    build.cargo(&words)?;
    let module = build
        .target()
        .join(TARGET)
        .join("debug/terrace_conformance.wasm");
    let status = Command::new("node")
        .arg(ws.root.join("crates/conformance/runner/run.mjs"))
        .arg(module)
        .args(&args.filter)
        .status()
        .context("cannot start node")?;
    ensure!(status.success(), "the suite fails on {TARGET}: {status}");
    Ok(())
}
