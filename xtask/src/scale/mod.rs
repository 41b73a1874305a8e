//! `cargo xtask scale`: how many cache lines each operation of a pool hands over, with 4 to 64 workers.
//!
//! `loom-tests/lines` says what is counted, `loom-tests/scale` has the operations. A run is one pool, one number of workers and one
//! seed. The program is built as ThreadSanitizer wants it, and `terrace-lines` takes the sanitizer's place.

mod counts;
mod page;
mod places;

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::build::Build;
use crate::generated;
use crate::process::printed;
use crate::progress::run_parallel;
use crate::report;
use crate::toolchain::HOST;
use crate::workspace::Workspace;
use counts::{Count, Hot};
use places::Places;

#[derive(Args)]
pub(crate) struct ScaleArgs {
    /// How many schedules each pool runs in, with each number of workers
    #[arg(long, value_name = "N", default_value_t = 20)]
    seeds: u64,
    /// Write all counts into this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Only see that the model finds a shared counter, and that a spawn keeps within its bound; renews no page
    #[arg(long, conflicts_with_all = ["seeds", "json"])]
    check: bool,
}

/// The page with the tables, from the root of the workspace.
const PAGE: &str = "docs/scale.md";
/// The pools, ours first.
const POOLS: [&str; 4] = ["terrace", "async-executor", "tokio", "rayon-core"];
/// The numbers of workers.
const WORKERS: [usize; 5] = [4, 8, 16, 32, 64];
/// A run that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(1_200);

/// How a program is instrumented, and its addresses are those of its file.
const FLAGS: &str = "-Zsanitizer=thread -Zexternal-clangrt -Cunsafe-allow-abi-mismatch=sanitizer \
                     -Cllvm-args=-tsan-instrument-func-entry-exit=0 -Crelocation-model=static --cfg terrace_lines";

/// One run.
struct Run {
    pool: &'static str,
    workers: usize,
    seed: u64,
}

impl Run {
    fn title(&self) -> String {
        format!(
            "{}, {} workers, seed {}",
            self.pool, self.workers, self.seed
        )
    }
}

/// The program, and the library that counts.
struct Programs {
    counter: PathBuf,
    program: PathBuf,
}

impl Programs {
    fn build(ws: &Workspace) -> Result<Self> {
        ensure!(
            HOST == "x86_64-unknown-linux-gnu" && cfg!(target_os = "linux"),
            "this command needs Linux on x86-64, see loom-tests/lines"
        );
        let target = ws.target.join("scale");
        let plain = Build::of(&ws.root, target.clone());
        plain.cargo(&["build", "--release", "-p", "terrace-lines"])?;
        let counter = target.join("release/libterrace_lines.so");
        let flags = format!("{FLAGS} -Clink-arg={}", counter.display());
        let build = Build::special(ws, "scale", &flags).env("RUSTC_BOOTSTRAP", "1");
        let args = [
            "build",
            "--release",
            "-p",
            "terrace-scale",
            "--target",
            HOST,
        ];
        let built = build.binaries(&args, false)?.into_iter().next();
        let program = built.context("cargo built no program")?.path;
        Ok(Self { counter, program })
    }

    /// What a run counted of each operation.
    fn run(&self, run: &Run) -> Result<Vec<Count>> {
        let workers = run.workers.to_string();
        let mut command = Command::new(&self.program);
        command.args([run.pool, &workers]);
        command.env("LD_PRELOAD", &self.counter);
        command.env("LINES_SEED", run.seed.to_string());
        command.env("LINES_PROCESSORS", workers);
        let text = printed(command, LIMIT)?;
        text.lines().map(|line| counts::parse(run, line)).collect()
    }
}

/// Counts, prints the tables, and renews the page.
pub(crate) fn run(ws: &Workspace, args: &ScaleArgs) -> Result<()> {
    let programs = Programs::build(ws)?;
    if args.check {
        return check(ws, &programs);
    }
    ensure!(args.seeds > 0, "--seeds is a number above 0");
    let mut runs = Vec::new();
    // The longest first.
    for workers in WORKERS.into_iter().rev() {
        for pool in POOLS.into_iter().rev() {
            runs.extend((0..args.seeds).map(|seed| Run {
                pool,
                workers,
                seed,
            }));
        }
    }
    let found = std::sync::Mutex::new(Vec::new());
    run_parallel("scale", &runs, Run::title, |run| {
        let counts = programs.run(run)?;
        found.lock().expect("no push panics").extend(counts);
        Ok("counted".to_owned())
    })?;
    let mut counts = found.into_inner().expect("no push panics");
    counts.sort_by_key(|count| {
        let pool = POOLS.iter().position(|pool| *pool == count.pool);
        (pool, count.workers, count.seed)
    });
    let places = Places::of(ws, &programs.program, &counts)?;
    let part = page::part(&counts, &places, args.seeds);
    println!("{part}");
    if let Some(file) = &args.json {
        report::write(file, &(serde_json::to_string_pretty(&counts)? + "\n"))?;
    }
    generated::renew(&ws.root, PAGE, "cargo xtask scale", &part)
}

/// How many lines a spawn from a busy worker may cost, at most, with any number of workers.
///
/// The task may end on another worker, which then takes and gives back, each line once: two of the cell, one of its future, the
/// slot and both ends of the ring, the slot of the woken task, and two for its count. Beside that, one publish finds the three words
/// of `terrace-park` written, and one wake hands over two of its sleeper. A counter that all spawns share comes on top of that with
/// each other worker's spawn.
const SPAWN: f64 = 2.0 * (2.0 + 1.0 + 3.0 + 1.0 + 2.0) + 3.0 + 2.0;
/// How often a spawn may hand over one and the same line, at most. A word that all spawns write has a foreign writer nearly every time; by
/// the design there is none.
const PEAK: f64 = 0.5;
/// How many workers the check has.
const CHECKED: usize = 64;

/// Whether the model keeps its promises: one run, in which a shared counter is planted into a spawn.
fn check(ws: &Workspace, programs: &Programs) -> Result<()> {
    let (pool, workers, seed) = ("planted", CHECKED, 0);
    let counts = programs.run(&Run {
        pool,
        workers,
        seed,
    })?;
    let of = |name: &str| {
        let found = counts.iter().find(|count| count.operation == name);
        found.with_context(|| format!("the program did no operation {name}"))
    };
    let (spawn, planted) = (of("spawn/all")?, of("planted/all")?);
    let lines = spawn.each(spawn.lines);
    println!("a spawn hands over {lines:.1} lines; its bound is {SPAWN}");
    ensure!(
        lines <= SPAWN,
        "a spawn hands over {lines:.1} lines, more than {SPAWN}"
    );
    let hottest = planted.hottest.first().context("no line was handed over")?;
    let places = Places::of(ws, &programs.program, std::slice::from_ref(planted))?;
    let place = places.name(hottest);
    let times = planted.each(hottest.count);
    println!("the planted counter is handed over {times:.2} times a spawn, at {place}");
    ensure!(
        place.contains("loom-tests/scale/src/operations.rs") && times > PEAK,
        "the hottest line is not the planted counter"
    );
    let other = spawn.each(spawn.hottest.first().map_or(0, |hot: &Hot| hot.count));
    println!("without it the hottest line is handed over {other:.2} times a spawn");
    ensure!(other <= PEAK, "all spawns share a line");
    Ok(())
}
