//! `cargo xtask lint`: formatting, clippy with warnings denied under every cfg, workflow files.

use anyhow::{Result, ensure};

use crate::build::{Build, words};
use crate::compat;
use crate::models::LOOM;
use crate::process::{program, said};
use crate::workspace::Workspace;

/// Has atomics count.
const COUNTED: &[&str] = &["--cfg", "terrace_count"];

/// Checks all of it; stops at the first that is not clean.
pub(crate) fn run(ws: &Workspace) -> Result<()> {
    const FORMAT: &str = "fmt --all --check";
    let plain = Build::plain(ws);
    plain.cargo(&words(FORMAT, []))?;
    // Each program once, tests with all features but for those that want none. Counting is said to clippy alone: what the layers depend on is not built once more.
    clippy(
        &plain,
        "--workspace --lib --bins --examples --benches --test no_timeline --test single --test api",
        Vec::new(),
    )?;
    clippy_with(
        &plain,
        "--workspace --all-targets --all-features",
        Vec::new(),
        COUNTED,
    )?;
    // The models turn on the feature without which no layer compiles under the cfg of a checker.
    let loom = LOOM.build(ws);
    clippy(&loom, "--all-targets -p", vec![crate::loom::PACKAGE])?;
    let modelled = [&[crate::loom::PACKAGE], &modelled_layers(ws)?[..]].concat();
    clippy(&loom, "--lib -p", modelled)?;
    let build = Build::special(ws, "compat-lint", "");
    let manifest = ws.manifest("crates/compat");
    let manifest = ["--manifest-path", &manifest];
    build.cargo(&words(FORMAT, manifest))?;
    let all = "--workspace --all-targets --all-features";
    clippy(&build, all, manifest.to_vec())?;
    // Their code is that of the newest one, so clippy has seen it.
    let older = compat::older::manifest(ws)?;
    let older = words("check --quiet --manifest-path", [&*older]);
    build.cargo(&older)?;
    // What the first two depend on takes long to build; the last builds for no host, so there is no clippy for it.
    for package in ["crates/compat/render", compat::TRACED, "crates/firmware"] {
        let manifest = ws.manifest(package);
        plain.cargo(&words(FORMAT, ["--manifest-path", &manifest]))?;
    }
    workflows(ws)
}

fn clippy(build: &Build, line: &str, more: Vec<&str>) -> Result<()> {
    clippy_with(build, line, more, &[])
}

/// With flags for the packages of the workspace.
fn clippy_with(
    build: &Build,
    line: &str,
    mut more: Vec<&str>,
    flags: &[&'static str],
) -> Result<()> {
    more.extend(["--", "-D", "warnings"]);
    more.extend(flags);
    build.cargo(&words(&format!("clippy --quiet {line}"), more))
}

/// `-p NAME` for each layer that compiles under loom: those the models depend on.
fn modelled_layers(ws: &Workspace) -> Result<Vec<&str>> {
    let modelled = &ws.package(crate::loom::PACKAGE)?.dependencies;
    let layers = ws.layers().into_iter().map(|layer| layer.name.as_str());
    let layers = layers.filter(|layer| modelled.iter().any(|d| d.name == *layer));
    Ok(layers.flat_map(|layer| ["-p", layer]).collect())
}

/// actionlint is no cargo program: where it is not installed, that is said and not an error.
fn workflows(ws: &Workspace) -> Result<()> {
    if said(program("actionlint --version")).is_err() {
        println!("lint: actionlint is not installed, .github/workflows is not checked");
        return Ok(());
    }
    let status = program("actionlint").current_dir(&ws.root).status()?;
    ensure!(status.success(), "actionlint failed: {status}");
    Ok(())
}
