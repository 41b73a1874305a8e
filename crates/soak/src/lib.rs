//! Using executors at random, and accounting for everything.
#![doc = include_str!("../README.md")]
#![cfg(not(any(terrace_loom, terrace_shuttle)))]
#![forbid(unsafe_code)]

mod account;
mod act;
mod events;
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
    println!("soak: seed {}, {:.0?}", plan.seed, plan.time);
    let watchdog = Watchdog::start(plan.seed);
    account::report_unplanned_panics(&watchdog);
    let start = Instant::now();
    let mut said = start;
    let mut totals = Totals::default();
    let mut round = plan.round;
    loop {
        let counted = round::run(plan.seed, round, &watchdog)
            .map_err(|fault| format!("{fault}\n{}{}", events::dump(), again(plan.seed, round)))?;
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
    Ok(())
}

/// The command that begins with the round again.
pub(crate) fn again(seed: u64, round: u64) -> String {
    let jitter = if cfg!(terrace_jitter) {
        " --jitter"
    } else {
        ""
    };
    format!("again: cargo xtask soak{jitter} --seed {seed} --round {round}")
}
