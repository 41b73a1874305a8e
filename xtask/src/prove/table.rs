//! The table of faults, `loom-tests/faults.toml`.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

/// Where the table lies.
pub(crate) const TABLE: &str = "loom-tests/faults.toml";

/// What catches a fault.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Net {
    /// A model of `loom-tests`.
    Loom,
    /// A model of `loom-tests/shuttle`.
    Shuttle,
    /// An integration test of a package, debug assertions on.
    Test,
    /// The same under AddressSanitizer.
    Asan,
    /// The same under ThreadSanitizer.
    Tsan,
    /// The soak program.
    Soak,
}

/// A fault that can be planted, and the net that must catch it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fault {
    /// The value of `cfg(terrace_weaken)`; a mutant of loom's table, or a fault of this one alone.
    pub(crate) name: String,
    /// What is wrong then.
    pub(crate) what: String,
    pub(crate) net: Net,
    /// `FILE::TEST`; not for the soak.
    pub(crate) test: Option<String>,
    /// Whose test, for example `terrace-queue`; not for models and the soak.
    pub(crate) package: Option<String>,
}

impl Fault {
    /// The test program and the name of the test in it.
    pub(super) fn parts(&self) -> Result<(&str, &str)> {
        let test = self.test.as_deref().unwrap_or_default();
        test.split_once("::")
            .with_context(|| format!("fault `{}`: {test:?} is not FILE::TEST", self.name))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    #[serde(default)]
    fault: Vec<Fault>,
}

/// Reads the table of the workspace at `root`.
pub(crate) fn load(root: &Path) -> Result<Vec<Fault>> {
    let text = std::fs::read_to_string(root.join(TABLE))
        .with_context(|| format!("cannot read {TABLE}"))?;
    parse(&text).with_context(|| format!("{TABLE} is not a table of faults"))
}

fn parse(text: &str) -> Result<Vec<Fault>> {
    let table: Table = toml::from_str(text)?;
    let mut known = std::collections::HashSet::new();
    for fault in &table.fault {
        let name = &fault.name;
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        ensure!(
            !name.is_empty() && name.chars().all(plain),
            "{name:?} is no name: use letters, digits, `-`"
        );
        ensure!(
            !fault.what.trim().is_empty(),
            "fault `{name}`: what is wrong?"
        );
        let of_package = matches!(fault.net, Net::Test | Net::Asan | Net::Tsan);
        ensure!(
            of_package == fault.package.is_some(),
            "fault `{name}`: `package` is for the nets test, asan and tsan, and needed there"
        );
        match fault.net {
            Net::Soak => ensure!(
                fault.test.is_none(),
                "fault `{name}`: the soak has no tests"
            ),
            _ => {
                fault.parts()?;
            }
        }
        let net = format!("{:?} {:?}", fault.net, fault.test);
        ensure!(
            known.insert((name, net)),
            "fault `{name}` has two equal rows"
        );
    }
    Ok(table.fault)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn a_row_names_its_net() {
        let row = |rest: &str| format!("[[fault]]\nname = \"a\"\nwhat = \"w\"\n{rest}\n");
        let good = row("net = \"loom\"\ntest = \"file::test\"");
        assert_eq!(parse(&good).expect("a valid table").len(), 1);
        assert!(parse(&row("net = \"soak\"")).is_ok());
        assert!(
            parse(&row(
                "net = \"asan\"\ntest = \"file::test\"\npackage = \"p\""
            ))
            .is_ok()
        );
        assert!(parse(&(good.clone() + &good)).is_err());
        assert!(parse(&row("net = \"loom\"\ntest = \"file\"")).is_err());
        assert!(parse(&row("net = \"asan\"\ntest = \"file::test\"")).is_err());
        assert!(parse(&row("net = \"soak\"\ntest = \"file::test\"")).is_err());
        assert!(parse(&row("net = \"fishing\"")).is_err());
    }
}
