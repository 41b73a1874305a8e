//! `cargo xtask lint`: formatting, clippy with warnings denied under every cfg, workflow files.

use anyhow::Result;
use cargo_metadata::Package;
use xshell::cmd;

use crate::build::Build;
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
    let loom = Build::special(ws, "loom", "--cfg terrace_loom");
    clippy(&loom, &["-p", crate::loom::PACKAGE, "--all-targets"])?;
    let modelled = modelled_layers(ws);
    if !modelled.is_empty() {
        // The models turn on the feature without which no layer compiles under the cfg.
        let mut args = vec!["--lib", "-p", crate::loom::PACKAGE];
        args.extend(modelled.iter().flat_map(|name| ["-p", name]));
        clippy(&loom, &args)?;
    }
    if let Some(manifest) = ws.compat_manifest() {
        let manifest = manifest.display().to_string();
        let compat = Build::special(ws, "compat-lint", "");
        compat.cargo(&["fmt", "--all", "--check", "--manifest-path", &manifest])?;
        let args = ["--manifest-path", &manifest, "--workspace", "--all-targets"];
        clippy(&compat, &args)?;
    }
    // Builds for no host, so there is no clippy for it.
    let firmware = ws.root.join("crates/firmware/Cargo.toml");
    let firmware = firmware.display().to_string();
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

/// The layers that compile under loom: those the models depend on.
fn modelled_layers(ws: &Workspace) -> Vec<&str> {
    let models = |p: &&Package| p.name.as_str() == crate::loom::PACKAGE;
    let Some(models) = ws.metadata.packages.iter().find(models) else {
        return Vec::new();
    };
    ws.layers()
        .into_iter()
        .map(|layer| layer.name.as_str())
        .filter(|name| models.dependencies.iter().any(|d| d.name == *name))
        .collect()
}

/// actionlint is no cargo program: where it is not installed, that is said and not an error.
fn workflows(ws: &Workspace) -> Result<()> {
    let sh = &ws.sh;
    if cmd!(sh, "actionlint --version")
        .quiet()
        .ignore_stdout()
        .ignore_stderr()
        .run()
        .is_err()
    {
        println!("lint: actionlint is not installed, .github/workflows is not checked");
        return Ok(());
    }
    cmd!(sh, "actionlint").run()?;
    Ok(())
}
