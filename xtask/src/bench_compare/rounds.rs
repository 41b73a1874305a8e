//! The measurement: rounds of all benches, each bench with both sides in turn.

use std::io::IsTerminal;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::comparison::LEAST_ROUNDS;
use super::plan::Matched;
use super::runs::{Found, Key, Kind, Runs};
use super::sides::Which;
use crate::measure::child::Interrupted;
use crate::measure::criterion::Length;
use crate::progress::Progress;

/// Runs of a bench in a round.
pub(super) const SLOTS: usize = 4;

/// The sides in the order of a round's runs: A B B A, and B A A B in every second round. What grows steadily
/// falls out of a round's ratio, what the first run after another bench pays out of the rounds'.
pub(super) fn order(round: u32) -> [Which; SLOTS] {
    use Which::{Base, Head};
    if round % 2 == 1 {
        [Base, Head, Head, Base]
    } else {
        [Head, Base, Base, Head]
    }
}

/// A bench that failed, and how.
pub(super) struct Failed {
    pub(super) id: String,
    pub(super) message: String,
}

/// How much is measured.
#[derive(Clone, Copy)]
pub(super) struct Effort {
    /// Of every bench.
    pub(super) rounds: u32,
    /// Seconds of measuring in all, if rounds go on where a verdict is missing.
    pub(super) budget: Option<f64>,
    pub(super) length: Length,
}

impl Effort {
    fn is_used_up(&self, runs: &Runs) -> bool {
        let used = || runs.seconds_of(Kind::Time);
        self.budget.is_some_and(|budget| used() >= budget)
    }
}

/// How many rounds a bench that has no verdict after `rounds` has when it is judged again: half as many more. Rarely, for
/// each judgement is a further chance to take noise for a change.
pub(super) fn next_look(rounds: u32) -> u32 {
    rounds + rounds.div_ceil(2)
}

/// Runs every bench in every round, except for what is in `runs` already; with a budget then those that are `undecided`
/// after that many rounds, until the budget is used up. A bench that fails is left out of later rounds.
///
/// # Errors
///
/// `Interrupted`, and if a run cannot be noted.
pub(super) fn measure(
    benches: &[&Matched],
    effort: Effort,
    home: &Path,
    runs: &mut Runs,
    undecided: impl Fn(&Runs, &str, u32) -> bool,
) -> Result<Vec<Failed>> {
    let mut failed: Vec<Failed> = Vec::new();
    let mut due = benches.to_vec();
    let (mut from, mut to) = (1, effort.rounds);
    loop {
        let mut shown = Shown::new(from, to, due.len());
        'rounds: for round in from..=to {
            shown.round(round);
            for bench in &due {
                if failed.iter().any(|f| f.id == bench.id) {
                    continue;
                }
                // Fewer rounds give no figure at all.
                if round as usize > LEAST_ROUNDS && effort.is_used_up(runs) {
                    break 'rounds;
                }
                shown.bench(round, &bench.id);
                match one_round(bench, round, effort.length, home, runs) {
                    Ok(()) => {}
                    Err(Stop::Bench(message)) => {
                        shown.progress.line(&format!("error: {message}"));
                        let id = bench.id.clone();
                        failed.push(Failed { id, message });
                    }
                    Err(Stop::All(error)) => {
                        shown.progress.finish();
                        return Err(error);
                    }
                }
                shown.done();
            }
        }
        shown.progress.finish();
        let fails = |bench: &&Matched| failed.iter().any(|f| f.id == bench.id);
        due.retain(|bench| !fails(bench) && undecided(runs, &bench.id, to));
        if effort.budget.is_none() || due.is_empty() || effort.is_used_up(runs) {
            return Ok(failed);
        }
        (from, to) = (to + 1, next_look(to));
    }
}

/// What ends a round early.
enum Stop {
    Bench(String),
    All(anyhow::Error),
}

fn one_round(
    bench: &Matched,
    round: u32,
    length: Length,
    home: &Path,
    runs: &mut Runs,
) -> Result<(), Stop> {
    for (slot, which) in (0..).zip(order(round)) {
        let key = key(&bench.id, Kind::Time, round, slot);
        if runs.get(&key).is_some() {
            continue;
        }
        let program = match which {
            Which::Base => &bench.base,
            Which::Head => &bench.head,
        };
        let start = Instant::now();
        let run = program.run(&bench.id, length, home).map_err(|error| {
            if error.is::<Interrupted>() {
                Stop::All(error)
            } else {
                Stop::Bench(format!("{error:#}"))
            }
        })?;
        let found = Found {
            value: run.wall,
            cpu: run.cpu,
            seconds: start.elapsed().as_secs_f64(),
        };
        runs.add(key, found).map_err(Stop::All)?;
    }
    Ok(())
}

pub(super) fn key(id: &str, kind: Kind, round: u32, slot: u32) -> Key {
    Key {
        id: id.to_owned(),
        kind,
        round,
        slot,
    }
}

/// The figures of a bench, a value for each whole round.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Series {
    pub(super) base: Vec<f64>,
    pub(super) head: Vec<f64>,
    /// The later over the earlier run of BASE.
    pub(super) aa: Vec<f64>,
}

/// Reads a bench's rounds out of the runs; `value` picks the figure. A round that lacks one is left out.
pub(super) fn series(
    runs: &Runs,
    id: &str,
    kind: Kind,
    rounds: u32,
    value: impl Fn(Found) -> Option<f64>,
) -> Series {
    let mut series = Series::default();
    for round in 1..=rounds {
        let (mut base, mut head) = (Vec::new(), Vec::new());
        for (slot, which) in (0..).zip(order(round)) {
            let Some(value) = runs.get(&key(id, kind, round, slot)).and_then(&value) else {
                continue;
            };
            match which {
                Which::Base => base.push(value),
                Which::Head => head.push(value),
            }
        }
        if let ([a1, a2], [b1, b2]) = (&base[..], &head[..]) {
            series.base.push((a1 * a2).sqrt());
            series.head.push((b1 * b2).sqrt());
            series.aa.push(a2 / a1);
        }
    }
    series
}

impl Series {
    /// HEAD/BASE of each round.
    pub(super) fn ratios(&self) -> Vec<f64> {
        let pairs = self.head.iter().zip(&self.base);
        pairs.map(|(head, base)| head / base).collect()
    }
}

/// On a terminal a bar with a step for each bench in each round, elsewhere a line for each round.
struct Shown {
    progress: Progress,
    each_bench: bool,
    from: u32,
    to: u32,
    benches: usize,
    start: Instant,
}

impl Shown {
    fn new(from: u32, to: u32, benches: usize) -> Self {
        let rounds = (to + 1 - from) as usize;
        let each_bench = std::io::stderr().is_terminal();
        let steps = if each_bench { rounds * benches } else { rounds };
        Self {
            progress: Progress::new("bench-compare", steps),
            each_bench,
            from,
            to,
            benches,
            start: Instant::now(),
        }
    }

    fn round(&mut self, round: u32) {
        if self.each_bench {
            return;
        }
        let left = match round - self.from {
            0 => String::new(),
            done => {
                let one = self.start.elapsed() / done;
                format!(", about {} left", words(one * (self.to + 1 - round)))
            }
        };
        let text = format!("a round of {} benches{left}", self.benches);
        self.progress.at(&text);
    }

    fn bench(&mut self, round: u32, id: &str) {
        if self.each_bench {
            self.progress.at(&format!("round {round}: {id}"));
        }
    }

    fn done(&mut self) {
        if self.each_bench {
            self.progress.step();
        }
    }
}

fn words(time: Duration) -> String {
    let seconds = time.as_secs_f64().ceil() as u64;
    match seconds {
        0..120 => format!("{seconds} s"),
        _ => format!("{} min", seconds.div_ceil(60)),
    }
}

#[cfg(test)]
mod tests {
    use super::{Series, key, order, series};
    use crate::bench_compare::runs::{Found, Kind, Runs, Subject};
    use crate::bench_compare::sides::Which;
    use crate::measure::criterion::Length;

    #[test]
    fn both_sides_take_each_place_equally_often() {
        for slot in 0..4 {
            let sides = [order(1)[slot], order(2)[slot]];
            assert!(sides.contains(&Which::Base) && sides.contains(&Which::Head));
        }
    }

    #[test]
    fn rounds_are_paired_and_broken_ones_left_out() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let subject = Subject {
            schema: 1,
            base: String::new(),
            head: String::new(),
            aa: false,
            length: Length::of_millis(1),
        };
        let mut runs = Runs::open(dir.path(), &subject, false).expect("it opens");
        let found = |value| Found {
            value,
            cpu: None,
            seconds: 0.1,
        };
        // A B B A, then B A A B, then half a round.
        let values = [1.0, 8.0, 2.0, 4.0, 3.0, 1.0, 9.0, 3.0, 5.0, 5.0];
        for (n, value) in (0..).zip(values) {
            let key = key("a", Kind::Time, n / 4 + 1, n % 4);
            runs.add(key, found(value)).expect("there is room");
        }
        let wall = series(&runs, "a", Kind::Time, 3, |f| Some(f.value));
        let expected = Series {
            base: vec![2.0, 3.0],
            head: vec![4.0, 3.0],
            aa: vec![4.0, 9.0],
        };
        assert_eq!(wall, expected);
        assert_eq!(wall.ratios(), [2.0, 1.0]);
        let cpu = series(&runs, "a", Kind::Time, 3, |f| f.cpu);
        assert_eq!(cpu, Series::default());
    }
}
