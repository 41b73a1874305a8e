//! `cargo xtask bench --abreast`: each contender of a row on a line of its own, with its time, its CPU time and how many processors it
//! kept busy.

use std::cell::RefCell;
use std::collections::BTreeMap;

use anyhow::Result;

use super::contenders::{are_alike, is_ours};
use crate::measure::child::Interrupted;
use crate::measure::criterion::Length;
use crate::measure::rounds::{Row, series};
use crate::measure::runs::{Kind, Run, Runs};
use crate::report::peers::Origin;
use crate::report::sheet::{Cell, Sheet};
use crate::report::units::{NONE, unique};
use xtask_stats::{median, median_of_ratios};

const HEADER: [&str; 7] = [
    "row",
    "contender",
    "time",
    "CPU time",
    "processors",
    "ours/it, time",
    "ours/it, CPU time",
];

/// The benches that failed: they are not run again, and their rows go on without them.
#[derive(Default)]
pub(super) struct Lost(RefCell<BTreeMap<String, String>>);

impl Lost {
    /// Runs the bench, unless it has failed before. One that fails gives no figure, but an interrupt is an error.
    pub(super) fn unless(&self, id: &str, run: impl FnOnce() -> Result<Run>) -> Result<Run> {
        if self.has(id) {
            return Ok(Run::of(f64::NAN));
        }
        match run() {
            Err(error) if !error.is::<Interrupted>() => {
                let message = format!("{error:#}");
                eprintln!("{id} is left out: {message}");
                self.0.borrow_mut().insert(id.to_owned(), message);
                Ok(Run::of(f64::NAN))
            }
            ended => ended,
        }
    }

    fn has(&self, id: &str) -> bool {
        self.0.borrow().contains_key(id)
    }

    /// Which have failed, in a sentence.
    fn said(&self) -> String {
        let lost = self.0.borrow();
        let names: Vec<&str> = lost.keys().map(String::as_str).collect();
        match names.is_empty() {
            true => String::new(),
            false => format!(" These failed: {}.", names.join(", ")),
        }
    }
}

/// The table of rows that have been measured.
pub(super) fn sheet(
    origin: Origin,
    rows: &[Row],
    runs: &Runs,
    lost: &Lost,
    rounds: u16,
    length: Length,
) -> Sheet {
    let names = rows.iter().flat_map(|row| &row.entries);
    let contenders = unique(names.map(|entry| entry.contender.as_str()));
    Sheet {
        origin,
        title: "Abreast".to_owned(),
        note: format!(
            "Medians over {rounds} rounds of {} ms a run, two runs a round, for one iteration; the CPU time is that of all threads of the \
             process, and `processors` is CPU time/time. A ratio below 1 says that ours takes less; in brackets its 95 % confidence \
             interval over the rounds. {NONE} stands where a contender does not have the row, or failed.{}",
            length.time_ms,
            lost.said(),
        ),
        header: HEADER.map(str::to_owned).into(),
        rows: rows
            .iter()
            .flat_map(|row| lines(row, &contenders, runs, lost))
            .collect(),
    }
}

/// A line for each contender, also for those that do not have the row.
fn lines(row: &Row, contenders: &[&str], runs: &Runs, lost: &Lost) -> Vec<Vec<Cell>> {
    let rounds = runs.last_round(&row.name);
    // The clock of CPU time is now and then read too late, and an interval over the rest would look narrow.
    let is_enough = |known: usize| known > 0 && known * 3 >= rounds as usize * 2;
    let of_us: Vec<_> = (0..row.entries.len())
        .filter(|&at| {
            let entry = &row.entries[at];
            is_ours(row.layer(), &entry.contender) && !lost.has(&entry.id)
        })
        .collect();
    // The one of its kind, where we have that.
    let ours_for = |contender: &str| {
        let is_like = |at: &&usize| are_alike(&row.entries[**at].contender, contender);
        of_us.iter().find(is_like).or(of_us.first()).copied()
    };
    let line = |contender: &&str| {
        let none = || Cell::Text(NONE.to_owned());
        let name = [row.name.clone(), (*contender).to_owned()].map(Cell::Text);
        let mut places = row.entries.iter();
        let Some(at) = places.position(|e| e.contender == *contender && !lost.has(&e.id)) else {
            return Vec::from_iter(name.into_iter().chain([(); 5].map(|()| none())));
        };
        let of = |base, head, value: fn(Run) -> Option<f64>| {
            series(runs, &row.name, Kind::Time, rounds, (base, head), value)
        };
        let cpu = |run: Run| run.cpu.filter(|cpu| *cpu > 0.0);
        let both = |value: fn(Run) -> Option<f64>| {
            let mut own = of(at, at, value).base;
            is_enough(own.len()).then(|| median(&mut own))
        };
        let [time, used] = [both(|run| Some(run.value)), both(cpu)];
        let ratio = |value| {
            let ours = ours_for(contender).filter(|_| !of_us.contains(&at));
            let ratios = ours.map_or(Vec::new(), |ours| of(at, ours, value).ratios());
            match is_enough(ratios.len()) {
                true => Cell::Estimate(median_of_ratios(&ratios)),
                false => none(),
            }
        };
        let busy = time.zip(used).map(|(time, used)| used / time);
        let figures = [
            time.map_or_else(none, Cell::Nanoseconds),
            used.map_or_else(none, Cell::Nanoseconds),
            busy.map_or_else(none, Cell::Ratio),
            ratio(|run| Some(run.value)),
            ratio(cpu),
        ];
        name.into_iter().chain(figures).collect()
    };
    contenders.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::{Cell, Lost, lines};
    use crate::bench::rows::group;
    use crate::measure::child::Interrupted;
    use crate::measure::criterion::Program;
    use crate::measure::rounds::{Effort, Row, measure_all};
    use crate::measure::runs::{Kind, Run, Runs};

    #[test]
    fn each_contender_has_a_line_and_a_missing_one_says_so() {
        let times = [
            ("awaits/a/fork/t2", 10.0, Some(20.0)),
            ("awaits/a/forte/t2", 40.0, Some(40.0)),
            ("awaits/a/bevy_tasks/t2", 20.0, None),
            ("awaits/b/fork/t2", 1.0, Some(1.0)),
            ("awaits/b/forte/t2", 1.0, None),
        ];
        let listed = times.map(|(id, _, _)| (id.to_owned(), Program::test()));
        let rows = group(listed.into()).expect("well-formed");
        let mut runs = Runs::default();
        let calls = std::cell::Cell::new(0);
        let run = |row: &Row, at: usize| {
            let time = times.iter().find(|time| time.0 == row.entries[at].id);
            let (id, wall, cpu) = *time.expect("it is one of them");
            calls.set(calls.get() + usize::from(id == "awaits/b/fork/t2"));
            // Known in one round of three.
            let cpu = cpu.filter(|_| id != "awaits/b/fork/t2" || calls.get() <= 2);
            Ok(Run {
                cpu,
                ..Run::of(wall)
            })
        };
        measure_all(Effort::new("", Kind::Time, 3), &rows, &mut runs, run).expect("nothing fails");
        let contenders = ["fork", "forte", "bevy_tasks"];
        let [a, b] = [0, 1].map(|row| lines(&rows[row], &contenders, &runs, &Lost::default()));
        let none = Cell::Text("–".to_owned());
        let figures = |line: &[Cell]| line[2..].to_vec();
        let ours = [10.0, 20.0].map(Cell::Nanoseconds);
        assert_eq!(a[0][2..4], ours);
        assert_eq!(a[0][4..], [Cell::Ratio(2.0), none.clone(), none.clone()]);
        let of = |cell: &Cell| match cell {
            Cell::Estimate(ratio) => ratio.value,
            _ => f64::NAN,
        };
        assert_eq!([of(&a[1][5]), of(&a[1][6])], [0.25, 0.5]);
        assert_eq!((of(&a[2][5]), &a[2][6], &a[2][3]), (0.5, &none, &none));
        assert!(figures(&b[2]).iter().all(|cell| *cell == none));
        assert_eq!(b[0][2..4], [Cell::Nanoseconds(1.0), none.clone()]);
        assert_eq!(b[2][1], Cell::Text("bevy_tasks".to_owned()));
    }

    #[test]
    fn a_peer_is_held_against_ours_of_its_kind() {
        let times = [
            ("awaits/a/fork/t2", 10.0),
            ("awaits/a/guest_fork/t2", 5.0),
            ("awaits/a/guest_forte/t2", 20.0),
            ("awaits/a/bevy_tasks/t2", 20.0),
        ];
        let listed = times.map(|(id, _)| (id.to_owned(), Program::test()));
        let rows = group(listed.into()).expect("well-formed");
        let mut runs = Runs::default();
        let run = |row: &Row, at: usize| {
            let time = times.iter().find(|time| time.0 == row.entries[at].id);
            Ok(Run::of(time.expect("it is one of them").1))
        };
        measure_all(Effort::new("", Kind::Time, 3), &rows, &mut runs, run).expect("nothing fails");
        let contenders = ["fork", "guest_fork", "guest_forte", "bevy_tasks"];
        let ratios: Vec<_> = lines(&rows[0], &contenders, &runs, &Lost::default())
            .into_iter()
            .map(|line| match &line[5] {
                Cell::Estimate(ratio) => Some(ratio.value),
                _ => None,
            })
            .collect();
        assert_eq!(ratios, [None, None, Some(0.25), Some(0.5)]);
    }

    #[test]
    fn a_bench_that_fails_is_not_run_again() {
        let lost = Lost::default();
        let fails = || anyhow::bail!("it hangs");
        assert!(lost.unless("a", fails).expect("left out").value.is_nan());
        let again = lost.unless("a", || panic!("it has failed before"));
        assert!(again.expect("left out").value.is_nan());
        assert_eq!(lost.said(), " These failed: a.");
        let interrupted = lost.unless("b", || anyhow::bail!(Interrupted));
        assert!(interrupted.is_err() && !lost.has("b"));
        let ended = lost.unless("b", || Ok(Run::of(2.0)));
        assert!(ended.is_ok_and(|run| run.value.total_cmp(&2.0).is_eq()));
    }
}
