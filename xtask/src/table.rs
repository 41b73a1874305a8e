//! The tables of the repository, in TOML: mutants, faults, orderings. Each is a list of rows `[[NAME]]`.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::de::DeserializeOwned;

pub(crate) trait Row: DeserializeOwned {
    /// The name of such rows.
    const NAME: &'static str;

    /// What no two rows have in common.
    fn keys(&self) -> Vec<String>;

    /// Whether it says what it has to, beyond the types of its fields.
    fn check(&self) -> Result<()> {
        Ok(())
    }
}

/// Reads the table `file` of the workspace at `root`.
pub(crate) fn load<R: Row>(root: &Path, file: &str) -> Result<Vec<R>> {
    let text = fs_err::read_to_string(root.join(file));
    let text = text.with_context(|| format!("cannot read {file}"))?;
    parse(&text).with_context(|| format!("{file} is not a table of [[{}]]", R::NAME))
}

pub(crate) fn parse<R: Row>(text: &str) -> Result<Vec<R>> {
    let mut tables: BTreeMap<String, Vec<R>> = toml::from_str(text)?;
    let rows = tables.remove(R::NAME).unwrap_or_default();
    let strange: Vec<&String> = tables.keys().collect();
    ensure!(strange.is_empty(), "there are rows {strange:?}");
    let mut known = HashSet::new();
    for row in &rows {
        let keys = row.keys();
        row.check().with_context(|| keys.join(", "))?;
        for key in keys {
            ensure!(known.insert(key.clone()), "{key}: there are two rows of it");
        }
    }
    Ok(rows)
}
