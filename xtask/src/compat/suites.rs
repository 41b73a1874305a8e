//! The published test suites, and running one of them on the stock crate or on the drop-in.

use std::path::PathBuf;

use anyhow::{Context, Result};
use cargo_metadata::Package;

use super::imported::Behind;
use super::outcome::{Outcome, cargo_test};
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
    /// Names the suite and its record.
    pub(super) name: &'static str,
    package: &'static str,
    version: &'static str,
    source: Source,
    /// What follows `cargo test`.
    args: &'static [&'static str],
    /// What takes the place of `args` where the tests were extracted.
    extracted_args: &'static [&'static str],
}

const fn own(name: &'static str, package: &'static str, args: &'static [&'static str]) -> Suite {
    Suite {
        name,
        package,
        version: registry::BEVY,
        source: Source::Package,
        args,
        extracted_args: &[],
    }
}

const fn extracted(
    name: &'static str,
    args: &'static [&'static str],
    extracted_args: &'static [&'static str],
) -> Suite {
    Suite {
        name,
        package: "bevy_tasks",
        version: registry::BEVY,
        source: Source::Extracted,
        args,
        extracted_args,
    }
}

const fn imported(name: &'static str, args: &'static [&'static str]) -> Suite {
    Suite {
        name,
        package: "async-executor",
        version: registry::ASYNC_EXECUTOR,
        source: Source::Imported,
        args,
        extracted_args: &[],
    }
}

/// All suites, quick ones first.
pub(super) const SUITES: &[Suite] = &[
    imported("async_executor", &["--test", "published"]),
    imported("async_executor-doc", &["--doc"]),
    extracted(
        "bevy_tasks",
        &["--lib", "--features", "multi_threaded"],
        &["--test", "published", "--features", "multi_threaded"],
    ),
    extracted("bevy_tasks-single", &["--lib"], &["--test", "published"]),
    extracted(
        "bevy_tasks-doc",
        &["--doc", "--features", "multi_threaded"],
        &["--doc", "--features", "multi_threaded"],
    ),
    own("bevy_app", "bevy_app", &["--lib"]),
    own(
        "bevy_app-multi",
        "bevy_app",
        &["--lib", "--features", "bevy_ecs/multi_threaded"],
    ),
    own("bevy_transform", "bevy_transform", &["--lib"]),
    own(
        "bevy_transform-multi",
        "bevy_transform",
        &["--lib", "--features", "multi_threaded"],
    ),
    own(
        "bevy_ecs",
        "bevy_ecs",
        &["--lib", "--features", "multi_threaded"],
    ),
];

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
        let mut names: Vec<_> = SUITES
            .iter()
            .map(|suite| (suite.package, suite.version))
            .collect();
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
        let mut found = self
            .packages
            .iter()
            .filter(|package| package.name.as_str() == suite.package);
        found.next().context("every suite's package was located")
    }

    fn record(&self, suite: &Suite) -> PathBuf {
        self.records.join(format!("{}.txt", suite.name))
    }

    /// Runs a suite on the stock crate and records what passes.
    pub(super) fn bless(&self, suite: &Suite) -> Result<String> {
        let package = self.package(suite)?;
        let side = self.work.join("stock");
        let dir = side.join(suite.package);
        if suite.source == Source::Imported {
            imported::write(&dir, package, &Behind::Stock)?;
        } else {
            registry::copy(package, &dir)?;
            registry::write_manifest(package, &dir, "")?;
        }
        let stock = cargo_test(&dir, &side.join("target"), suite.args)?;
        let title = format!(
            "{} {}: cargo test {}",
            suite.package,
            package.version,
            suite.args.join(" ")
        );
        let under_test = match suite.source {
            Source::Imported => suite.package,
            Source::Package | Source::Extracted => "bevy_tasks",
        };
        expected::record(&self.record(suite), &title, under_test, &stock)?;
        Ok(format!(
            "{} of {} tests pass",
            stock.passed().len(),
            stock.tests.len()
        ))
    }

    /// Runs a suite on the drop-in and compares with the record.
    pub(super) fn check(&self, suite: &Suite) -> Result<String> {
        let package = self.package(suite)?;
        let stock = expected::read(&self.record(suite))?;
        let side = self.work.join("ours");
        let patch = registry::patch(&self.drop_in);
        let (dir, args) = match suite.source {
            Source::Package => {
                let dir = side.join(suite.package);
                registry::copy(package, &dir)?;
                registry::write_manifest(package, &dir, &patch)?;
                (dir, suite.args)
            }
            Source::Extracted => {
                let dir = side.join(suite.name);
                published::write(&dir, package, &patch, &stock)?;
                (dir, suite.extracted_args)
            }
            Source::Imported => {
                let dir = side.join(suite.package);
                imported::write(&dir, package, &Behind::Ours(&self.root))?;
                (dir, suite.args)
            }
        };
        if suite.source != Source::Imported {
            registry::prove_patched(&dir, args, &self.drop_in)?;
        }
        let ours: Outcome = cargo_test(&dir, &side.join("target"), args)?;
        expected::compare(&stock, &ours)
    }
}
