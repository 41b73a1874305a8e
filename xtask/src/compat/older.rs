//! Packages that depend on the drop-ins for several Bevys, to build these.

use std::path::Path;

use anyhow::{Context, Result};
use cargo_metadata::MetadataCommand;

use super::registry::{BEVY_TASKS, BEVYS};
use crate::workspace::{self, Workspace};

/// The features of each.
const FEATURES: [&str; 4] = [
    "multi_threaded",
    "async_executor",
    "futures-lite",
    "async-io",
];

/// Writes a package that depends on all of them, with all their features by default. Its manifest.
pub(crate) fn manifest(ws: &Workspace) -> Result<String> {
    let dir = ws.target.join("compat/older");
    let older = &BEVYS[1..];
    let features = (0..older.len()).flat_map(|n| FEATURES.map(|f| format!("bevy-{n}/{f}")));
    let features = Vec::from_iter(features);
    let features = format!("\n[features]\ndefault = {features:?}\n");
    package(&dir, &(dependencies(ws, older) + &features))
}

/// The lines of a manifest for all drop-ins of `bevy_tasks`, without their features.
pub(crate) fn all(ws: &Workspace) -> String {
    dependencies(ws, &BEVYS)
}

/// The same for those of some Bevys: `bevy-0` and so on.
fn dependencies(ws: &Workspace, versions: &[&'static str]) -> String {
    let lines = versions.iter().enumerate().map(|(number, version)| {
        let name = BEVY_TASKS.name;
        let path = ws.root.join(BEVY_TASKS.of(version).place());
        format!(
            "bevy-{number} = {{ package = {name:?}, path = {path:?}, default-features = false }}\n"
        )
    });
    lines.collect()
}

/// Writes a package without `std` that has these lines below `[dependencies]`, and its lock file. Its manifest.
pub(crate) fn package(dir: &Path, lines: &str) -> Result<String> {
    workspace::probe(dir, lines)?;
    workspace::write(dir, "src/lib.rs", "#![no_std]\n")?;
    let manifest = dir.join("Cargo.toml");
    // Writes the lock file.
    let mut metadata = MetadataCommand::new();
    metadata
        .manifest_path(&manifest)
        .exec()
        .with_context(|| format!("what {} depends on cannot be chosen", manifest.display()))?;
    Ok(manifest.display().to_string())
}
