//! ECS workloads on the real `bevy_ecs`, timed one row at a time.
//!
//! `cargo xtask compat --bench` builds this program twice, on the stock `bevy_tasks` and on the
//! drop-in, and runs the two in turn. The rows are those of Bevy's own benches: see
//! `rows` for the table.
//!
//! ```text
//! ecs-bench --list                                   the rows, as JSON lines
//! ecs-bench --row ID [--samples N] [--sample-ms MS]  samples of a row, as JSON lines
//! ecs-bench --row ID --counts [--sample-ms MS]       what one iteration costs the system
//! ecs-bench --row ID --ideal                         the least time of a mixed row, as a JSON line
//! ```

mod conditions;
mod futex;
mod measure;
mod mixed;
mod parallel;
mod rows;
mod systems;

use std::process::ExitCode;
use std::time::Duration;

use rows::Row;

const USAGE: &str = "usage: ecs-bench --list
       ecs-bench --row ID [--samples N] [--sample-ms MS]
       ecs-bench --row ID --counts [--sample-ms MS]
       ecs-bench --row ID --ideal";

struct Options {
    list: bool,
    counts: bool,
    ideal: bool,
    row: Option<String>,
    samples: usize,
    sample: Duration,
}

impl Options {
    fn parse(mut args: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self {
            list: false,
            counts: false,
            ideal: false,
            row: None,
            samples: 3,
            sample: Duration::from_millis(25),
        };
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or(format!("{arg} wants a value"));
            match arg.as_str() {
                "--list" => options.list = true,
                "--counts" => options.counts = true,
                "--ideal" => options.ideal = true,
                "--row" => options.row = Some(value()?),
                "--samples" => options.samples = number(&value()?)? as usize,
                "--sample-ms" => options.sample = Duration::from_millis(number(&value()?)?),
                _ => return Err(format!("unknown argument {arg}")),
            }
        }
        Ok(options)
    }
}

fn number(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(n) if n > 0 => Ok(n),
        _ => Err(format!("{text} is not a positive number")),
    }
}

fn list(rows: &[Row]) {
    for row in rows {
        println!(
            r#"{{"row":"{}","kind":"{}","threads":{},"why":"{}"}}"#,
            row.id,
            row.kind.name(),
            row.threads,
            row.kind.why()
        );
    }
}

fn run(options: &Options) -> Result<(), String> {
    let rows = rows::all();
    if options.list {
        list(&rows);
        return Ok(());
    }
    let id = options.row.as_deref().ok_or("no row given")?;
    let row = rows
        .into_iter()
        .find(|row| row.id == id)
        .ok_or(format!("no row {id}; see --list"))?;
    if options.ideal {
        let ideal = row.ideal.ok_or(format!("{id} has no ideal"))?;
        println!("{}", measure::known(id, ideal()));
        return Ok(());
    }
    let mut workload = (row.build)();
    if options.counts {
        println!("{}", measure::counts(id, &mut *workload, options.sample));
    } else {
        measure::samples(&mut *workload, options.sample, options.samples, |sample| {
            println!("{}", sample.to_json(id));
        });
    }
    Ok(())
}

fn main() -> ExitCode {
    let done = Options::parse(std::env::args().skip(1)).and_then(|options| run(&options));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}
