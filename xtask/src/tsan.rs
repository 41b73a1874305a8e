//! `cargo xtask tsan`: the tests of the layers under ThreadSanitizer.
//!
//! The standard library is built instrumented too: without that, what synchronises inside it looks
//! like races. Compiler and sources come from Debian's packages, the sanitizer's runtime from the
//! toolchain in use.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use xshell::cmd;

use crate::build::Build;
use crate::debian::{self, Compiler};
use crate::workspace::Workspace;

const TARGET: &str = "x86_64-unknown-linux-gnu";
/// The exit code of a program in which ThreadSanitizer saw a race.
const RACE: i32 = 66;

/// Lets instrumented and plain code be linked.
const MIXED: &str = "-Cunsafe-allow-abi-mismatch=sanitizer";
/// Races are reported at once and remembered long: the runtime reports one only while it can
/// still tell what the first of the two threads was doing.
const OPTIONS: &str = "halt_on_error=1 history_size=4";

/// A program with a race, to see that races are seen. Both threads wait for each other, relaxed,
/// which orders nothing: where one ends first, its accesses may be forgotten.
const CANARY: &str = "//! Races.
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
static ARRIVED: AtomicU32 = AtomicU32::new(0);
static mut SHARED: u64 = 0;
fn race() {
    ARRIVED.fetch_add(1, Relaxed);
    while ARRIVED.load(Relaxed) < 2 { std::thread::yield_now(); }
    for _ in 0..100 { unsafe { SHARED += 1 } }
}
fn main() {
    let other = std::thread::spawn(race);
    race();
    other.join().unwrap();
}
";

/// Options of `cargo xtask tsan`.
#[derive(Args)]
pub(crate) struct TsanArgs {
    /// Run only the tests whose name contains this text
    filter: Option<String>,
    /// Run only the tests of one layer, for example `queue`
    #[arg(long)]
    layer: Option<String>,
}

/// Builds std and the layers instrumented and runs the layers' unit and integration tests.
pub(crate) fn run(ws: &Workspace, args: &TsanArgs) -> Result<()> {
    ensure!(
        debian::supported(),
        "`cargo xtask tsan` needs Debian 12 on x86-64: it takes compiler and sources from there"
    );
    let layers = layers(ws, args.layer.as_deref())?;
    let compiler = Compiler::get(ws, "rustc-tsan", "", true)?;
    runtime(ws, &compiler)?;
    let mut build = Build::special(ws, "tsan", "-Zsanitizer=thread --cfg terrace_tsan")
        .env("RUSTC_BOOTSTRAP", "1")
        .env("TSAN_OPTIONS", OPTIONS)
        // Instrumented, the symbols of one backtrace take seconds.
        .env("RUST_BACKTRACE", "0");
    for (key, value) in compiler.env() {
        build = build.env(key, value);
    }
    canary(&build, &compiler)?;
    let mut all = vec![
        "test",
        "-Zbuild-std",
        "--target",
        TARGET,
        "--all-features",
        "--lib",
        "--tests",
    ];
    all.extend(layers.iter().flat_map(|layer| ["-p", layer]));
    if let Some(filter) = &args.filter {
        all.extend(["--", filter]);
    }
    build.cargo(&all)
}

fn layers<'w>(ws: &'w Workspace, chosen: Option<&str>) -> Result<Vec<&'w str>> {
    let all: Vec<&str> = ws.layers().iter().map(|l| l.name.as_str()).collect();
    let Some(chosen) = chosen else {
        return Ok(all);
    };
    let name = format!("terrace-{chosen}");
    match all.iter().find(|l| **l == name) {
        Some(layer) => Ok(vec![layer]),
        None => bail!("no layer `{chosen}`; there are {}", all.join(", ")),
    }
}

/// Debian's compiler comes without the sanitizer's runtime; that of the toolchain in use fits.
fn runtime(ws: &Workspace, compiler: &Compiler) -> Result<()> {
    let name = "librustc-stable_rt.tsan.a";
    let to = compiler.target_libs(TARGET).join(name);
    if to.is_file() {
        return Ok(());
    }
    let sh = &ws.sh;
    let sysroot = cmd!(sh, "rustc --print sysroot").quiet().read()?;
    let from = Path::new(&sysroot)
        .join("lib/rustlib")
        .join(TARGET)
        .join("lib")
        .join(name);
    std::fs::copy(&from, &to).with_context(|| {
        format!(
            "cannot copy {}; is a stable toolchain of rustup in use?",
            from.display()
        )
    })?;
    Ok(())
}

/// Builds and runs a program with a race: where that is not reported, no pass means anything. Its
/// own standard library may be a plain one, as the race is in its own code.
fn canary(build: &Build, compiler: &Compiler) -> Result<()> {
    let dir = build.target().join("canary");
    std::fs::create_dir_all(&dir)?;
    let (source, program) = (dir.join("canary.rs"), dir.join("canary"));
    std::fs::write(&source, CANARY)?;
    let status = Command::new(compiler.rustc())
        .args([
            "--edition=2024",
            "--target",
            TARGET,
            "-Zsanitizer=thread",
            MIXED,
            "-o",
        ])
        .args([&program, &source])
        .envs(compiler.env())
        .env("RUSTC_BOOTSTRAP", "1")
        .status()?;
    ensure!(
        status.success(),
        "cannot build the program with a race: {status}"
    );
    let output = Command::new(&program)
        .env("TSAN_OPTIONS", OPTIONS)
        .output()
        .with_context(|| format!("cannot start {}", program.display()))?;
    let report = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.code() == Some(RACE) && report.contains("data race"),
        "ThreadSanitizer does not see the race of a program that has one: {}\n{report}",
        output.status
    );
    println!("tsan: the race of the test program is seen");
    Ok(())
}
