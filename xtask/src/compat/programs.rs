//! `cargo xtask compat --programs`: small real programs print the same on the stock packages and on the drop-ins; and what
//! a fixed number of HTTP requests over loopback costs on each.
//!
//! The package `crates/compat/programs` is built twice, from copies with generated manifests. The D-Bus service gets a bus of its
//! own.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::bus::{self, Bus};
use super::registry::{ASYNC_EXECUTOR, BEVY_TASKS, DropIn};
use super::sides::{self, build, listed};
use crate::process::{difference, run_limited};
use crate::progress::run_all;
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

/// The two programs: stock, ours.
fn compile(ws: &Workspace) -> Result<[PathBuf; 2]> {
    let side = |ours: bool| {
        let (name, drop_ins): (_, &[_]) = if ours {
            ("ours", &BOTH)
        } else {
            ("stock", &[])
        };
        let dir = sides::copy(ws, "programs", &format!("programs/{name}"), "", drop_ins)?;
        for drop_in in &BOTH {
            sides::prove(ws, &dir, drop_in, ours)?;
        }
        let way = ("optimised", &["--release"][..]);
        build(&dir, &dir.join("target"), "release/programs", way)
    };
    Ok([side(false)?, side(true)?])
}

/// What a program prints.
fn output(program: &PathBuf, args: &[&str], bus: &Bus) -> Result<String> {
    let mut command = Command::new(program);
    command.args(args).env(bus::VARIABLE, &bus.address);
    let finished = run_limited(command, LIMIT)?;
    finished.passed()?;
    Ok(finished.output)
}

/// Compares what they print, and prints what the load costs.
pub(super) fn run(ws: &Workspace, filter: Option<&str>) -> Result<()> {
    let sides = compile(ws)?;
    let mut names = listed(&sides[0])?;
    names.retain(|name| filter.is_none_or(|text| name.contains(text)));
    ensure!(!names.is_empty(), "no program's name contains the filter");
    let bus = Bus::start()?;
    run_all("compat --programs", &names, String::clone, |name| {
        let print = |side| output(side, &["--program", name], &bus);
        let first = print(&sides[0])?;
        for run in 0..2 * RUNS - 1 {
            let (side, name) = [(&sides[1], "ours"), (&sides[0], "stock")][run % 2];
            let difference = difference([("stock", &first), (name, &print(side)?)]);
            ensure!(difference.is_none(), "{}", difference.unwrap_or_default());
        }
        let lines = first.lines().count();
        Ok(format!("the same {lines} lines, {RUNS} times on each side"))
    })?;
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
