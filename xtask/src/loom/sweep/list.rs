//! The reviewed list, `loom-tests/orderings.toml`: the orderings that no model misses, and why.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::order::Order;
use super::sites::Site;

/// Where the list lies.
pub(super) const LIST: &str = "loom-tests/orderings.toml";

/// The entry of an access that no model comes to.
pub(super) const UNREACHED: &str = "not reached";

/// One row: an access whose ordering may be weakened without a model that fails.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Row {
    pub(super) file: String,
    /// `Type::function`, or `function`.
    pub(super) function: String,
    /// What is called; from the second call of that name on with `#2`.
    pub(super) access: String,
    /// `FROM to WEAKER`, after `failure ` where it is the ordering of a failed exchange; or `not reached`.
    pub(super) weakened: Vec<String>,
    /// Why no model can or need fail.
    pub(super) reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    #[serde(default)]
    unseen: Vec<Row>,
}

/// The entry for `site` with `to` in place of its ordering.
pub(super) fn entry(site: &Site, to: Order) -> String {
    let failure = if site.place == 0 { "" } else { "failure " };
    format!("{failure}{} to {to}", site.order)
}

impl Row {
    /// Whether it says `entry` of `site`.
    pub(super) fn says(&self, site: &Site, entry: &str) -> bool {
        self.is_of(site) && self.weakened.iter().any(|w| w == entry)
    }

    pub(super) fn is_of(&self, site: &Site) -> bool {
        self.file == site.file && self.function == site.function && self.access == site.access
    }
}

/// Reads the list of the workspace at `root`.
pub(super) fn load(root: &Path) -> Result<Vec<Row>> {
    let text =
        std::fs::read_to_string(root.join(LIST)).with_context(|| format!("cannot read {LIST}"))?;
    parse(&text).with_context(|| format!("{LIST} is not a list of orderings"))
}

fn parse(text: &str) -> Result<Vec<Row>> {
    let list: List = toml::from_str(text)?;
    let mut known = std::collections::HashSet::new();
    for row in &list.unseen {
        let Row {
            file,
            function,
            access,
            weakened,
            reason,
        } = row;
        let what = format!("{file} {function} {access}");
        ensure!(!weakened.is_empty(), "{what}: nothing is weakened");
        ensure!(!reason.trim().is_empty(), "{what}: no reason");
        for entry in weakened {
            ensure!(
                known.insert((&row.file, &row.function, &row.access, entry)),
                "{what}: {entry:?} is there twice"
            );
        }
    }
    Ok(list.unseen)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn rows_say_what_and_why() {
        let row = |weakened: &str, reason: &str| {
            format!(
                "[[unseen]]\nfile = \"a.rs\"\nfunction = \"f\"\naccess = \"load\"\nweakened = [{weakened}]\nreason = \"{reason}\"\n"
            )
        };
        let good = row("\"Acquire to Relaxed\"", "a count");
        assert_eq!(parse(&good).expect("a valid list").len(), 1);
        assert!(parse("").expect("an empty list").is_empty());
        assert!(parse(&row("", "a count")).is_err());
        assert!(parse(&row("\"Acquire to Relaxed\"", " ")).is_err());
        assert!(parse(&(good.clone() + &good)).is_err());
    }
}
