//! `cargo xtask wasm`: the behaviour suite on wasm32-unknown-unknown, under node.
//!
//! The toolchain's own std has no such target on every machine, so std is built from the sources in Debian's packages. A
//! panic ends the module there: what needs unwinding or threads is checked natively only.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::Args;
use xshell::cmd;

use crate::build::Build;
use crate::debian::{self, Compiler};
use crate::workspace::Workspace;

const TARGET: &str = "wasm32-unknown-unknown";
const PACKAGE: &str = "terrace-conformance";

/// Options of `cargo xtask wasm`.
#[derive(Args)]
pub(crate) struct WasmArgs {
    /// Run only the cases whose name contains this text
    filter: Option<String>,
}

/// Builds the suite as a module and runs its cases.
pub(crate) fn run(ws: &Workspace, args: &WasmArgs) -> Result<()> {
    ensure!(
        debian::supported(),
        "`cargo xtask wasm` needs Debian 12 on x86-64: it takes compiler and sources from there"
    );
    // Said before minutes are spent on a build.
    let node = Command::new("node").arg("--version").output();
    ensure!(
        node.is_ok_and(|output| output.status.success()),
        "`node` does not start; it is in Debian's package nodejs"
    );
    let compiler = Compiler::with_sources(ws)?;
    let sysroot = cmd!(ws.sh, "rustc --print sysroot").quiet().read()?;
    let flags = format!("-Clinker={sysroot}/lib/rustlib/x86_64-unknown-linux-gnu/bin/rust-lld");
    let mut build = Build::special(ws, "wasm", &flags).env("RUSTC_BOOTSTRAP", "1");
    for (key, value) in compiler.env() {
        build = build.env(key, value);
    }
    build.cargo(&[
        "rustc",
        "-p",
        PACKAGE,
        "--lib",
        "--crate-type",
        "cdylib",
        "--target",
        TARGET,
        "-Zbuild-std=std,panic_abort",
    ])?;
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
