//! `cargo xtask compat --interface`: the drop-in for `async-executor` offers what the published package offers, and nothing else.
//!
//! The drop-in's tests of its interface name every public item. They compile against both packages, and pass. Then rustdoc
//! describes both, with all signatures, bounds and auto traits, and the descriptions are compared.
//!
//! The drop-in for `bevy_tasks` offers more than the published package. Its tests of the interface are a suite.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use super::outcome::{Outcome, Verdict, cargo_test};
use super::registry::{ASYNC_EXECUTOR, Published, copy_tree};
use super::{expected, sides::Side};
use crate::api::{self, AutoTraits};
use crate::build::Build;
use crate::progress::run_all;
use crate::workspace::{self, Workspace};

/// Writes a package with the tests of the drop-in for `package`, which compile against the published one, too. `tables` follow the
/// dependency on it.
pub(super) fn write_tests(
    ws: &Workspace,
    dir: &Path,
    package: Published,
    tables: &str,
    patch: &str,
) -> Result<()> {
    let Published { name, version } = package;
    let testing = ws.root.join("crates/testing").display().to_string();
    let dependencies = format!(
        "{name} = \"={version}\"\n\n{tables}\n[dev-dependencies]\nasync-task = \"4\"\nfutures-lite = \"2\"\n\
         static_assertions = \"1\"\nterrace-testing = {{ path = {testing:?} }}\n{patch}"
    );
    workspace::probe(dir, &dependencies)?;
    let drop_in = ws.root.join("crates/compat").join(name);
    copy_tree(&drop_in.join("tests"), &dir.join("tests"))
}

/// Writes the package of a side. These features are on by default.
fn written(ws: &Workspace, features: &[&str], side: Side) -> Result<PathBuf> {
    let dir = ws.target.join("compat/interface");
    let dir = dir.join(format!("{}{}", side.name(), features.concat()));
    let name = ASYNC_EXECUTOR.name;
    let tables = format!("[features]\ndefault = {features:?}\nstatic = [\"{name}/static\"]\n");
    let patch = side.patch(ws, &[ASYNC_EXECUTOR]);
    write_tests(ws, &dir, ASYNC_EXECUTOR, &tables, &patch)?;
    side.prove(ws, &dir, &[], &ASYNC_EXECUTOR)?;
    Ok(dir)
}

fn test(dir: &Path) -> Result<Outcome> {
    cargo_test(dir, &dir.join("target"), &["--test", "interface"], None)
}

/// The public items, with their auto traits.
fn items(dir: &Path) -> Result<String> {
    let (build, name) = (Build::of(dir, dir.join("target")), ASYNC_EXECUTOR.name);
    let described = api::describe(build, "doc --quiet --no-deps", &[name], AutoTraits::Listed)?;
    Ok(described.iter().map(|of| plain(&of.items)).collect())
}

/// The items without what no program sees: which lifetimes have names in an `impl`, and who implements `Drop`.
fn plain(items: &str) -> String {
    let head = regex_lite::Regex::new("^impl<'[a-z]+> ").expect("it is an expression");
    let lifetime = regex_lite::Regex::new("'[a-z]+").expect("it is an expression");
    let mut lines = Vec::new();
    for line in items.lines() {
        if line.starts_with("impl") && !line.contains(" core::ops::drop::Drop for ") {
            let line = head.replace(line, "impl ");
            lines.push(format!("{}\n", lifetime.replace_all(&line, "'_")));
        } else if !line.starts_with("impl") {
            lines.push(format!("{line}\n"));
        }
    }
    lines.sort();
    lines.concat()
}

/// Compares both sides, without features and with all.
pub(super) fn run(ws: &Workspace) -> Result<()> {
    let ways: [&[&str]; 2] = [&[], &["static"]];
    let shown = |features: &&[&str]| format!("features {features:?}");
    run_all("compat --interface", &ways, shown, |features| {
        let [stock, ours] = Side::both(|side| written(ws, features, side))?;
        let tests = test(&stock)?;
        ensure!(
            tests.with(Verdict::Ok).len() == tests.tests.len(),
            "not all tests pass on the published package: {tests:?}"
        );
        let tests = expected::compare(&tests, &test(&ours)?)?;
        let [stock, ours] = [items(&stock)?, items(&ours)?];
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
