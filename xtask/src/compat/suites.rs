//! The published test suites, and running one of them on the stock crate or on the drop-in.

use std::path::PathBuf;

use anyhow::{Context, Result};
use cargo_metadata::Package;

use super::imported::Behind;
use super::outcome::cargo_test;
use super::{expected, imported, published, registry};
use crate::workspace::Workspace;

/// Where the tests of a suite come from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    /// The package's own tests, as they are.
    Package,
    /// `bevy_tasks`'s own tests, taken out of it; see [`published`].
    Extracted,
    /// Tests, examples and documentation that import another crate; see [`mod@imported`].
    Imported,
}

/// One published test suite.
pub(super) struct Suite {
    /// Names the suite and its record: the package, and after a `-` what tells suites of one package apart.
    pub(super) name: &'static str,
    source: Source,
    /// What follows `cargo test`, separated by blanks.
    args: &'static str,
}

/// All suites, quick ones first.
pub(super) const SUITES: [Suite; 10] = [
    suite("async_executor", Source::Imported, "--test published"),
    suite("async_executor-doc", Source::Imported, "--doc"),
    suite(
        "bevy_tasks",
        Source::Extracted,
        "--lib --features multi_threaded",
    ),
    suite("bevy_tasks-single", Source::Extracted, "--lib"),
    suite(
        "bevy_tasks-doc",
        Source::Extracted,
        "--doc --features multi_threaded",
    ),
    suite("bevy_app", Source::Package, "--lib"),
    suite(
        "bevy_app-multi",
        Source::Package,
        "--lib --features bevy_ecs/multi_threaded",
    ),
    suite("bevy_transform", Source::Package, "--lib"),
    suite(
        "bevy_transform-multi",
        Source::Package,
        "--lib --features multi_threaded",
    ),
    suite(
        "bevy_ecs",
        Source::Package,
        "--lib --features multi_threaded",
    ),
];

const fn suite(name: &'static str, source: Source, args: &'static str) -> Suite {
    Suite { name, source, args }
}

impl Suite {
    /// The published package and its version.
    fn package(&self) -> (&'static str, &'static str) {
        match self.source {
            Source::Imported => ("async-executor", registry::ASYNC_EXECUTOR),
            _ => (
                self.name.split('-').next().unwrap_or_default(),
                registry::BEVY,
            ),
        }
    }
}

/// The directories the suites work in.
pub(super) struct Runner {
    /// Copies, and artifacts.
    work: PathBuf,
    /// The workspace.
    root: PathBuf,
    /// The drop-in package.
    drop_in: PathBuf,
    /// The committed records.
    records: PathBuf,
    /// The published packages.
    packages: Vec<Package>,
}

impl Runner {
    /// Locates everything.
    pub(super) fn set_up(ws: &Workspace) -> Result<Self> {
        let work = ws.target.join("compat");
        let mut names: Vec<_> = SUITES.iter().map(Suite::package).collect();
        names.sort_unstable();
        names.dedup();
        Ok(Self {
            packages: registry::locate(&work.join("locate"), &names)?,
            root: ws.root.clone(),
            drop_in: ws.root.join("crates/compat/bevy_tasks"),
            records: ws.root.join("crates/compat/expected"),
            work,
        })
    }

    fn package(&self, suite: &Suite) -> Result<&Package> {
        let (name, _) = suite.package();
        let mut found = self
            .packages
            .iter()
            .filter(|package| package.name.as_str() == name);
        found.next().context("every suite's package was located")
    }

    fn record(&self, suite: &Suite) -> PathBuf {
        self.records.join(format!("{}.txt", suite.name))
    }

    /// Runs a suite on the stock crate and records what passes.
    pub(super) fn bless(&self, suite: &Suite) -> Result<String> {
        let package = self.package(suite)?;
        let (name, version) = suite.package();
        let side = self.work.join("stock");
        let dir = side.join(name);
        let under_test = match suite.source {
            Source::Imported => {
                imported::write(&dir, package, &Behind::Stock)?;
                name
            }
            Source::Package | Source::Extracted => {
                registry::copy(package, &dir, "")?;
                "bevy_tasks"
            }
        };
        let args: Vec<&str> = suite.args.split(' ').collect();
        let stock = cargo_test(&dir, &side.join("target"), &args)?;
        let title = format!("{name} {version}: cargo test {}", suite.args);
        expected::record(&self.record(suite), &title, under_test, &stock)?;
        let (passed, all) = (stock.passed().len(), stock.tests.len());
        Ok(format!("{passed} of {all} tests pass"))
    }

    /// Runs a suite on the drop-in and compares with the record.
    pub(super) fn check(&self, suite: &Suite) -> Result<String> {
        let package = self.package(suite)?;
        let stock = expected::read(&self.record(suite))?;
        let side = self.work.join("ours");
        let patch = registry::patch(&self.drop_in);
        let mut dir = side.join(suite.package().0);
        let mut args = suite.args.to_owned();
        match suite.source {
            Source::Package => registry::copy(package, &dir, &patch)?,
            Source::Extracted => {
                dir = side.join(suite.name);
                // The tests of the library are those of a file now.
                args = args.replace("--lib", "--test published");
                published::write(&dir, package, &patch, &stock)?;
            }
            Source::Imported => imported::write(&dir, package, &Behind::Ours(&self.root))?,
        }
        let args: Vec<&str> = args.split(' ').collect();
        if suite.source != Source::Imported {
            registry::prove_patched(&dir, &args, &self.drop_in)?;
        }
        expected::compare(&stock, &cargo_test(&dir, &side.join("target"), &args)?)
    }
}
