//! `cargo xtask compat --interface`: the drop-in for `async-executor` offers what the published package offers, and nothing else.
//!
//! The drop-in's tests of its interface name every public item. They compile against both packages, and pass. Then rustdoc
//! describes both, with all signatures, bounds and auto traits, and the descriptions are compared.

use std::path::PathBuf;

use anyhow::{Result, ensure};

use super::outcome::Outcome;
use super::registry::{self, ASYNC_EXECUTOR, write_if_changed};
use super::sides::Side;
use super::{expected, outcome};
use crate::api::{self, AutoTraits};
use crate::build::Build;
use crate::progress::run_all;
use crate::workspace::Workspace;

/// The package of a side.
struct Written {
    dir: PathBuf,
    /// What cargo is asked for, to get the description.
    name: &'static str,
}

/// Writes the package of a side: the tests, and what they need. These features are on by default.
fn write(ws: &Workspace, features: &[&str], side: Side) -> Result<Written> {
    let dir = ws.target.join("compat/interface");
    let dir = dir.join(format!("{}{}", side.name(), features.concat()));
    let (package, version) = (ASYNC_EXECUTOR.name, ASYNC_EXECUTOR.version);
    let testing = ws.root.join("crates/testing").display().to_string();
    let manifest = format!(
        "[package]\nname = \"interface\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
         [features]\ndefault = {features:?}\nstatic = [\"{package}/static\"]\n\n[dependencies]\n{package} = \"={version}\"\n\n\
         [dev-dependencies]\nasync-task = \"4\"\nfutures-lite = \"2\"\nstatic_assertions = \"1\"\n\
         terrace-testing = {{ path = {testing:?} }}\n{}",
        registry::patch(&ws.root, side.patched(&[ASYNC_EXECUTOR]))
    );
    write_if_changed(&dir.join("Cargo.toml"), manifest.as_bytes())?;
    write_if_changed(&dir.join("src/lib.rs"), b"")?;
    let tests = ws.root.join("crates/compat").join(package);
    let tests = fs_err::read(tests.join("tests/interface.rs"))?;
    write_if_changed(&dir.join("tests/interface.rs"), &tests)?;
    side.prove(ws, &dir, &ASYNC_EXECUTOR)?;
    Ok(Written { dir, name: package })
}

impl Written {
    fn target(&self) -> PathBuf {
        self.dir.join("target")
    }

    /// Runs the tests.
    fn test(&self) -> Result<Outcome> {
        outcome::cargo_test(&self.dir, &self.target(), &["--test", "interface"], &[])
    }

    /// The public items, with their auto traits.
    fn items(&self) -> Result<String> {
        let build = api::describing(Build::of(&self.dir, self.target()))?;
        build.quiet_cargo(&["doc", "--quiet", "--no-deps", "-p", self.name])?;
        let description = build.target().join("doc").join(self.name.replace('-', "_"));
        let items = api::items(&description.with_extension("json"), AutoTraits::Listed)?;
        Ok(plain(&items))
    }
}

/// The items without what no program sees: which lifetimes have names in an `impl`, and who implements `Drop`.
fn plain(items: &str) -> String {
    let named = regex_lite::Regex::new("^impl<'[a-z]+> |'[a-z]+").expect("it is an expression");
    let plain = items
        .lines()
        .filter(|line| !line.contains(" core::ops::drop::Drop for "))
        .map(|line| {
            if !line.starts_with("impl") {
                return format!("{line}\n");
            }
            let line = named.replace_all(line, |found: &regex_lite::Captures<'_>| {
                if found[0].starts_with("impl") {
                    "impl "
                } else {
                    "'_"
                }
            });
            format!("{line}\n")
        });
    let mut lines: Vec<String> = plain.collect();
    lines.sort();
    lines.concat()
}

/// Compares both sides, without features and with all.
pub(super) fn run(ws: &Workspace) -> Result<()> {
    let ways: [&[&str]; 2] = [&[], &["static"]];
    let shown = |features: &&[&str]| format!("features {features:?}");
    run_all("compat --interface", &ways, shown, |features| {
        let [stock, ours] = Side::BOTH.map(|side| write(ws, features, side));
        let (stock, ours) = (stock?, ours?);
        let tests = stock.test()?;
        ensure!(
            tests.passed().len() == tests.tests.len(),
            "not all tests pass on the published package: {tests:?}"
        );
        let tests = expected::compare(&tests, &ours.test()?)?;
        let (stock, ours) = (stock.items()?, ours.items()?);
        let difference = api::difference(&stock, &ours);
        ensure!(
            difference.is_empty(),
            "the interfaces differ (- published, + drop-in):\n{}",
            difference.join("\n")
        );
        Ok(format!("{tests}, the same {} items", stock.lines().count()))
    })
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn names_of_lifetimes_in_an_impl_do_not_count() {
        let one = "impl<'a> core::default::Default for e::E<'a>\nimpl core::ops::drop::Drop for e::E<'_>\n";
        let other = "impl core::default::Default for e::E<'_>\n";
        assert_eq!(plain(one), plain(other));
        let bound = "pub fn e::E<'a>::spawn<T: 'a>(&self)\n";
        assert_eq!(plain(bound), bound);
        assert_ne!(
            plain("impl core::marker::Send for e::E<'_>\n"),
            plain("impl !core::marker::Send for e::E<'_>\n")
        );
    }
}
