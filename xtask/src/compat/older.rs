//! The drop-ins for older Bevys in one package, to build them.

use std::fmt::Write as _;

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
    let (mut lines, mut features) = (String::new(), Vec::new());
    for (number, version) in BEVYS[1..].iter().enumerate() {
        let (package, path) = (
            BEVY_TASKS.name,
            ws.root.join(BEVY_TASKS.of(version).place()),
        );
        writeln!(
            lines,
            "older-{number} = {{ package = {package:?}, path = {path:?}, default-features = false }}"
        )?;
        features.extend(FEATURES.map(|feature| format!("older-{number}/{feature}")));
    }
    let features = format!("\n[features]\ndefault = {features:?}\n");
    workspace::probe(&dir, &(lines + &features))?;
    workspace::write(&dir, "src/lib.rs", "#![no_std]\n")?;
    let manifest = dir.join("Cargo.toml");
    // Writes the lock file.
    let mut metadata = MetadataCommand::new();
    metadata
        .manifest_path(&manifest)
        .exec()
        .context("the drop-ins for older Bevys cannot be built")?;
    Ok(manifest.display().to_string())
}
