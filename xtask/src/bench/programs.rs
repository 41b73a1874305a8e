//! The bench programs of the working tree.

use anyhow::{Result, ensure};

use crate::measure::build::{Special, Tree};
use crate::measure::criterion::Program;
use crate::measure::instr::PREFIX;
use crate::toolchain::Compiler;
use crate::workspace::Workspace;

/// The package.
const PACKAGE: &str = "terrace-benches";
/// A program that is no layer: it takes times of its own.
pub(super) const LATENCY: &str = "latency";
/// A directory below the target directory, and the compiler in use: flags of their own would evict what other commands built.
const PLAIN: (&str, Special) = (
    "bench",
    Special {
        env: Vec::new(),
        flags: Vec::new(),
    },
);

/// The layers whose programs have the prefix, in the order of the package's manifest.
fn layers<'w>(ws: &'w Workspace, prefix: &str) -> Result<Vec<&'w str>> {
    let targets = ws.package(PACKAGE)?.targets.iter();
    let benches = targets.filter(|target| target.is_bench());
    let layers = benches.filter_map(|target| target.name.strip_prefix(prefix));
    Ok(layers
        .filter(|name| !name.starts_with(PREFIX) && *name != LATENCY)
        .collect())
}

/// Builds the programs of some layers or all: criterion's without a prefix, or those that count instructions.
pub(super) fn build(ws: &Workspace, wanted: &[String], prefix: &str) -> Result<Vec<Program>> {
    build_layers(ws, wanted, prefix, PLAIN)
}

fn build_layers(
    ws: &Workspace,
    wanted: &[String],
    prefix: &str,
    how: (&str, Special),
) -> Result<Vec<Program>> {
    let mut layers = layers(ws, prefix)?;
    for layer in wanted {
        ensure!(
            layers.contains(&layer.as_str()),
            "there is no {prefix}{layer} in benches/; there are {}",
            layers.join(", ")
        );
    }
    layers.retain(|layer| wanted.is_empty() || wanted.iter().any(|wanted| wanted == layer));
    let names = layers.iter().map(|layer| format!("{prefix}{layer}"));
    build_in(ws, names.collect(), how)
}

/// The oldest compiler for the peer forte.
const FORTE: &str = "1.96";

/// Builds programs of layers with forte as one more peer. Where there is no compiler for it, it is left out, and that is said.
pub(super) fn build_with_forte(ws: &Workspace, wanted: &[String]) -> Result<Vec<Program>> {
    let compiler = match Compiler::since(ws, FORTE) {
        Ok(compiler) => compiler,
        Err(error) => {
            eprintln!("forte is left out, it needs a rustc of {FORTE} or later: {error:#}");
            return build(ws, wanted, "");
        }
    };
    let special = Special {
        env: compiler.env(),
        flags: ["--cfg", "terrace_forte"].map(str::to_owned).into(),
    };
    build_layers(ws, wanted, "", ("bench-forte", special))
}

/// Builds bench targets by name.
pub(super) fn build_targets(ws: &Workspace, names: Vec<String>) -> Result<Vec<Program>> {
    build_in(ws, names, PLAIN)
}

fn build_in(
    ws: &Workspace,
    names: Vec<String>,
    (target, special): (&str, Special),
) -> Result<Vec<Program>> {
    eprintln!("building the benches: {}", names.join(", "));
    let tree = Tree {
        root: ws.root.clone(),
        package: "benches".into(),
        target: ws.target.join(target),
        benches: names,
        features: None,
        args: Vec::new(),
        special,
        others: Vec::new(),
        side: "this tree".to_owned(),
    };
    tree.build()
}

/// What the programs list, in their order.
pub(super) fn list(programs: &[Program]) -> Result<Vec<(String, Program)>> {
    let mut listed = Vec::new();
    for program in programs {
        let ids = program.list()?.into_iter();
        listed.extend(ids.map(|id| (id, program.clone())));
    }
    Ok(listed)
}
