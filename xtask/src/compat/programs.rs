//! `cargo xtask compat --programs`: small real programs print the same on the stock packages and on the drop-ins; and what
//! a fixed number of HTTP requests over loopback costs on each.
//!
//! The package `crates/compat/programs` is built twice, from copies with generated manifests. The D-Bus service gets a bus of its
//! own.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::bus::{self, Bus};
use super::registry::{ASYNC_EXECUTOR, BEVY_TASKS, DropIn};
use super::sides::{self, OPTIMISED, Side};
use crate::process::run_limited;
use crate::workspace::Workspace;
use xtask_stats::median;

/// What the programs stand on.
const BOTH: [DropIn; 2] = [ASYNC_EXECUTOR, BEVY_TASKS];
/// Runs of each program on each side.
const RUNS: usize = 3;
/// Far more than a program needs.
const LIMIT: Duration = Duration::from_secs(120);
/// Requests of a load run, and runs of each side, which take turns.
const REQUESTS: u64 = 40_000;
const ROUNDS: usize = 9;

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

/// What a program prints.
fn output(program: &Path, args: &[&str], bus: &Bus) -> Result<String> {
    let mut command = Command::new(program);
    command.args(args).env(bus::VARIABLE, &bus.address);
    let finished = run_limited(command, LIMIT)?;
    finished.passed()?;
    Ok(finished.output)
}

/// Compares what they print, and prints what the load costs.
pub(super) fn run(ws: &Workspace, filter: Option<&str>) -> Result<()> {
    let side = |side: Side| side.program(ws, "programs", &BOTH, OPTIMISED);
    let sides = [side(Side::Stock)?, side(Side::Ours)?];
    let bus = Bus::start()?;
    let print = |side: &Path, name: &str, (): &()| output(side, &["--program", name], &bus);
    sides::compare("compat --programs", &sides, filter, (RUNS, &[()]), print)?;
    let mut loads = [Vec::new(), Vec::new()];
    for round in 0..ROUNDS {
        for turn in 0..2 {
            let at = (round + turn) % 2;
            let line = output(&sides[at], &["--load", &REQUESTS.to_string()], &bus)?;
            let load = serde_json::from_str::<Load>(&line).context("no load line")?;
            loads[at].push(load);
        }
    }
    let of = |value: fn(&Load) -> f64| {
        let [stock, ours] = loads.each_ref().map(|side| side.iter().map(value));
        let mut ratios: Vec<f64> = ours
            .clone()
            .zip(stock.clone())
            .map(|(o, s)| o / s)
            .collect();
        let ratio = median(&mut ratios);
        let [stock, ours] = [stock, ours].map(|side| median(&mut side.collect::<Vec<_>>()));
        (stock, ours, ratio)
    };
    println!(
        "{REQUESTS} requests, 16 connections, medians of {ROUNDS} rounds: stock, ours, ours/stock"
    );
    let throughput = of(|load| load.requests / load.wall_ns * 1e9);
    let rows = [
        ("requests a second", throughput),
        (
            "CPU time a request, us",
            of(|load| load.cpu_ns / load.requests / 1e3),
        ),
        ("latency p50, us", of(|load| load.p50_ns / 1e3)),
        ("latency p99, us", of(|load| load.p99_ns / 1e3)),
        ("latency p99.9, us", of(|load| load.p999_ns / 1e3)),
    ];
    for (name, (stock, ours, ratio)) in rows {
        println!("{name:<24} {stock:>10.1} {ours:>10.1} {ratio:>8.3}");
    }
    Ok(())
}
