//! `cargo xtask compat --programs` and `--rayon`: small real programs print the same on the stock packages and on the drop-ins.
//!
//! The packages `programs` and `rayon-programs` of `crates/compat` are built twice, from copies with generated manifests. The programs
//! run in turns on both sides. A fixed number of HTTP requests over loopback then says what they cost on each.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::bus::Bus;
use super::registry::{ASYNC_EXECUTOR, BEVY_TASKS, RAYON_CORE};
use super::sides::{OPTIMISED, Side, listed};
use crate::process::{printed, same};
use crate::progress::run_all;
use crate::workspace::Workspace;
use xtask_stats::median;

/// Runs of each program on each side and in each environment.
const RUNS: usize = 3;
/// Far more than a program needs.
const LIMIT: Duration = Duration::from_secs(120);
/// Sizes of rayon's pool.
const THREADS: [usize; 3] = [1, 2, 8];
/// Requests of a load run, and runs of each side, which take turns.
const REQUESTS: u64 = 40_000;
const ROUNDS: usize = 9;

/// A variable of a program's environment.
type Variable = (&'static str, String);

/// Compares what the programs on rayon print whose names contain `filter`, on pools of several sizes.
pub(super) fn run_rayon(ws: &Workspace, filter: &str) -> Result<()> {
    let sides = Side::both(|side| side.program(ws, "rayon-programs", &[RAYON_CORE], OPTIMISED))?;
    let pools = THREADS.map(|threads| ("RAYON_NUM_THREADS", threads.to_string()));
    compare("compat --rayon", &sides, filter, &pools)
}

/// Compares what the servers and clients print whose names contain `filter`, and prints what the load costs. The D-Bus service gets
/// a bus of its own.
pub(super) fn run(ws: &Workspace, filter: &str) -> Result<()> {
    let both = [ASYNC_EXECUTOR, BEVY_TASKS];
    let sides = Side::both(|side| side.program(ws, "programs", &both, OPTIMISED))?;
    let bus = Bus::start()?;
    compare("compat --programs", &sides, filter, &[bus.variable()])?;
    load(&sides)
}

/// Runs the programs whose names contain `filter`. All runs of one print what the first one does.
fn compare(
    title: &str,
    sides: &[PathBuf; 2],
    filter: &str,
    environments: &[Variable],
) -> Result<()> {
    let mut names = listed(&sides[0])?;
    names.retain(|name| name.contains(filter));
    let runs = RUNS * environments.len();
    run_all(title, &names, String::clone, |name| {
        let mut first = None;
        for (variable, value) in environments {
            for at in (0..2).cycle().take(2 * RUNS) {
                let mut command = Command::new(&sides[at]);
                command.args(["--program", name]).env(variable, value);
                let text = printed(command, LIMIT)?;
                let expected = first.get_or_insert_with(|| text.clone());
                ensure!(!expected.is_empty(), "it prints nothing");
                same([("the first run", expected), (Side::BOTH[at].name(), &text)])?;
            }
        }
        let lines = first.unwrap_or_default().lines().count();
        Ok(format!("the same {lines} lines, {runs} times on each side"))
    })
}

/// What a load run says.
#[derive(Deserialize)]
struct Load {
    requests: f64,
    wall_ns: f64,
    cpu_ns: f64,
    p50_ns: f64,
    p99_ns: f64,
    p999_ns: f64,
}

/// A figure of a load run.
type Figure = fn(&Load) -> f64;

/// What is printed.
const FIGURES: [(&str, Figure); 5] = [
    ("requests a second", |load| {
        load.requests / load.wall_ns * 1e9
    }),
    ("CPU time a request, us", |load| {
        load.cpu_ns / load.requests / 1e3
    }),
    ("latency p50, us", |load| load.p50_ns / 1e3),
    ("latency p99, us", |load| load.p99_ns / 1e3),
    ("latency p99.9, us", |load| load.p999_ns / 1e3),
];

/// Prints medians of the figures, and of their ratios in each round.
fn load(sides: &[PathBuf; 2]) -> Result<()> {
    let mut runs: [Vec<Load>; 2] = Default::default();
    for round in 0..ROUNDS {
        for at in [round % 2, 1 - round % 2] {
            let mut command = Command::new(&sides[at]);
            command.args(["--load", &REQUESTS.to_string()]);
            let printed = printed(command, LIMIT)?;
            runs[at].push(serde_json::from_str(&printed).context("no load line")?);
        }
    }
    println!(
        "{REQUESTS} requests, 16 connections, medians of {ROUNDS} rounds: stock, ours, ours/stock"
    );
    for (name, of) in FIGURES {
        let [mut stock, mut ours] = runs
            .each_ref()
            .map(|runs| Vec::from_iter(runs.iter().map(of)));
        let ratios = stock.iter().zip(&ours).map(|(stock, ours)| ours / stock);
        let ratio = median(&mut Vec::from_iter(ratios));
        let (stock, ours) = (median(&mut stock), median(&mut ours));
        println!("{name:<24} {stock:>10.1} {ours:>10.1} {ratio:>8.3}");
    }
    Ok(())
}
