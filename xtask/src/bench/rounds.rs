//! Rounds of runs: rounds outside, rows inside, in each row every contender forwards and then backwards.

use anyhow::{Context, Result};

use super::rows::Row;
use crate::measure::child::Interrupted;
use crate::measure::criterion::{Length, Run};
use crate::progress::Progress;
use crate::workspace::Workspace;

/// One contender's rounds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Series {
    /// Nanoseconds an iteration, one a round.
    pub(crate) wall: Vec<f64>,
    /// The same of the processors' time; shorter than `wall` where it could not be read.
    pub(crate) cpu: Vec<f64>,
}

/// What all rounds found.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    /// By row, and by entry of the row; empty where the row failed.
    pub(crate) series: Vec<Vec<Series>>,
    /// What is to be said of each row that failed.
    pub(crate) failed: Vec<String>,
}

/// Measures all rows.
///
/// # Errors
///
/// After Ctrl-C. A bench that fails takes its row out.
pub(crate) fn run(ws: &Workspace, rows: &[Row], rounds: usize, length: Length) -> Result<Measured> {
    std::fs::create_dir_all(&ws.target).context("cannot make the target directory")?;
    let home = tempfile::tempdir_in(&ws.target)
        .context("cannot make a temporary directory in the target directory")?;
    measure_all("bench", rows, rounds, |row, at| {
        let entry = &row.entries[at];
        entry.program.run(&row.id(entry), length, home.path())
    })
}

/// Measures all rows; `measure` runs one entry of a row once.
///
/// # Errors
///
/// As [`run`].
pub(crate) fn measure_all(
    title: &str,
    rows: &[Row],
    rounds: usize,
    measure: impl Fn(&Row, usize) -> Result<Run>,
) -> Result<Measured> {
    let progress = Progress::new(title, rounds * rows.len());
    let mut measured = Measured {
        series: rows
            .iter()
            .map(|row| vec![Series::default(); row.entries.len()])
            .collect(),
        failed: Vec::new(),
    };
    for round in 1..=rounds {
        for (row, series) in rows.iter().zip(&mut measured.series) {
            progress.at(&format!("round {round} of {rounds}: {}", row.name()));
            if !series.is_empty()
                && let Err(error) = measure_row(row, series, &measure)
            {
                if error.is::<Interrupted>() {
                    progress.finish();
                    return Err(error);
                }
                series.clear();
                progress.line(&format!("{}: {error:#}", row.name()));
                measured.failed.push(format!("{}: {error:#}", row.name()));
            }
            progress.step();
        }
    }
    progress.finish();
    Ok(measured)
}

/// One round of a row: each contender twice, mirrored, so that a drift of the machine's speed weighs on all alike.
fn measure_row(
    row: &Row,
    series: &mut [Series],
    measure: impl Fn(&Row, usize) -> Result<Run>,
) -> Result<()> {
    let one = |at: usize| measure(row, at);
    let there: Vec<Run> = (0..series.len()).map(one).collect::<Result<_>>()?;
    let mut back: Vec<Run> = (0..series.len()).rev().map(one).collect::<Result<_>>()?;
    back.reverse();
    for ((series, first), second) in series.iter_mut().zip(there).zip(back) {
        series.wall.push((first.wall * second.wall).sqrt());
        if let (Some(first), Some(second)) = (first.cpu, second.cpu) {
            series.cpu.push((first * second).sqrt());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::path::PathBuf;

    use anyhow::bail;

    use super::measure_all;
    use crate::bench::rows::{Entry, Row};
    use crate::measure::child::Interrupted;
    use crate::measure::criterion::{Program, Run};

    fn row(workload: &str) -> Row {
        let entry = |contender: &str| Entry {
            contender: contender.to_owned(),
            program: Program {
                path: PathBuf::from("bench"),
                side: "this tree".to_owned(),
            },
        };
        Row {
            layer: "queue".to_owned(),
            workload: workload.to_owned(),
            param: "1".to_owned(),
            entries: vec![entry("ring"), entry("st3")],
        }
    }

    #[test]
    fn contenders_run_forwards_and_backwards() {
        let order = RefCell::new(Vec::new());
        let measured = measure_all("", &[row("a"), row("b")], 2, |row, at| {
            order.borrow_mut().push(row.id(&row.entries[at]));
            let nth = order.borrow().len();
            Ok(Run {
                wall: if nth % 4 < 2 { 2.0 } else { 8.0 },
                cpu: (nth > 4).then_some(1.0),
            })
        })
        .expect("nothing fails");
        let order = order.into_inner();
        assert_eq!(
            order[..5],
            [
                "queue/a/ring/1",
                "queue/a/st3/1",
                "queue/a/st3/1",
                "queue/a/ring/1",
                "queue/b/ring/1"
            ]
        );
        assert_eq!(order.len(), 16);
        let [ring, st3] = &measured.series[0][..] else {
            panic!("two contenders");
        };
        assert_eq!(
            (&ring.wall[..], &st3.wall[..]),
            (&[2.0, 2.0][..], &[8.0, 8.0][..])
        );
        // The first round told no CPU time.
        assert_eq!(ring.cpu, [1.0]);
    }

    #[test]
    fn a_failure_takes_its_row_out() {
        let calls = RefCell::new(0);
        let measured = measure_all("", &[row("a"), row("b")], 3, |row, at| {
            *calls.borrow_mut() += 1;
            if row.workload == "a" && at == 1 {
                bail!("it panicked");
            }
            Ok(Run {
                wall: 1.0,
                cpu: None,
            })
        })
        .expect("the other row is measured");
        assert!(measured.series[0].is_empty());
        assert_eq!(measured.series[1][0].wall.len(), 3);
        assert_eq!(measured.failed, ["queue/a/1: it panicked"]);
        assert_eq!(*calls.borrow(), 2 + 3 * 4);
    }

    #[test]
    fn an_interrupt_ends_it() {
        let result = measure_all("", &[row("a")], 3, |_, _| bail!(Interrupted));
        assert!(result.expect_err("interrupted").is::<Interrupted>());
    }
}
