//! The bench programs of the working tree.

use anyhow::{Context, Result, ensure};

use super::BenchArgs;
use crate::measure::build::Tree;
use crate::measure::criterion::Program;
use crate::measure::instr::PREFIX;
use crate::toolchain::Compiler;
use crate::workspace::Workspace;

/// The package.
const PACKAGE: &str = "terrace-benches";
/// A program that is no layer: it takes times of its own.
const LATENCY: &str = "latency";
/// The oldest compiler for the peer forte.
const FORTE: &str = "1.96";

/// The layers whose programs have the prefix, in the order of the package's manifest: of these those that are wanted, or all.
fn layers(ws: &Workspace, wanted: &[String], prefix: &str) -> Result<Vec<String>> {
    let targets = ws.package(PACKAGE)?.targets.iter();
    let benches = targets.filter(|target| target.is_bench());
    let mut layers: Vec<&str> = benches
        .filter_map(|target| target.name.strip_prefix(prefix))
        .filter(|name| !name.starts_with(PREFIX) && *name != LATENCY)
        .collect();
    for layer in wanted {
        ensure!(
            layers.contains(&layer.as_str()),
            "there is no {prefix}{layer} in benches/; there are {}",
            layers.join(", ")
        );
    }
    layers.retain(|layer| wanted.is_empty() || wanted.iter().any(|wanted| wanted == layer));
    let layers = layers.into_iter();
    Ok(layers.map(|layer| format!("{prefix}{layer}")).collect())
}

/// Builds the programs of some layers or all: criterion's without a prefix, or those that count instructions.
pub(crate) fn build(ws: &Workspace, wanted: &[String], prefix: &str) -> Result<Vec<Program>> {
    build_in(ws, "bench", layers(ws, wanted, prefix)?, Tree::default())
}

/// Builds criterion's programs of the selected layers, with forte as one more peer if the user asks for it. Where there is no
/// compiler for it, the command leaves it out and says so.
pub(super) fn build_timed(ws: &Workspace, args: &BenchArgs) -> Result<Vec<Program>> {
    let wanted = &args.selection.layers;
    if !args.forte {
        return build(ws, wanted, "");
    }
    let compiler = match Compiler::of_version(ws, FORTE, true) {
        Ok(compiler) => compiler,
        Err(error) => {
            eprintln!("forte is left out, it needs a rustc of {FORTE} or later: {error:#}");
            return build(ws, wanted, "");
        }
    };
    let special = Tree {
        env: compiler.env(),
        flags: ["--cfg", "terrace_forte"].map(str::to_owned).into(),
        ..Tree::default()
    };
    build_in(ws, "bench-forte", layers(ws, wanted, "")?, special)
}

/// Builds the program of latencies.
pub(super) fn build_latency(ws: &Workspace) -> Result<Program> {
    let built = build_in(ws, "bench", vec![LATENCY.to_owned()], Tree::default())?;
    built.into_iter().next().context("cargo built no program")
}

/// Builds in a directory below the target directory: flags of their own would evict what other commands built. `special` chooses the
/// compiler and its flags.
fn build_in(
    ws: &Workspace,
    target: &str,
    benches: Vec<String>,
    special: Tree,
) -> Result<Vec<Program>> {
    eprintln!("building the benches: {}", benches.join(", "));
    let tree = Tree {
        root: ws.root.clone(),
        package: "benches".into(),
        target: ws.target.join(target),
        benches,
        side: "this tree".to_owned(),
        ..special
    };
    tree.build()
}

/// What the programs list, in their order.
pub(crate) fn list(programs: &[Program]) -> Result<Vec<(String, Program)>> {
    let mut listed = Vec::new();
    for program in programs {
        let ids = program.list()?.into_iter();
        listed.extend(ids.map(|id| (id, program.clone())));
    }
    Ok(listed)
}
