//! The table of mutants, `loom-tests/mutants.toml`.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::layers;

/// Where the table lies.
pub(crate) const TABLE: &str = "loom-tests/mutants.toml";

/// A deliberately weakened line and the model that must notice.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mutant {
    /// The value of `cfg(terrace_weaken)`.
    pub(crate) name: String,
    /// The layer whose models are searched.
    pub(crate) layer: String,
    /// The test that must fail.
    pub(crate) model: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    #[serde(default)]
    mutant: Vec<Mutant>,
}

/// Reads the table of the workspace at `root`.
pub(crate) fn load(root: &Path) -> Result<Vec<Mutant>> {
    let path = root.join(TABLE);
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {TABLE}"))?;
    parse(&text).with_context(|| format!("{TABLE} is not a table of mutants"))
}

/// Reads a table: rows `[[mutant]]` of `name`, `layer`, `model`, each name once.
pub(crate) fn parse(text: &str) -> Result<Vec<Mutant>> {
    let table: Table = toml::from_str(text)?;
    let mut names = std::collections::HashSet::new();
    for mutant in &table.mutant {
        let Mutant { name, layer, model } = mutant;
        let plain = |s: &str| {
            !s.is_empty()
                && s.chars()
                    .all(|c| c.is_ascii_alphanumeric() || "-_:".contains(c))
        };
        ensure!(
            plain(name),
            "{name:?} is no name: use letters, digits, `-`, `_`"
        );
        ensure!(plain(model), "mutant `{name}`: {model:?} is no test name");
        ensure!(
            layers::NAMES.contains(&layer.as_str()),
            "mutant `{name}`: no layer `{layer}`; there are {}",
            layers::NAMES.join(", ")
        );
        ensure!(names.insert(name), "mutant `{name}` has two rows");
    }
    Ok(table.mutant)
}

#[cfg(test)]
mod tests {
    use super::parse;

    fn row(name: &str, layer: &str, model: &str) -> String {
        format!("[[mutant]]\nname = \"{name}\"\nlayer = \"{layer}\"\nmodel = \"{model}\"\n")
    }

    #[test]
    fn rows_are_read_in_order() {
        let text = row("queue-a", "queue", "m::steal") + &row("park-b", "park", "wake");
        let rows = parse(&text).expect("a valid table");
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0].name, "queue-a");
        assert_eq!(rows[1].model, "wake");
        assert!(parse("").expect("an empty table").is_empty());
    }

    #[test]
    fn bad_rows_are_named() {
        let message = |text: &str| format!("{:#}", parse(text).expect_err("a bad table"));
        assert!(message(&(row("a", "queue", "m") + &row("a", "queue", "n"))).contains("two rows"));
        assert!(message(&row("a", "cellar", "m")).contains("no layer `cellar`"));
        assert!(message(&row("a b", "queue", "m")).contains("is no name"));
        assert!(message(&row("a", "queue", "")).contains("no test name"));
        assert!(message("[[mutant]]\nname = \"a\"\n").contains("layer"));
        assert!(message(&(row("a", "queue", "m") + "why = 1\n")).contains("why"));
    }
}
