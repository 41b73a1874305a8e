//! The bench programs of the working tree.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use cargo_metadata::{Package, TargetKind};

use crate::measure::build::{Executable, Tree};
use crate::measure::criterion::Program;
use crate::workspace::Workspace;

/// The package.
const PACKAGE: &str = "terrace-benches";
/// Programs that are no layer: they count instructions, or take times of their own.
const INSTRUCTIONS: &str = "instr_";
pub(super) const LATENCY: &str = "latency";
/// Below the target directory: flags of their own would evict what other commands built.
const TARGET: &str = "bench";
/// For errors.
pub(super) const SIDE: &str = "this tree";

/// The layers that have benches, in the order of the package's manifest.
pub(super) fn layers(ws: &Workspace) -> Result<Vec<String>> {
    let is_layer = |name: &&String| !name.starts_with(INSTRUCTIONS) && *name != LATENCY;
    Ok(targets(ws)?.iter().filter(is_layer).cloned().collect())
}

fn package(ws: &Workspace) -> Result<&Package> {
    let package = ws.metadata.packages.iter().find(|p| p.name == PACKAGE);
    package.with_context(|| format!("the workspace has no package {PACKAGE}"))
}

fn targets(ws: &Workspace) -> Result<Vec<String>> {
    let targets = package(ws)?.targets.iter();
    let benches = targets.filter(|target| target.is_kind(TargetKind::Bench));
    Ok(benches.map(|target| target.name.clone()).collect())
}

/// Builds criterion's programs, those of some layers or all.
pub(super) fn build(ws: &Workspace, layers: &[String]) -> Result<Vec<Executable>> {
    let all = self::layers(ws)?;
    let wanted = all
        .iter()
        .filter(|l| layers.is_empty() || layers.contains(l));
    build_targets(ws, &wanted.map(String::as_str).collect::<Vec<_>>())
}

/// Builds the programs that count instructions, those of some layers or all.
///
/// # Errors
///
/// If a layer has none.
pub(super) fn build_instructions(ws: &Workspace, layers: &[String]) -> Result<Vec<Executable>> {
    let targets = targets(ws)?;
    let wanted: Vec<String> = match layers {
        [] => targets
            .iter()
            .filter(|target| target.starts_with(INSTRUCTIONS))
            .cloned()
            .collect(),
        layers => layers
            .iter()
            .map(|l| format!("{INSTRUCTIONS}{l}"))
            .collect(),
    };
    for name in &wanted {
        ensure!(
            targets.contains(name),
            "no instructions are counted of this layer: there is no {name} in benches/"
        );
    }
    build_targets(ws, &wanted.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The directory of the package.
pub(super) fn directory(ws: &Workspace) -> Result<PathBuf> {
    let manifest = package(ws)?.manifest_path.as_std_path();
    Ok(manifest.with_file_name(""))
}

/// Builds bench targets by name.
pub(super) fn build_targets(ws: &Workspace, names: &[&str]) -> Result<Vec<Executable>> {
    let tree = Tree {
        root: ws.root.clone(),
        package: "benches".into(),
        target: ws.target.join(TARGET),
        benches: names.iter().map(|name| (*name).to_owned()).collect(),
        args: Vec::new(),
        others: Vec::new(),
        side: SIDE.to_owned(),
    };
    eprintln!("building the benches: {}", names.join(", "));
    tree.build()
}

/// What the programs list, in their order.
pub(super) fn list(programs: &[Executable]) -> Result<Vec<(String, Program)>> {
    let mut listed = Vec::new();
    for executable in programs {
        let program = Program {
            path: executable.path.clone(),
            side: SIDE.to_owned(),
        };
        let ids = program.list()?;
        listed.extend(ids.into_iter().map(|id| (id, program.clone())));
    }
    Ok(listed)
}
