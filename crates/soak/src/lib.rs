//! Using executors at random, and accounting for everything.
#![doc = include_str!("../README.md")]
#![cfg(not(any(terrace_loom, terrace_shuttle)))]
#![forbid(unsafe_code)]

mod account;
mod act;
mod futures;
mod mixed;
mod numbers;
mod round;
mod wakery;
mod watchdog;

use std::time::{Duration, Instant};

use account::Totals;
use watchdog::Watchdog;

/// How often a line is printed.
const LINE: Duration = Duration::from_secs(10);

/// The settings of a run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// For how long rounds are started.
    pub time: Duration,
    /// Decides the random choices.
    pub seed: u64,
    /// The first round.
    pub round: u64,
}

/// Soaks, and prints what it does.
///
/// # Errors
/// An account did not add up; the text names it and its round.
pub fn run(plan: Plan) -> Result<(), String> {
    account::hide_planned_panics();
    println!("soak: seed {}, {:.0?}", plan.seed, plan.time);
    let watchdog = Watchdog::start();
    let start = Instant::now();
    let mut said = start;
    let mut totals = Totals::default();
    let mut round = plan.round;
    loop {
        let counted = round::run(plan.seed, round, &watchdog).map_err(|fault| {
            format!(
                "{fault}\nagain: cargo xtask soak --seed {} --round {round}",
                plan.seed
            )
        })?;
        totals.add(&counted);
        round += 1;
        let over = start.elapsed() >= plan.time;
        if over || said.elapsed() >= LINE {
            said = Instant::now();
            println!(
                "soak: {:4} s, {:5} rounds, {totals}",
                start.elapsed().as_secs(),
                round - plan.round,
            );
        }
        if over {
            break;
        }
    }
    match account::unplanned_panics() {
        0 => Ok(()),
        panics => Err(format!("{panics} panics that nobody planned, see above")),
    }
}
