//! The published test suites, and running one of them on the stock crate or on the drop-in.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::bus::Bus;
use super::outcome::{Outcome, Verdict, cargo_test};
use super::registry::{
    self, ASYNC_EXECUTOR, BEVY_TASKS, Published, RAYON_CORE, SMOL, bevy, published,
};
use super::sides::Side;
use super::{expected, imported, interface, modules};
use crate::toolchain::Compiler;
use crate::workspace::Workspace;

/// Where the tests of a suite come from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    /// The package's own tests, as they are.
    Package,
    /// `bevy_tasks`'s own tests, taken out of it; see [`mod@super::published`].
    Extracted,
    /// The drop-in's tests of the interface.
    Interface,
    /// Tests, examples and documentation; see [`mod@imported`].
    Imported,
    /// Tests of private modules, in modules of the same names; see [`modules`].
    Modules,
}

/// One published test suite.
#[derive(Clone, Copy)]
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

/// The Bevys whose `Task` is a type of bevy_tasks. There `bevy_transform` has no feature `multi_threaded`.
const OWN_TASK: [&str; 2] = ["0.17.3", "0.18.1"];

/// The features that the tests of the interface ask for by `cfg`.
const FEATURES: &str = r#"[features]
default = ["async_executor", "futures-lite"]
async_executor = []
async-io = ["bevy_tasks/async-io"]
futures-lite = []
multi_threaded = ["bevy_tasks/multi_threaded"]
"#;

/// Tests without debug information.
const NO_DEBUG: (&str, &str) = ("CARGO_PROFILE_DEV_DEBUG", "0");

/// The oldest compiler that builds the tests of these packages, which use `assert_matches!`.
const NEWER_RUSTC: ([&str; 2], &str) = (["bevy_asset", "bevy_animation"], "1.96");

/// A suite whose tests run one after the other: one relies on the compute pool of another, so chance would decide.
const IN_ORDER: (&str, &str) = ("bevy_transform-multi", "0.19.1");

const APP: Published = bevy("bevy_app");
const ECS: Published = bevy("bevy_ecs");
const ASSET: Published = bevy("bevy_asset");
const ANIMATION: Published = bevy("bevy_animation");
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
    "bevy_tasks-interface" Interface BEVY_TASKS "--test interface --test async_task --test panic_texts --features multi_threaded";
    "bevy_app" Package APP "--lib";
    "bevy_app-multi" Package APP "--lib --features bevy_ecs/multi_threaded";
    "bevy_transform" Package TRANSFORM "--lib";
    "bevy_transform-multi" Package TRANSFORM "--lib --features multi_threaded";
    "bevy_ecs" Package ECS "--lib --features multi_threaded";
    "bevy_asset" Package ASSET "--lib --features multi_threaded";
    "bevy_animation" Package ANIMATION "--lib --features bevy_ecs/multi_threaded";
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

/// How many suites there are, and how many tests pass in them on the stock crates, according to the records below `root`.
pub(crate) fn in_words(root: &Path) -> Result<String> {
    let mut tests = 0;
    for suite in SUITES {
        let stock = expected::read(&suite.record(root))?;
        tests += stock.with(Verdict::Ok).len();
    }
    Ok(format!("{} suites, {tests} tests", SUITES.len()))
}

impl Suite {
    /// The name without what is in place.
    fn short(&self) -> &'static str {
        self.name.rsplit(':').next().unwrap_or_default()
    }

    /// The same suite of the Bevy of this version, if it is one of Bevy's on the drop-in for `bevy_tasks` alone that the compiler of
    /// `cargo xtask` builds.
    pub(super) fn of_bevy(&self, version: &'static str) -> Option<Self> {
        let is_one = !self.name.contains(':')
            && self.source != Source::Imported
            && self.newer_rustc().is_none();
        let mut suite = *self;
        suite.package = suite.package.of(version);
        if OWN_TASK.contains(&version) {
            suite.args = match suite.name {
                "bevy_transform-multi" => "--lib --features bevy_tasks/multi_threaded",
                "bevy_tasks-interface" => {
                    "--test interface --test own_task --test panic_texts --features multi_threaded"
                }
                _ => suite.args,
            };
        }
        is_one.then_some(suite)
    }

    /// The oldest compiler that builds the tests, if that is not the one that `cargo xtask` itself needs.
    fn newer_rustc(&self) -> Option<&'static str> {
        let (packages, version) = NEWER_RUSTC;
        packages.contains(&self.package.name).then_some(version)
    }

    /// Our packages in place of published ones, the one to prove first.
    fn drop_ins(&self) -> Vec<Published> {
        match (self.name.split_once(':'), self.source) {
            (Some(("both", _)), _) => vec![BEVY_TASKS, ASYNC_EXECUTOR],
            (Some(("rayon-core", _)), _) => vec![RAYON_CORE],
            (Some(_), _) => vec![ASYNC_EXECUTOR],
            (None, Source::Imported) => Vec::new(),
            (None, _) => vec![BEVY_TASKS.of(self.package.version)],
        }
    }

    /// Whether it is another suite that records what passes.
    pub(super) fn is_second(&self) -> bool {
        let first = SUITES.iter().find(|suite| suite.short() == self.short());
        first.is_some_and(|first| first.name != self.name)
    }

    /// The committed record.
    fn record(&self, root: &Path) -> PathBuf {
        let older = self.package.older_bevy().unwrap_or_default();
        let records = root.join("crates/compat/expected").join(older);
        records.join(format!("{}.txt", self.short()))
    }

    /// Where the copies and the artifacts of a side lie.
    fn work(&self, ws: &Workspace, side: Side) -> PathBuf {
        let place = self.name.split_once(':').map_or("ours", |(place, _)| place);
        let name = if side == Side::Stock { "stock" } else { place };
        let older = self
            .package
            .older_bevy()
            .map(|line| format!("{name}-{line}"));
        let work = ws.target.join("compat");
        work.join(older.as_deref().unwrap_or(name))
    }

    /// Writes the package of the suite for a side. The directory, and what follows `cargo test` there.
    fn write(&self, ws: &Workspace, side: Side) -> Result<(PathBuf, String)> {
        let name = self.package.name;
        let package = &registry::locate(ws, self.package)?;
        let patch = &*side.patch(ws, &self.drop_ins());
        let work = self.work(ws, side);
        let (mut dir, mut args) = (work.join(name), self.args.to_owned());
        match (self.source, side) {
            (Source::Extracted, Side::Ours) => {
                dir = work.join(self.name);
                // The tests of the library are those of a file now.
                args = args.replace("--lib", "--test published");
                let stock = expected::read(&self.record(&ws.root))?;
                super::published::rebuild(&dir, package, patch, &stock)?;
            }
            (Source::Package | Source::Extracted, _) => {
                let left_out = if name == LEFT_OUT.0 { LEFT_OUT.1 } else { "" };
                registry::copy(package, &dir, &format!("{patch}{left_out}"))?;
            }
            (Source::Interface, _) => {
                dir = work.join(self.name);
                interface::write_tests(ws, &dir, self.package, FEATURES, patch)?;
            }
            (Source::Modules, _) => modules::rebuild(&dir, package, patch)?,
            (Source::Imported, _) => {
                let is_ours = side == Side::Ours && self.drop_ins().is_empty();
                let ours = is_ours.then_some(&*ws.root);
                imported::rebuild(&dir, package, ours, patch)?;
            }
        }
        Ok((dir, args))
    }

    /// Runs the tests on a side. Those of `zbus` have a bus of their own.
    fn run(&self, ws: &Workspace, side: Side) -> Result<Outcome> {
        let (dir, args) = self.write(ws, side)?;
        let args: Vec<&str> = args.split(' ').collect();
        if let (Side::Ours, [drop_in, ..]) = (side, &self.drop_ins()[..]) {
            side.prove(ws, &dir, &args, drop_in)?;
        }
        let bus = dir.ends_with("zbus").then(Bus::start).transpose()?;
        let variables = bus.as_ref().map(Bus::variable).into_iter();
        // A test of older Bevys looks at a backtrace, which is another one with debug information.
        let debug = self.package.older_bevy().map(|_| NO_DEBUG);
        let debug = debug.map(|(name, value)| (name, value.to_owned()));
        let order = (self.package.version == IN_ORDER.1 && self.name == IN_ORDER.0)
            .then(|| ("RUST_TEST_THREADS", "1".to_owned()));
        let compiler = self
            .newer_rustc()
            .map(|version| Compiler::of_version(ws, version, true));
        let compiler = compiler
            .transpose()?
            .into_iter()
            .flat_map(|compiler| compiler.env());
        let target = self.work(ws, side).join("target");
        let variables = variables.chain(debug).chain(order).chain(compiler);
        cargo_test(&dir, &target, &args, variables)
    }

    /// Runs the suite on the stock crate and records what passes.
    pub(super) fn bless(&self, ws: &Workspace) -> Result<String> {
        let Published { name, version } = self.package;
        let under_test = self.drop_ins().first().unwrap_or(&ASYNC_EXECUTOR).name;
        let stock = self.run(ws, Side::Stock)?;
        let title = format!("{name} {version}: cargo test {}", self.args);
        expected::record(&self.record(&ws.root), &title, under_test, &stock)?;
        let (passed, all) = (stock.with(Verdict::Ok).len(), stock.tests.len());
        Ok(format!("{passed} of {all} tests pass"))
    }

    /// Runs the suite on the drop-in and compares with the record.
    pub(super) fn check(&self, ws: &Workspace) -> Result<String> {
        let stock = expected::read(&self.record(&ws.root))?;
        expected::compare(&stock, &self.run(ws, Side::Ours)?)
    }
}
