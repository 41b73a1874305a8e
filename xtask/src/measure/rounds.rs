//! The measurement: rounds of all rows, and in a row the contenders in turn. Contenders are two trees, two packages, or
//! ours and its peers.

use std::time::Instant;

use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};

use super::child::Interrupted;
use super::criterion::Program;
use super::id;
use super::runs::{Key, Kind, Run, Runs};
use crate::progress::Progress;

/// With fewer whole rounds there is no figure of a time: its interval would look narrow by chance.
pub(crate) const LEAST_ROUNDS: usize = 3;

/// What is run in turn.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) entries: Vec<Entry>,
}

/// One contender of a row.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) contender: String,
    /// What the program calls its bench.
    pub(crate) id: String,
    pub(crate) program: Program,
}

impl Row {
    /// The first part of its name.
    pub(crate) fn layer(&self) -> &str {
        id::layer(&self.name)
    }
}

impl Entry {
    pub(crate) fn new(contender: &str, id: &str, program: &Program) -> Self {
        Self {
            contender: contender.to_owned(),
            id: id.to_owned(),
            program: program.clone(),
        }
    }
}

/// A bench that failed, and how.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Failed {
    pub(crate) id: String,
    pub(crate) message: String,
}

/// What is measured of rows.
#[derive(Clone, Copy)]
pub(crate) struct Effort<'t> {
    pub(crate) title: &'t str,
    pub(crate) kind: Kind,
    /// Of every row.
    pub(crate) rounds: u32,
    /// Seconds of measuring in all, if rounds go on where a verdict is missing.
    pub(crate) budget: Option<f64>,
}

impl<'t> Effort<'t> {
    /// Without a budget.
    pub(crate) fn new(title: &'t str, kind: Kind, rounds: u32) -> Self {
        Self {
            title,
            kind,
            rounds,
            budget: None,
        }
    }

    fn is_used_up(&self, runs: &Runs) -> bool {
        let used = || runs.seconds_of(self.kind);
        self.budget.is_some_and(|budget| used() >= budget)
    }
}

/// How many rounds a row that has no verdict after `rounds` has when it is judged again: half as many more. Rarely, for
/// each judgement is a further chance to take noise for a change.
pub(crate) fn next_look(rounds: u32) -> u32 {
    rounds + rounds.div_ceil(2)
}

/// [`measure`] without a budget.
pub(crate) fn measure_all(
    effort: Effort<'_>,
    rows: &[Row],
    runs: &mut Runs,
    run: impl Fn(&Row, usize) -> Result<Run>,
) -> Result<Vec<Failed>> {
    measure(effort, rows, runs, run, |_, _, _| false)
}

/// [`measure_all`] of rows of which none may fail.
pub(crate) fn measure_whole(
    effort: Effort<'_>,
    rows: &[Row],
    runs: &mut Runs,
    run: impl Fn(&Row, usize) -> Result<Run>,
) -> Result<()> {
    match &measure_all(effort, rows, runs, run)?[..] {
        [] => Ok(()),
        [failed, ..] => bail!("{}: {}", failed.id, failed.message),
    }
}

/// Runs every row in every round, except for what is in `runs` already; with a budget then those that are `undecided`
/// after that many rounds, until the budget is used up. `run` runs one contender of a row; a row that fails is left out
/// of later rounds.
pub(crate) fn measure(
    effort: Effort<'_>,
    rows: &[Row],
    runs: &mut Runs,
    run: impl Fn(&Row, usize) -> Result<Run>,
    undecided: impl Fn(&Runs, &str, u32) -> bool,
) -> Result<Vec<Failed>> {
    let mut failed: Vec<Failed> = Vec::new();
    let mut due: Vec<&Row> = rows.iter().collect();
    let (mut from, mut to) = (1, effort.rounds);
    while !due.is_empty() {
        let progress = Progress::new(effort.title, (to + 1 - from) as usize);
        'rounds: for round in from..=to {
            progress.at(&format!("a round of {} benches", due.len()));
            for row in &due {
                if failed.iter().any(|f| f.id == row.name) {
                    continue;
                }
                // Fewer rounds give no figure at all.
                if round as usize > LEAST_ROUNDS && effort.is_used_up(runs) {
                    break 'rounds;
                }
                progress.detail(&row.name);
                if let Err(message) = one_round(row, round, effort.kind, runs, &run)? {
                    progress.line(&format!("error: {message}"));
                    let id = row.name.clone();
                    failed.push(Failed { id, message });
                }
            }
            progress.step();
        }
        drop(progress);
        let fails = |row: &Row| failed.iter().any(|f| f.id == row.name);
        due.retain(|row| !fails(row) && undecided(runs, &row.name, to));
        if effort.budget.is_none() || effort.is_used_up(runs) {
            break;
        }
        (from, to) = (to + 1, next_look(to));
    }
    Ok(failed)
}

/// Runs the contenders in the order A B B A, and B A A B in every second round. What grows steadily falls out of a round's
/// ratio, what the first run after another row pays falls out of the rounds'.
///
/// The inner error is how the row failed; the outer one ends the measurement.
fn one_round(
    row: &Row,
    round: u32,
    kind: Kind,
    runs: &mut Runs,
    run: impl Fn(&Row, usize) -> Result<Run>,
) -> Result<Result<(), String>> {
    let contenders = row.entries.len();
    for slot in 0..2 * contenders {
        let (turn, place) = (slot / contenders, slot % contenders);
        let is_back = (round % 2 == 1) == (turn == 1);
        let contender = if is_back {
            contenders - 1 - place
        } else {
            place
        };
        let key = Key {
            id: row.name.clone(),
            kind,
            round,
            contender,
            turn,
        };
        if runs.get(&key).is_some() {
            continue;
        }
        let start = Instant::now();
        let run = match run(row, contender) {
            Err(error) if error.is::<Interrupted>() => return Err(error),
            Err(error) => return Ok(Err(format!("{error:#}"))),
            Ok(run) => run,
        };
        let seconds = start.elapsed().as_secs_f64();
        runs.add(key, Run { seconds, ..run })?;
    }
    Ok(Ok(()))
}

/// The figures of two contenders, a value for each whole round.
#[derive(Default)]
pub(crate) struct Series {
    pub(crate) base: Vec<f64>,
    pub(crate) head: Vec<f64>,
    /// The later over the earlier run of BASE.
    pub(crate) aa: Vec<f64>,
}

/// Reads a bench's first rounds out of the runs, for the contenders BASE and HEAD; `value` picks the figure. A round that
/// lacks one is left out.
pub(crate) fn series(
    runs: &Runs,
    id: &str,
    kind: Kind,
    rounds: u32,
    (base, head): (usize, usize),
    value: impl Fn(Run) -> Option<f64>,
) -> Series {
    let mut series = Series::default();
    for round in 1..=rounds {
        let one = |contender, turn| {
            let id = id.to_owned();
            let key = Key {
                id,
                kind,
                round,
                contender,
                turn,
            };
            runs.get(&key).and_then(&value)
        };
        let pair = |contender| one(contender, 0).zip(one(contender, 1));
        if let (Some((a1, a2)), Some((b1, b2))) = (pair(base), pair(head)) {
            series.base.push((a1 * a2).sqrt());
            series.head.push((b1 * b2).sqrt());
            series.aa.push(a2 / a1);
        }
    }
    series
}

impl Series {
    /// HEAD/BASE of each round.
    pub(crate) fn ratios(&self) -> Vec<f64> {
        let pairs = self.head.iter().zip(&self.base);
        pairs.map(|(head, base)| head / base).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use anyhow::{Result, bail};

    use super::{Effort, Entry, Failed, Row, measure_all, series};
    use crate::measure::child::Interrupted;
    use crate::measure::criterion::Program;
    use crate::measure::runs::{Kind, Run, Runs};

    /// Measures two rows; `run` gets the number of the run and the id of its entry. The order of the runs is returned, too.
    fn rounds(
        rounds: u32,
        runs: &mut Runs,
        run: impl Fn(usize, &str) -> Result<Run>,
    ) -> (Result<Vec<Failed>>, Vec<String>) {
        let entry = |id: &str| Entry::new("", id, &Program::test());
        let row = |name: &str, entries: [&str; 2]| Row {
            name: name.to_owned(),
            entries: entries.map(entry).into(),
        };
        let rows = [row("x", ["xa", "xb"]), row("y", ["ya", "yb"])];
        let order = RefCell::new(Vec::new());
        let run = |row: &Row, at: usize| {
            let id = &row.entries[at].id;
            order.borrow_mut().push(id.clone());
            run(order.borrow().len(), id)
        };
        let effort = Effort::new("", Kind::Time, rounds);
        let failed = measure_all(effort, &rows, runs, run);
        (failed, order.into_inner())
    }

    #[test]
    fn contenders_run_mirrored_and_rounds_are_paired() {
        let mut runs = Runs::default();
        let values = [1.0, 8.0, 2.0, 4.0, 0.0, 0.0, 0.0, 0.0, 3.0, 1.0, 9.0, 3.0];
        let run = |nth: usize, _: &str| {
            Ok(Run {
                cpu: (nth > 4).then_some(1.0),
                ..Run::of(values.get(nth - 1).copied().unwrap_or(1.0))
            })
        };
        let (failed, order) = rounds(2, &mut runs, run);
        assert!(failed.expect("nothing ends it").is_empty());
        let expected = "xa xb xb xa ya yb yb ya xb xa xa xb yb ya ya yb";
        assert_eq!(order.join(" "), expected);
        let of = |value: fn(Run) -> Option<f64>| series(&runs, "x", Kind::Time, 3, (0, 1), value);
        let wall = of(|run| Some(run.value));
        assert_eq!(
            (&wall.base[..], &wall.head[..]),
            (&[2.0, 3.0][..], &[4.0, 3.0][..])
        );
        assert_eq!(
            (&wall.aa[..], &wall.ratios()[..]),
            (&[4.0, 9.0][..], &[2.0, 1.0][..])
        );
        // The first round told no CPU time.
        assert_eq!(of(|run| run.cpu).base, [1.0]);
        // What is there is not run again.
        assert_eq!(rounds(3, &mut runs, run).1.len(), 8);
    }

    #[test]
    fn a_failure_takes_its_row_out_and_an_interrupt_ends_it() {
        let run = |_: usize, id: &str| match id {
            "xb" => bail!("it panicked"),
            _ => Ok(Run::of(1.0)),
        };
        let (failed, order) = rounds(3, &mut Runs::default(), run);
        let failed = failed.expect("the other row is measured");
        assert_eq!((failed.len(), &*failed[0].message), (1, "it panicked"));
        assert_eq!(order.len(), 2 + 3 * 4);
        let (failed, _) = rounds(3, &mut Runs::default(), |_, _| bail!(Interrupted));
        assert!(failed.expect_err("interrupted").is::<Interrupted>());
    }
}
