//! Scenarios that must end: apps that start up, scopes on several threads at once, panics, shutdown.
//!
//! `cargo xtask compat` runs each in a process of its own, built with the feature `multi_threaded` and
//! without it. A scenario that does not end in time prints what every thread does and fails.
//!
//! ```text
//! apps --list                          name, `stock` if the stock crate passes it too, what it shows
//! apps --scenario NAME [--limit SECS]
//! ```

mod background;
#[cfg(feature = "multi_threaded")]
mod blocking;
#[cfg(feature = "multi_threaded")]
mod messages;
#[cfg(feature = "multi_threaded")]
mod nested;
mod panics;
#[cfg(feature = "multi_threaded")]
mod pipelined;
#[cfg(feature = "multi_threaded")]
mod pool_panics;
mod scenario;
#[cfg(feature = "multi_threaded")]
mod shutdown;
mod startup;
mod support;
#[cfg(feature = "multi_threaded")]
mod threads;
#[cfg(feature = "multi_threaded")]
mod two_scopes;
mod watchdog;
#[cfg(feature = "multi_threaded")]
mod zero_threads;

use std::process::ExitCode;
use std::time::Duration;

use scenario::Scenario;

const USAGE: &str = "usage: apps --list
       apps --scenario NAME [--limit SECS]";

/// Far more than any scenario needs, also on a busy machine.
const DEFAULT_LIMIT: Duration = Duration::from_secs(60);

/// Every scenario of this build.
fn scenarios() -> Vec<Scenario> {
    let mut all = Vec::new();
    all.extend(startup::SCENARIOS);
    all.extend(background::SCENARIOS);
    all.extend(panics::SCENARIOS);
    #[cfg(feature = "multi_threaded")]
    {
        all.extend(zero_threads::SCENARIOS);
        all.extend(two_scopes::SCENARIOS);
        all.extend(pipelined::SCENARIOS);
        all.extend(nested::SCENARIOS);
        all.extend(blocking::SCENARIOS);
        all.extend(pool_panics::SCENARIOS);
        all.extend(shutdown::SCENARIOS);
        all.extend(messages::SCENARIOS);
        all.extend(threads::SCENARIOS);
    }
    all
}

fn run(args: &[String]) -> Result<(), String> {
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    let (name, limit) = match args[..] {
        ["--list"] => {
            for scenario in scenarios() {
                let stock = if scenario.stock { "stock" } else { "-" };
                println!("{}\t{stock}\t{}", scenario.name, scenario.shows);
            }
            return Ok(());
        }
        ["--scenario", name] => (name, DEFAULT_LIMIT),
        ["--scenario", name, "--limit", seconds] => {
            let seconds = seconds.parse().map_err(|_| "the limit is no number")?;
            (name, Duration::from_secs(seconds))
        }
        _ => return Err("no scenario is asked for".to_owned()),
    };
    let scenario = scenarios()
        .into_iter()
        .find(|scenario| scenario.name == name)
        .ok_or_else(|| format!("there is no scenario {name}; see --list"))?;
    watchdog::start(limit);
    (scenario.run)();
    println!("{name}: ok");
    Ok(())
}

fn main() -> ExitCode {
    let args: Vec<_> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}
