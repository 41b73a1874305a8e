//! The published test suites, and running one of them on the stock crate or on the drop-in.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use cargo_metadata::Package;

use super::bus::{self, Bus};
use super::outcome::{Outcome, cargo_test};
use super::registry::{ASYNC_EXECUTOR, BEVY_TASKS, DropIn, RAYON_CORE};
use super::{expected, imported, modules, published, registry};
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
    /// Tests of private modules, in modules of the same names; see [`modules`].
    Modules,
}

/// One published test suite.
pub(super) struct Suite {
    /// What is in the published package's place, a colon, and the name of the suite. Where nothing stands before a colon it is
    /// `bevy_tasks`, or for imported tests our layers. The suite is called after its package, with a `-` and what tells suites of
    /// one package apart. Its record bears the suite's name.
    pub(super) name: &'static str,
    source: Source,
    /// The published package and its version.
    package: (&'static str, &'static str),
    /// What follows `cargo test`, separated by blanks.
    args: &'static str,
}

/// What the tests of a package need that its published manifest leaves out. Its examples in documentation need files that are
/// not published.
const LEFT_OUT: (&str, &str) = ("zbus", "[dev-dependencies.zbus_xml]\nversion = \"5\"\n");

/// Each suite: its name, where its tests come from, the package (of Bevy if there is none), and what follows `cargo test`.
macro_rules! suites {
    ($($name:literal $source:ident $(($package:expr, $version:expr))? $args:literal;)+) => {
        /// All suites, quick ones first.
        pub(super) const SUITES: &[Suite] = &[$(Suite {
            name: $name,
            source: Source::$source,
            package: suites!(@package $(($package, $version))?),
            args: $args,
        }),+];
    };
    (@package) => { ("", registry::BEVY) };
    (@package ($package:expr, $version:expr)) => { ($package, $version) };
}

suites! {
    "async_executor" Imported (ASYNC_EXECUTOR.name, ASYNC_EXECUTOR.version) "--test published";
    "async_executor-doc" Imported (ASYNC_EXECUTOR.name, ASYNC_EXECUTOR.version) "--doc";
    "bevy_tasks" Extracted "--lib --features multi_threaded";
    "bevy_tasks-single" Extracted "--lib";
    "bevy_tasks-doc" Extracted "--doc --features multi_threaded";
    "bevy_app" Package "--lib";
    "bevy_app-multi" Package "--lib --features bevy_ecs/multi_threaded";
    "bevy_transform" Package "--lib";
    "bevy_transform-multi" Package "--lib --features multi_threaded";
    "bevy_ecs" Package "--lib --features multi_threaded";
    "async-executor:async_executor" Imported (ASYNC_EXECUTOR.name, ASYNC_EXECUTOR.version) "--test published";
    "async-executor:async_executor-doc" Imported (ASYNC_EXECUTOR.name, ASYNC_EXECUTOR.version) "--doc";
    "async-executor:smol-doc" Package ("smol", "2.0.2") "--doc";
    "async-executor:async-global-executor" Package ("async-global-executor", "3.1.0") "--lib --features tokio";
    "async-executor:async-global-executor-doc" Package ("async-global-executor", "3.1.0") "--doc";
    "async-executor:async-std" Package ("async-std", "1.13.2") "--lib --tests --features unstable,attributes";
    "async-executor:async-std-doc" Package ("async-std", "1.13.2") "--doc --features unstable,attributes";
    "async-executor:zbus" Package ("zbus", "5.19.0") "--lib --tests --features p2p";
    "async-executor:bevy_tasks" Package "--lib --features multi_threaded";
    "async-executor:bevy_tasks-doc" Package "--doc --features multi_threaded";
    "async-executor:bevy_ecs" Package "--lib --features multi_threaded";
    "both:bevy_ecs" Package "--lib --features multi_threaded";
    "rayon-core:rayon_core" Modules (RAYON_CORE.name, RAYON_CORE.version) "--lib --tests";
    "rayon-core:rayon" Package ("rayon", "1.12.0") "--lib --tests";
}

impl Suite {
    /// The published package and its version.
    fn package(&self) -> (&'static str, &'static str) {
        let first = self.short().split('-').next().unwrap_or_default();
        match self.package {
            ("", version) => (first, version),
            package => package,
        }
    }

    /// The name without what is in place.
    fn short(&self) -> &'static str {
        self.name.rsplit(':').next().unwrap_or_default()
    }

    /// Our packages in place of published ones, the one to prove first.
    fn drop_ins(&self) -> &'static [DropIn] {
        match (self.name.split_once(':'), self.source) {
            (Some(("both", _)), _) => &[BEVY_TASKS, ASYNC_EXECUTOR],
            (Some(("rayon-core", _)), _) => &[RAYON_CORE],
            (Some(_), _) => &[ASYNC_EXECUTOR],
            (None, Source::Imported) => &[],
            (None, _) => &[BEVY_TASKS],
        }
    }

    /// Whether it is another suite that records what passes.
    pub(super) fn is_second(&self) -> bool {
        let first = SUITES.iter().find(|suite| suite.short() == self.short());
        first.is_some_and(|first| first.name != self.name)
    }
}

/// The lines of [`LEFT_OUT`] for this package.
fn left_out(package: &str) -> &'static str {
    let (name, lines) = LEFT_OUT;
    if package == name { lines } else { "" }
}

/// The directories the suites work in.
pub(super) struct Runner {
    /// Copies, and artifacts.
    work: PathBuf,
    /// The workspace.
    root: PathBuf,
    /// The committed records.
    records: PathBuf,
    /// The published packages.
    packages: Vec<Package>,
}

impl Runner {
    /// Locates everything.
    pub(super) fn set_up(ws: &Workspace, suites: &[&Suite]) -> Result<Self> {
        let work = ws.target.join("compat");
        let mut names: Vec<_> = suites.iter().map(|suite| suite.package()).collect();
        names.sort_unstable();
        names.dedup();
        Ok(Self {
            packages: registry::locate(&work.join("locate"), &names)?,
            root: ws.root.clone(),
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
        self.records.join(format!("{}.txt", suite.short()))
    }

    /// Writes the package of a suite into a directory of the side, with this at the end of its manifest: for the stock crate, or
    /// for ours, which has to do what the `stock` one did. The directory, and what follows `cargo test` there.
    fn write(
        &self,
        suite: &Suite,
        side: &Path,
        patch: &str,
        stock: Option<&Outcome>,
    ) -> Result<(PathBuf, String)> {
        let (package, (name, _)) = (self.package(suite)?, suite.package());
        let (mut dir, mut args) = (side.join(name), suite.args.to_owned());
        match (suite.source, stock) {
            (Source::Extracted, Some(stock)) => {
                dir = side.join(suite.name);
                // The tests of the library are those of a file now.
                args = args.replace("--lib", "--test published");
                published::write(&dir, package, patch, stock)?;
            }
            (Source::Package | Source::Extracted, _) => {
                registry::copy(package, &dir, &format!("{patch}{}", left_out(name)))?;
            }
            (Source::Modules, _) => modules::write(&dir, package, patch)?,
            (Source::Imported, stock) => {
                let ours = stock.filter(|_| suite.drop_ins().is_empty());
                let ours = ours.map(|_| self.root.as_path());
                imported::write(&dir, package, ours, patch)?;
            }
        }
        Ok((dir, args))
    }

    /// Runs a suite on the stock crate and records what passes.
    pub(super) fn bless(&self, suite: &Suite) -> Result<String> {
        let (name, version) = suite.package();
        let side = self.work.join("stock");
        let (dir, args) = self.write(suite, &side, "", None)?;
        let under_test = suite.drop_ins().first().unwrap_or(&ASYNC_EXECUTOR).name;
        let stock = self.test(&dir, &side, &args)?;
        let title = format!("{name} {version}: cargo test {}", suite.args);
        expected::record(&self.record(suite), &title, under_test, &stock)?;
        let (passed, all) = (stock.passed().len(), stock.tests.len());
        Ok(format!("{passed} of {all} tests pass"))
    }

    /// Runs a suite on the drop-in and compares with the record.
    pub(super) fn check(&self, suite: &Suite) -> Result<String> {
        let stock = expected::read(&self.record(suite))?;
        let place = suite.name.split_once(':');
        let side = self.work.join(place.map_or("ours", |(place, _)| place));
        let patch = registry::patch(&self.root, suite.drop_ins());
        let (dir, args) = self.write(suite, &side, &patch, Some(&stock))?;
        if let Some(drop_in) = suite.drop_ins().first() {
            let args: Vec<&str> = args.split(' ').collect();
            registry::prove(&dir, &args, drop_in, Some(&self.root))?;
        }
        expected::compare(&stock, &self.test(&dir, &side, &args)?)
    }

    /// Runs the tests with a bus of their own, which those of `zbus` need.
    fn test(&self, dir: &Path, side: &Path, args: &str) -> Result<Outcome> {
        let (target, args) = (side.join("target"), args.split(' ').collect::<Vec<_>>());
        if !dir.ends_with("zbus") {
            return cargo_test(dir, &target, &args, &[]);
        }
        let bus = Bus::start()?;
        cargo_test(dir, &target, &args, &[(bus::VARIABLE, bus.address.clone())])
    }
}
