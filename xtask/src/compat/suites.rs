//! The published test suites, and running one of them on the stock crate or on the drop-in.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use cargo_metadata::Package;

use super::bus::{self, Bus};
use super::outcome::{Outcome, Verdict, cargo_test};
use super::registry::{
    self, ASYNC_EXECUTOR, BEVY_TASKS, Published, RAYON_CORE, SMOL, bevy, published,
};
use super::{expected, imported, modules};
use crate::workspace::Workspace;

/// Where the tests of a suite come from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    /// The package's own tests, as they are.
    Package,
    /// `bevy_tasks`'s own tests, taken out of it; see [`mod@super::published`].
    Extracted,
    /// Tests, examples and documentation; see [`mod@imported`].
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
    package: Published,
    /// What follows `cargo test`, separated by blanks.
    args: &'static str,
}

/// What the tests of a package need that its published manifest leaves out. Its examples in documentation need files that are
/// not published.
const LEFT_OUT: (&str, &str) = ("zbus", "[dev-dependencies.zbus_xml]\nversion = \"5\"\n");

const APP: Published = bevy("bevy_app");
const ECS: Published = bevy("bevy_ecs");
const TRANSFORM: Published = bevy("bevy_transform");
const GLOBAL: Published = published("async-global-executor", "3.1.0");
const ASYNC_STD: Published = published("async-std", "1.13.2");
const ZBUS: Published = published("zbus", "5.19.0");
const RAYON: Published = published("rayon", "1.12.0");

/// Each suite: its name, where its tests come from, the package, and what follows `cargo test`.
macro_rules! suites {
    ($($name:literal $source:ident $package:ident $args:literal;)+) => {
        /// All suites, quick ones first.
        pub(super) const SUITES: &[Suite] = &[$(Suite {
            name: $name,
            source: Source::$source,
            package: $package,
            args: $args,
        }),+];
    };
}

suites! {
    "async_executor" Imported ASYNC_EXECUTOR "--test published";
    "async_executor-doc" Imported ASYNC_EXECUTOR "--doc";
    "bevy_tasks" Extracted BEVY_TASKS "--lib --features multi_threaded";
    "bevy_tasks-single" Extracted BEVY_TASKS "--lib";
    "bevy_tasks-doc" Extracted BEVY_TASKS "--doc --features multi_threaded";
    "bevy_app" Package APP "--lib";
    "bevy_app-multi" Package APP "--lib --features bevy_ecs/multi_threaded";
    "bevy_transform" Package TRANSFORM "--lib";
    "bevy_transform-multi" Package TRANSFORM "--lib --features multi_threaded";
    "bevy_ecs" Package ECS "--lib --features multi_threaded";
    "async-executor:async_executor" Imported ASYNC_EXECUTOR "--test published";
    "async-executor:async_executor-doc" Imported ASYNC_EXECUTOR "--doc";
    "async-executor:smol-doc" Package SMOL "--doc";
    "async-executor:async-global-executor" Package GLOBAL "--lib --features tokio";
    "async-executor:async-global-executor-doc" Package GLOBAL "--doc";
    "async-executor:async-std" Package ASYNC_STD "--lib --tests --features unstable,attributes";
    "async-executor:async-std-doc" Package ASYNC_STD "--doc --features unstable,attributes";
    "async-executor:zbus" Package ZBUS "--lib --tests --features p2p";
    "async-executor:bevy_tasks" Package BEVY_TASKS "--lib --features multi_threaded";
    "async-executor:bevy_tasks-doc" Package BEVY_TASKS "--doc --features multi_threaded";
    "async-executor:bevy_ecs" Package ECS "--lib --features multi_threaded";
    "both:bevy_ecs" Package ECS "--lib --features multi_threaded";
    "rayon-core:rayon_core" Modules RAYON_CORE "--lib --tests";
    "rayon-core:rayon" Package RAYON "--lib --tests";
}

impl Suite {
    /// The name without what is in place.
    fn short(&self) -> &'static str {
        self.name.rsplit(':').next().unwrap_or_default()
    }

    /// Our packages in place of published ones, the one to prove first.
    fn drop_ins(&self) -> &'static [Published] {
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

/// The directories the suites work in.
pub(super) struct Runner<'w> {
    ws: &'w Workspace,
    /// Copies, and artifacts.
    work: PathBuf,
    /// The published packages.
    packages: Vec<Package>,
}

impl<'w> Runner<'w> {
    /// Locates everything.
    pub(super) fn set_up(ws: &'w Workspace, suites: &[&Suite]) -> Result<Self> {
        let work = ws.target.join("compat");
        let mut wanted: Vec<_> = suites.iter().map(|suite| suite.package).collect();
        wanted.sort_unstable_by_key(|package| package.name);
        wanted.dedup();
        let packages = registry::locate(&work.join("locate"), &wanted)?;
        Ok(Self { ws, work, packages })
    }

    /// The committed record.
    fn record(&self, suite: &Suite) -> PathBuf {
        let file = format!("crates/compat/expected/{}.txt", suite.short());
        self.ws.root.join(file)
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
        let name = suite.package.name;
        let package = self.packages.iter().find(|p| p.name.as_str() == name);
        let package = package.context("every suite's package was located")?;
        let (mut dir, mut args) = (side.join(name), suite.args.to_owned());
        match (suite.source, stock) {
            (Source::Extracted, Some(stock)) => {
                dir = side.join(suite.name);
                // The tests of the library are those of a file now.
                args = args.replace("--lib", "--test published");
                super::published::rebuild(&dir, package, patch, stock)?;
            }
            (Source::Package | Source::Extracted, _) => {
                let left_out = if name == LEFT_OUT.0 { LEFT_OUT.1 } else { "" };
                registry::copy(package, &dir, &format!("{patch}{left_out}"))?;
            }
            (Source::Modules, _) => modules::rebuild(&dir, package, patch)?,
            (Source::Imported, stock) => {
                let is_ours = stock.is_some() && suite.drop_ins().is_empty();
                let ours = is_ours.then_some(&*self.ws.root);
                imported::rebuild(&dir, package, ours, patch)?;
            }
        }
        Ok((dir, args))
    }

    /// Runs a suite on the stock crate and records what passes.
    pub(super) fn bless(&self, suite: &Suite) -> Result<String> {
        let Published { name, version } = suite.package;
        let side = self.work.join("stock");
        let (dir, args) = self.write(suite, &side, "", None)?;
        let under_test = suite.drop_ins().first().unwrap_or(&ASYNC_EXECUTOR).name;
        let stock = test(&dir, &side, &args)?;
        let title = format!("{name} {version}: cargo test {}", suite.args);
        expected::record(&self.record(suite), &title, under_test, &stock)?;
        let (passed, all) = (stock.with(Verdict::Ok).len(), stock.tests.len());
        Ok(format!("{passed} of {all} tests pass"))
    }

    /// Runs a suite on the drop-in and compares with the record.
    pub(super) fn check(&self, suite: &Suite) -> Result<String> {
        let stock = expected::read(&self.record(suite))?;
        let place = suite.name.split_once(':');
        let side = self.work.join(place.map_or("ours", |(place, _)| place));
        let patch = registry::patch(&self.ws.root, suite.drop_ins());
        let (dir, args) = self.write(suite, &side, &patch, Some(&stock))?;
        if let Some(drop_in) = suite.drop_ins().first() {
            let args: Vec<&str> = args.split(' ').collect();
            registry::prove(&dir, &args, drop_in, Some(&self.ws.root))?;
        }
        expected::compare(&stock, &test(&dir, &side, &args)?)
    }
}

/// Runs the tests with a bus of their own, which those of `zbus` need.
fn test(dir: &Path, side: &Path, args: &str) -> Result<Outcome> {
    let (target, args) = (side.join("target"), args.split(' ').collect::<Vec<_>>());
    if !dir.ends_with("zbus") {
        return cargo_test(dir, &target, &args, &[]);
    }
    let bus = Bus::start()?;
    cargo_test(dir, &target, &args, &[(bus::VARIABLE, bus.address.clone())])
}
