//! Rules about where things lie: what is at the top level, and that each crate has a README.

use std::collections::BTreeSet;

use super::{Files, error};

/// What may lie at the top level beside files that start with a dot.
const TOP_LEVEL: &str = "Cargo.toml Cargo.lock crates benches loom-tests xtask docs README.md \
                         CHANGELOG.md CONTRIBUTING.md LICENSE-MIT LICENSE-APACHE clippy.toml \
                         rustfmt.toml";

pub(super) fn check(files: &Files) -> Vec<String> {
    let top = files.keys().filter_map(|path| path.iter().next()?.to_str());
    let mut strange: BTreeSet<&str> = top.filter(|name| !name.starts_with('.')).collect();
    strange.retain(|name| !TOP_LEVEL.split(' ').any(|known| known == *name));
    let strange = strange.into_iter();
    let strange = strange.map(|name| error(name, 0, "does not belong at the top level"));
    let manifests = files.keys();
    let manifests = manifests.filter(|p| p.starts_with("crates") && p.ends_with("Cargo.toml"));
    let readmes = manifests.map(|manifest| manifest.with_file_name("README.md"));
    let missing = readmes.filter(|readme| !files.contains_key(readme));
    let missing = missing.map(|readme| error(readme, 0, "a crate needs a README"));
    strange.chain(missing).collect()
}
