#![doc = include_str!("../README.md")]

mod futex;
mod measure;
mod rows;

use std::process::ExitCode;
use std::time::Duration;

pub use measure::{pause, untimed};
pub use rows::{Kind, Row, Table, Workload};

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

fn run(options: &Options, rows: Vec<Row>) -> Result<(), String> {
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

/// Does what the command line of the process says.
#[must_use]
pub fn main(rows: Vec<Row>) -> ExitCode {
    let mut args = std::env::args();
    let this = args.next().unwrap_or_default();
    let done = Options::parse(args).and_then(|options| run(&options, rows));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!(
                "{message}\nusage: {this} --list
       {this} --row ID [--samples N] [--sample-ms MS]
       {this} --row ID --counts [--sample-ms MS]
       {this} --row ID --ideal"
            );
            ExitCode::from(2)
        }
    }
}
