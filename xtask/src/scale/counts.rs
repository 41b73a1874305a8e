//! What one run counted of one operation.

use anyhow::{Context, Result, ensure};
use serde::Serialize;

use super::Run;

/// Totals of an operation, done so many times.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Count {
    pub(super) pool: String,
    pub(super) workers: usize,
    pub(super) seed: u64,
    /// `NAME/one` or `NAME/all`.
    pub(super) operation: String,
    pub(super) times: u64,
    pub(super) rmws: u64,
    pub(super) lines: u64,
    pub(super) wakes: u64,
    pub(super) barriers: u64,
    /// The lines that were handed over most, the hottest first.
    #[serde(skip)]
    pub(super) hottest: Vec<Hot>,
}

/// One line.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Hot {
    /// How often it was handed over.
    pub(super) count: u64,
    /// The return address of the access that got it most often.
    pub(super) place: u64,
}

impl Count {
    /// The share of each operation in a total.
    pub(super) fn each(&self, total: u64) -> f64 {
        total as f64 / self.times as f64
    }

    /// How often each operation hands over the hottest line.
    pub(super) fn peak(&self) -> f64 {
        self.each(self.hottest.first().map_or(0, |hot| hot.count))
    }
}

/// A line of what `lines_end` prints.
pub(super) fn parse(run: &Run, line: &str) -> Result<Count> {
    let strange = || format!("the program of {} prints `{line}`", run.title());
    let fields = Vec::from_iter(line.split('\t'));
    let [operation, numbers @ ..] = &fields[..] else {
        unreachable!("a text has at least one field");
    };
    ensure!(numbers.len() >= 5, strange());
    let (numbers, hottest) = numbers.split_at(5);
    let numbers: Result<Vec<u64>, _> = numbers.iter().map(|number| number.parse()).collect();
    let numbers = numbers.with_context(strange)?;
    let hottest: Option<Vec<Hot>> = hottest.iter().map(|hot| read(hot)).collect();
    Ok(Count {
        pool: run.pool.to_owned(),
        workers: run.workers,
        seed: run.seed,
        operation: (*operation).to_owned(),
        times: numbers[0],
        rmws: numbers[1],
        lines: numbers[2],
        wakes: numbers[3],
        barriers: numbers[4],
        hottest: hottest.with_context(strange)?,
    })
}

/// `COUNT PLACE:TIMES,…`
fn read(hot: &str) -> Option<Hot> {
    let (count, places) = hot.split_once(' ')?;
    let (place, _) = places.split_once(':')?;
    let place = u64::from_str_radix(place.strip_prefix("0x")?, 16).ok()?;
    Some(Hot {
        count: count.parse().ok()?,
        place,
    })
}

/// The mean, and the standard deviation; 0 of a single value.
pub(super) fn mean_and_spread(values: &[f64]) -> (f64, f64) {
    let amount = values.len() as f64;
    let mean = values.iter().sum::<f64>() / amount;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / (amount - 1.0).max(1.0)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::{Hot, Run, mean_and_spread, parse};

    #[test]
    fn a_line_of_the_program_is_read_or_refused() {
        let (pool, workers, seed) = ("terrace", 4, 7);
        let run = Run {
            pool,
            workers,
            seed,
        };
        let line = "spawn/one\t8\t16\t24\t4\t0\t20 0x10:12,0x20:8\t4 0x30:4";
        let count = parse(&run, line).expect("it is valid");
        let hot = [(20, 0x10), (4, 0x30)].map(|(count, place)| Hot { count, place });
        assert_eq!(count.hottest, hot);
        assert_eq!((count.each(count.rmws), count.peak()), (2.0, 2.5));
        for line in [
            "",
            "a\t1\t2\t3\t4",
            "a\t1\t2\t3\t4\tx",
            "a\t1\t2\t3\t4\t5\t20",
        ] {
            assert!(parse(&run, line).is_err(), "{line}");
        }
    }

    #[test]
    fn the_spread_is_that_of_a_sample() {
        assert_eq!(mean_and_spread(&[1.0, 3.0]), (2.0, 2.0_f64.sqrt()));
        assert_eq!(mean_and_spread(&[5.0]), (5.0, 0.0));
    }
}
