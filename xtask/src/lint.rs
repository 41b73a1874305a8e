//! `cargo xtask lint`: formatting, clippy with warnings denied under every cfg, workflow files.

use anyhow::{Result, ensure};
use cargo_metadata::Package;

use crate::build::Build;
use crate::models::LOOM;
use crate::process::{program, said};
use crate::workspace::Workspace;

const DENY: [&str; 3] = ["--", "-D", "warnings"];

/// Checks all of it; stops at the first that is not clean.
pub(crate) fn run(ws: &Workspace) -> Result<()> {
    let plain = Build::plain(ws);
    plain.cargo(&["fmt", "--all", "--check"])?;
    clippy(&plain, &["--workspace", "--all-targets"])?;
    clippy(
        &plain,
        &with_layers(ws, &["--all-targets", "--all-features"]),
    )?;
    let counted = Build::special(ws, "count", "--cfg terrace_count");
    clippy(&counted, &with_layers(ws, &["--all-targets"]))?;
    // The models turn on the feature without which no layer compiles under the cfg of a checker.
    let modelled = modelled_layers(ws);
    let modelled = [&["--lib", "-p", crate::loom::PACKAGE], &modelled[..]].concat();
    let loom = LOOM.build(ws);
    clippy(&loom, &["-p", crate::loom::PACKAGE, "--all-targets"])?;
    clippy(&loom, &modelled)?;
    let manifest = ws.manifest("crates/compat");
    let manifest = ["--manifest-path", &manifest];
    let compat = Build::special(ws, "compat-lint", "");
    compat.cargo(&[&["fmt", "--all", "--check"], &manifest[..]].concat())?;
    let all = ["--workspace", "--all-targets", "--all-features"];
    clippy(&compat, &[&manifest[..], &all].concat())?;
    // Builds for no host, so there is no clippy for it.
    let firmware = ws.manifest("crates/firmware");
    plain.cargo(&["fmt", "--all", "--check", "--manifest-path", &firmware])?;
    workflows(ws)
}

fn clippy(build: &Build, args: &[&str]) -> Result<()> {
    let args = [&["clippy", "--quiet"], args, &DENY[..]].concat();
    build.cargo(&args)
}

fn with_layers<'w>(ws: &'w Workspace, args: &[&'w str]) -> Vec<&'w str> {
    let mut args = args.to_vec();
    args.extend(ws.layer_args());
    args
}

/// `-p NAME` for each layer that compiles under loom: those the models depend on.
fn modelled_layers(ws: &Workspace) -> Vec<&str> {
    let models = |p: &&Package| p.name.as_str() == crate::loom::PACKAGE;
    let models = ws.metadata.packages.iter().find(models).into_iter();
    let names: Vec<&str> = models
        .flat_map(|p| &p.dependencies)
        .map(|d| d.name.as_str())
        .collect();
    let layers = ws.layers().into_iter().map(|layer| layer.name.as_str());
    let modelled = layers.filter(|layer| names.contains(layer));
    modelled.flat_map(|layer| ["-p", layer]).collect()
}

/// actionlint is no cargo program: where it is not installed, that is said and not an error.
fn workflows(ws: &Workspace) -> Result<()> {
    let mut lint = program("actionlint");
    lint.current_dir(&ws.root);
    if said(program("actionlint --version")).is_err() {
        println!("lint: actionlint is not installed, .github/workflows is not checked");
        return Ok(());
    }
    let status = lint.status()?;
    ensure!(status.success(), "actionlint failed: {status}");
    Ok(())
}
