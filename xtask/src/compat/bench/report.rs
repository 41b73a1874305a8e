//! The result: a table, a verdict, and the same as JSON.

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

use super::program::{Kind, Row, Run};
use super::rounds::{Effort, Measured};
use super::{MEAN_LIMIT, ROW_LIMIT};
use crate::measure::stats::{Estimate, mean_of_medians, median, median_of_ratios};

/// All figures.
#[derive(Serialize)]
pub(super) struct Report {
    rounds: u32,
    samples: usize,
    sample_ms: u128,
    cores: usize,
    /// Whether both sides are the stock crate.
    aa: bool,
    mean_limit: f64,
    row_limit: f64,
    rows: Vec<Line>,
    /// Over the counted rows; absent if there are none.
    mean: Option<Mean>,
}

#[derive(Serialize)]
struct Mean {
    rows: usize,
    wall: Estimate,
    cpu: Estimate,
}

#[derive(Serialize)]
struct Line {
    #[serde(flatten)]
    row: Row,
    /// Medians over the rounds, nanoseconds.
    stock_wall_ns: f64,
    ours_wall_ns: f64,
    stock_cpu_ns: f64,
    ours_cpu_ns: f64,
    /// Ours/stock.
    wall: Estimate,
    cpu: Estimate,
    /// Each round's ratio.
    wall_ratios: Vec<f64>,
    cpu_ratios: Vec<f64>,
}

impl Line {
    fn new(measured: &Measured) -> Self {
        let rounds = &measured.rounds;
        let middle = |pick: fn(&Run) -> f64, ours: bool| {
            let runs = rounds.iter().map(|r| if ours { &r.ours } else { &r.stock });
            median(&mut runs.map(pick).collect::<Vec<_>>())
        };
        let wall_ratios: Vec<_> = rounds.iter().map(|r| r.wall_ratio()).collect();
        let cpu_ratios: Vec<_> = rounds.iter().map(|r| r.cpu_ratio()).collect();
        Self {
            row: measured.row.clone(),
            stock_wall_ns: middle(|run| run.wall, false),
            ours_wall_ns: middle(|run| run.wall, true),
            stock_cpu_ns: middle(|run| run.cpu, false),
            ours_cpu_ns: middle(|run| run.cpu, true),
            wall: median_of_ratios(&wall_ratios),
            cpu: median_of_ratios(&cpu_ratios),
            wall_ratios,
            cpu_ratios,
        }
    }

    fn is_slower(&self) -> bool {
        self.row.kind != Kind::Control && self.wall.low > ROW_LIMIT
    }

    /// The last column of the table.
    fn note(&self) -> String {
        if self.is_slower() {
            return "SLOWER".to_owned();
        }
        match self.row.kind {
            Kind::Counted => String::new(),
            Kind::Gated => format!("not in the mean: {}", self.row.why),
            Kind::Control => format!("control: {}", self.row.why),
        }
    }
}

impl Report {
    /// Evaluates the measurement.
    pub(super) fn new(measured: &[Measured], effort: Effort, aa: bool) -> Self {
        let rows: Vec<_> = measured.iter().map(Line::new).collect();
        let counted: Vec<_> = rows
            .iter()
            .filter(|line| line.row.kind == Kind::Counted)
            .collect();
        let mean = (!counted.is_empty()).then(|| Mean {
            rows: counted.len(),
            wall: mean_of_medians(&collect(&counted, |line| &line.wall_ratios)),
            cpu: mean_of_medians(&collect(&counted, |line| &line.cpu_ratios)),
        });
        Self {
            rounds: effort.rounds,
            samples: effort.length.samples,
            sample_ms: effort.length.sample.as_millis(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            aa,
            mean_limit: MEAN_LIMIT,
            row_limit: ROW_LIMIT,
            rows,
            mean,
        }
    }

    /// What exceeds a limit; nothing does if the stock crate was compared with itself.
    pub(super) fn failures(&self) -> Vec<String> {
        if self.aa {
            return Vec::new();
        }
        let mut failures: Vec<_> = self
            .rows
            .iter()
            .filter(|line| line.is_slower())
            .map(|line| {
                format!(
                    "{} is slower than stock: {}",
                    line.row.id,
                    with_interval(&line.wall)
                )
            })
            .collect();
        if let Some(mean) = &self.mean
            && mean.wall.value > MEAN_LIMIT
        {
            failures.push(format!(
                "the geometric mean {:.3} is above {MEAN_LIMIT}",
                mean.wall.value
            ));
        }
        failures
    }

    /// The table and what follows it.
    pub(super) fn text(&self) -> String {
        let mut table = Table::new();
        table.load_preset(presets::NOTHING).set_header([
            "row",
            "stock µs",
            "ours µs",
            "ours/stock",
            "95 % interval",
            "CPU ours/stock",
            "",
        ]);
        for line in &self.rows {
            table.add_row([
                line.row.id.clone(),
                micros(line.stock_wall_ns),
                micros(line.ours_wall_ns),
                format!("{:.3}", line.wall.value),
                interval(&line.wall),
                format!("{:.3}", line.cpu.value),
                line.note(),
            ]);
        }
        for column in 1..=5 {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        let both = if self.aa {
            "the stock crate against itself"
        } else {
            "ours against stock"
        };
        let mut text = format!(
            "{table}\n\n{both}, {} rounds of {} samples of {} ms in 2 runs a side, {} cores\n",
            self.rounds, self.samples, self.sample_ms, self.cores
        );
        match &self.mean {
            Some(mean) => text.push_str(&format!(
                "geometric mean over {} counted rows: wall {}, CPU {}\n",
                mean.rows,
                with_interval(&mean.wall),
                with_interval(&mean.cpu)
            )),
            None => text.push_str("no counted row was measured: there is no geometric mean\n"),
        }
        text
    }
}

fn collect(lines: &[&Line], pick: fn(&Line) -> &Vec<f64>) -> Vec<Vec<f64>> {
    lines.iter().map(|line| pick(line).clone()).collect()
}

fn micros(nanos: f64) -> String {
    let micros = nanos / 1e3;
    if micros < 10.0 {
        format!("{micros:.3}")
    } else {
        format!("{micros:.1}")
    }
}

fn interval(estimate: &Estimate) -> String {
    format!("{:.3} … {:.3}", estimate.low, estimate.high)
}

fn with_interval(estimate: &Estimate) -> String {
    format!("{:.3} ({})", estimate.value, interval(estimate))
}

#[cfg(test)]
mod tests {
    use super::Report;
    use crate::compat::bench::program::{Row, Run};
    use crate::compat::bench::rounds::{Effort, Measured, Round};

    fn measured(kind: &str, ratio: f64) -> Measured {
        let row: Row = serde_json::from_str(&format!(
            r#"{{"row":"{kind}/{ratio}","kind":"{kind}","threads":2,"why":""}}"#
        ))
        .expect("the line has the program's form");
        let run = |wall| Run { wall, cpu: wall };
        let round = Round {
            stock: run(100.0),
            ours: run(100.0 * ratio),
        };
        Measured {
            row,
            rounds: vec![round; 9],
        }
    }

    fn failures(measured: &[Measured], aa: bool) -> Vec<String> {
        Report::new(measured, Effort::new(false, None), aa).failures()
    }

    #[test]
    fn a_fast_side_passes() {
        assert_eq!(failures(&[measured("counted", 0.5)], false), [""; 0]);
    }

    #[test]
    fn the_mean_is_gated_over_counted_rows_alone() {
        let rows = [
            measured("counted", 0.5),
            measured("gated", 1.0),
            measured("control", 3.0),
        ];
        assert_eq!(failures(&rows, false), [""; 0]);
        let rows = [measured("counted", 0.7), measured("control", 0.1)];
        assert_eq!(failures(&rows, false).len(), 1);
    }

    #[test]
    fn slow_rows_fail_unless_they_are_controls() {
        let rows = [
            measured("counted", 0.1),
            measured("counted", 1.2),
            measured("gated", 1.2),
            measured("control", 1.2),
        ];
        let failures = failures(&rows, false);
        assert_eq!(failures.len(), 2);
        assert!(failures[0].starts_with("counted/1.2 is slower"));
        assert!(failures[1].starts_with("gated/1.2 is slower"));
    }

    #[test]
    fn stock_against_itself_cannot_fail() {
        assert_eq!(failures(&[measured("counted", 1.5)], true), [""; 0]);
    }
}
