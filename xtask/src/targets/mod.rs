//! `cargo xtask targets`: the layers and the drop-ins, checked for every target that they are for; with `--run` the tests of the layers
//! for those that this machine can imitate.
//!
//! Where the toolchain in use has no standard library for a target, that is built, too, by a compiler that comes with its sources.

mod table;
mod wine;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use crate::build::{Build, words};
use crate::package::published;
use crate::process::needs;
use crate::toolchain::{self, Compiler};
use crate::workspace::Workspace;
use table::{Imitation, LeftOut, System, TARGETS, Target};

#[derive(Args)]
pub(crate) struct TargetsArgs {
    /// Run the tests of the layers, in an emulator or by the compatible system here; this takes some ten minutes a target
    #[arg(long)]
    run: bool,
    /// Print the table of docs/platforms.md instead
    #[arg(long, conflicts_with = "run")]
    list: bool,
    /// Only this target
    target: Option<String>,
}

/// The packages that stand in for others.
const DROP_INS: [&str; 3] = ["bevy_tasks", "async-executor", "rayon-core"];

/// How many seconds a test may take, for its watchdog: an emulator is some ten times slower.
const LIMIT: &str = "600";
const LIMIT_VARIABLE: &str = "TERRACE_TEST_SECONDS";
/// What a test that starts its own program again puts before it.
const RUNNER: &str = "TERRACE_TEST_RUNNER";
/// Of the standard library, what has to be built for a check and for tests.
const CHECK_CRATES: &str = "-Zbuild-std";
const TEST_CRATES: &str = "-Zbuild-std=std,panic_unwind,test";

/// How many targets there are, and of how many a machine like this one runs the tests.
pub(crate) fn counted() -> (usize, usize) {
    let imitated = TARGETS.iter().filter(|target| target.imitation.is_some());
    (TARGETS.len(), imitated.count())
}

pub(crate) fn run(ws: &Workspace, args: &TargetsArgs) -> Result<()> {
    let chosen = choose(args.target.as_deref())?;
    if args.list {
        print!("{}", table::markdown(&chosen));
        return Ok(());
    }
    if !args.run {
        return check(ws, &chosen);
    }
    if let (Some(name), [Target { imitation, .. }]) = (&args.target, &chosen[..]) {
        ensure!(
            imitation.is_some(),
            "nothing here imitates {name}; `cargo xtask targets --list` tells which targets can be run"
        );
    }
    let imitated = chosen.into_iter();
    let imitated = imitated.filter_map(|t| Some((t, t.imitation.as_ref()?)));
    let imitated = Vec::from_iter(imitated);
    // Said before minutes are spent on builds.
    for (target, imitation) in &imitated {
        for (program, packages) in imitation.programs() {
            needs(program, packages)
                .with_context(|| format!("{} is not imitated here", target.name))?;
        }
    }
    let mut failed = Vec::new();
    for (target, imitation) in imitated {
        match test(ws, target, imitation) {
            Ok(()) => println!("targets: the tests pass on {}", target.name),
            Err(error) => {
                eprintln!("{}: {error:#}", target.name);
                failed.push(target.name);
            }
        }
    }
    ensure!(failed.is_empty(), "tests fail on {}", failed.join(", "));
    Ok(())
}

/// All targets, or the one of this name.
fn choose(name: Option<&str>) -> Result<Vec<&'static Target>> {
    let mut all: Vec<&Target> = TARGETS.iter().collect();
    let Some(name) = name else {
        return Ok(all);
    };
    all.retain(|target| target.name == name);
    if all.is_empty() {
        let names = Vec::from_iter(TARGETS.iter().map(|target| target.name));
        bail!(
            "there is no target `{name}`; there are {}",
            names.join(", ")
        );
    }
    Ok(all)
}

/// Checks the layers and the drop-ins, which are in the workspace of these; a warning is an error.
fn check(ws: &Workspace, targets: &[&Target]) -> Result<()> {
    let (build, flags) = builder(ws, targets, CHECK_CRATES, "")?;
    let build = build.env("CARGO_BUILD_WARNINGS", "deny");
    let manifest = ws.manifest("crates/compat");
    let mut flags: Vec<&str> = flags;
    flags.extend(["-Zwarnings", "--manifest-path", &manifest]);
    let names = published(ws).into_iter().map(|layer| layer.name.as_str());
    // It re-exports the layers, and no drop-in depends on it.
    let layers = names.filter(|name| *name != "terrace");
    flags.extend(layers.chain(DROP_INS).flat_map(|name| ["-p", name]));
    build.cargo(&words("check --quiet --locked", flags))?;
    println!("targets: {} are checked", targets.len());
    Ok(())
}

/// What builds for the targets, and the words that tell cargo so; `crates` is for where the standard library is built, too.
fn builder(
    ws: &Workspace,
    targets: &[&Target],
    crates: &'static str,
    rustflags: &str,
) -> Result<(Build, Vec<&'static str>)> {
    let mut flags = Vec::from_iter(targets.iter().flat_map(|t| ["--target", t.name]));
    let mut build = Build::special(ws, "targets", rustflags).env("RUSTC_BOOTSTRAP", "1");
    for target in targets {
        if !toolchain::has_target(target.name)? {
            if targets
                .iter()
                .any(|target| target.name.ends_with("-windows-gnu"))
            {
                // `std` names functions of system libraries that no import library has: the compiler has one made.
                needs("x86_64-w64-mingw32-dlltool", "binutils-mingw-w64-x86-64")?;
            }
            build = Compiler::with_sources(ws)?.build(ws, "targets", rustflags);
            flags.push(crates);
            break;
        }
    }
    // Most of the time goes to the standard library, which is debugged elsewhere.
    let build = build.env("CARGO_PROFILE_DEV_DEBUG", "0");
    Ok((build.env("CARGO_INCREMENTAL", "0"), flags))
}

/// Runs the tests of the layers.
fn test(ws: &Workspace, target: &'static Target, imitation: &Imitation) -> Result<()> {
    let (build, flags) = builder(ws, &[target], TEST_CRATES, imitation.rustflags)?;
    let of_target = |what: &str| {
        let name = target.name.to_uppercase().replace('-', "_");
        format!("CARGO_TARGET_{name}_{what}")
    };
    let mut build = build
        .env(&of_target("LINKER"), imitation.linker)
        // Under Wine, one takes a second to print.
        .env("RUST_BACKTRACE", "0")
        .env(LIMIT_VARIABLE, LIMIT);
    if let Some(runner) = imitation.system.runner() {
        build = build.env(&of_target("RUNNER"), runner);
    }
    let build = match imitation.system {
        System::Same => build,
        // The system cannot start a program for another machine by itself.
        System::Emulated(words) => build.env(RUNNER, words),
        System::Windows => build.envs(wine::prefix(ws, imitation.linker)?),
    };
    let mut flags: Vec<&str> = flags;
    flags.extend(ws.layer_args());
    flags.extend(["--lib", "--tests", "--"]);
    for LeftOut { test, why } in imitation.left_out {
        println!("targets: {test} is not run: {why}");
    }
    let left_out = imitation.left_out.iter();
    // In one word, so that a program with a harness of its own takes it for no filter.
    let left_out = Vec::from_iter(left_out.map(|left_out| format!("--skip={}", left_out.test)));
    flags.extend(left_out.iter().map(String::as_str));
    build.cargo(&words("test --no-fail-fast --locked", flags))
}

#[cfg(test)]
mod tests {
    use super::choose;
    use super::table::{TARGETS, markdown};

    #[test]
    fn an_unknown_target_is_an_error_that_names_the_known_ones() {
        let error = choose(Some("pdp11")).err().expect("there is none");
        assert!(error.to_string().contains("`pdp11`; there are x86_64-"));
        let one = choose(Some("s390x-unknown-linux-gnu")).expect("a target");
        assert_eq!(one.len(), 1);
    }

    #[test]
    fn the_page_of_platforms_has_the_table() {
        let page = include_str!("../../../docs/platforms.md");
        let table = markdown(&TARGETS.iter().collect::<Vec<_>>());
        assert!(
            page.contains(&table),
            "put the output of `cargo xtask targets --list` into docs/platforms.md"
        );
    }

    #[test]
    fn the_workflows_have_the_hardware_and_the_emulators() {
        let hosts = include_str!("../../../.github/workflows/ci.yml");
        let nightly = include_str!("../../../.github/workflows/nightly.yml");
        for target in TARGETS {
            let has = |text: &str, wanted: &str| text.lines().any(|line| line.trim() == wanted);
            if !target.hardware.is_empty() {
                assert!(
                    has(hosts, &format!("- {}", target.hardware)),
                    "{}",
                    target.name
                );
            }
            let in_nightly = has(nightly, &format!("- target: {}", target.name));
            assert_eq!(in_nightly, target.imitation.is_some(), "{}", target.name);
            if let Some(imitation) = &target.imitation {
                assert!(
                    has(nightly, &format!("packages: {}", imitation.packages)),
                    "{}",
                    target.name
                );
            }
        }
    }
}
