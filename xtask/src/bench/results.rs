//! From the rounds to ratios and means.

use anyhow::{Result, ensure};

use super::BenchArgs;
use super::rounds::{Measured, Series};
use super::rows::Row;
use crate::measure::id::is_gated;
use crate::measure::machine::origin;
use crate::measure::stats::{mean_of_medians, median, median_of_ratios};
use crate::report::model::Metric;
use crate::report::peers::{BenchResults, PeerMean, PeerRow};
use crate::report::units;
use crate::workspace::Workspace;

/// Computes everything that is reported.
pub(super) fn results(
    ws: &Workspace,
    args: &BenchArgs,
    rows: &[Row],
    measured: &Measured,
) -> BenchResults {
    let origin = origin(ws);
    let (rows, means) = evaluated(rows, measured, origin.machine.cores);
    BenchResults {
        origin,
        rounds: args.rounds(),
        warm_up_ms: args.length().warm_up_ms,
        time_ms: args.length().time_ms,
        means,
        rows,
    }
}

/// A line for each row without peers.
pub(super) fn alone(rows: &[Row], measured: &Measured) -> Vec<String> {
    let mut lines = Vec::new();
    for (row, series) in rows.iter().zip(&measured.series) {
        if !row.pairs().is_empty() {
            continue;
        }
        for (entry, series) in row.entries.iter().zip(series) {
            let [time] = units::values(Metric::Wall, [median(&mut series.wall.clone())]);
            lines.push(format!("{}: {time}, no peer has this", row.id(entry)));
        }
    }
    lines
}

/// Fails if a gated row lies wholly above the gate.
pub(super) fn check(rows: &[PeerRow], gate: f64) -> Result<()> {
    let above: Vec<String> = (rows.iter())
        .filter(|row| row.gated && row.wall.low > gate)
        .map(|row| {
            format!(
                "\n    {}: {} against {}, {}",
                name(row),
                row.ours,
                row.peer,
                units::estimate(&row.wall)
            )
        })
        .collect();
    ensure!(
        above.is_empty(),
        "{} gated rows lie wholly above {gate}:{}",
        above.len(),
        above.concat()
    );
    Ok(())
}

/// `layer/workload/param`.
pub(crate) fn name(row: &PeerRow) -> String {
    let param = row.param.as_deref().unwrap_or_default();
    format!("{}/{}/{param}", row.layer, row.workload)
}

/// Every pair of every row, and the means.
pub(super) fn evaluated(
    rows: &[Row],
    measured: &Measured,
    cores: usize,
) -> (Vec<PeerRow>, Vec<PeerMean>) {
    let (pairs, cpus) = pairs(rows, measured, cores);
    let means = means(&pairs, &cpus);
    (pairs, means)
}

/// Every pair of every row, and beside it the rounds' ratios of CPU time.
pub(crate) fn pairs(
    rows: &[Row],
    measured: &Measured,
    cores: usize,
) -> (Vec<PeerRow>, Vec<Option<Vec<f64>>>) {
    let (mut pairs, mut cpus) = (Vec::new(), Vec::new());
    for (row, series) in rows.iter().zip(&measured.series) {
        if series.is_empty() {
            continue;
        }
        for (ours, peer) in row.pairs() {
            let (o, p) = (&series[ours], &series[peer]);
            let rounds = ratios(&o.wall, &p.wall);
            let cpu = cpu_ratios(o, p);
            pairs.push(PeerRow {
                layer: row.layer.clone(),
                workload: row.workload.clone(),
                param: Some(row.param.clone()),
                threads: row.threads(),
                gated: is_gated(&row.name(), cores),
                ours: row.entries[ours].contender.clone(),
                peer: row.entries[peer].contender.clone(),
                ours_ns: median(&mut o.wall.clone()),
                peer_ns: median(&mut p.wall.clone()),
                wall: median_of_ratios(&rounds),
                cpu: cpu.as_deref().map(median_of_ratios),
                rounds,
            });
            cpus.push(cpu);
        }
    }
    (pairs, cpus)
}

fn ratios(ours: &[f64], peer: &[f64]) -> Vec<f64> {
    ours.iter().zip(peer).map(|(o, p)| o / p).collect()
}

/// `None` unless every round has a CPU time above 0 on both sides.
fn cpu_ratios(ours: &Series, peer: &Series) -> Option<Vec<f64>> {
    let complete = |s: &Series| s.cpu.len() == s.wall.len() && s.cpu.iter().all(|c| *c > 0.0);
    (complete(ours) && complete(peer)).then(|| ratios(&ours.cpu, &peer.cpu))
}

/// For each layer, contender of ours, peer and metric the mean of the gated rows.
pub(crate) fn means(rows: &[PeerRow], cpus: &[Option<Vec<f64>>]) -> Vec<PeerMean> {
    let mut keys: Vec<(&str, &str, &str)> = Vec::new();
    for row in rows {
        let key = (row.layer.as_str(), row.ours.as_str(), row.peer.as_str());
        if row.gated && !keys.contains(&key) {
            keys.push(key);
        }
    }
    let mut means = Vec::new();
    for (layer, ours, peer) in keys {
        let of_this =
            |row: &PeerRow| row.gated && row.layer == layer && row.ours == ours && row.peer == peer;
        let both = || rows.iter().zip(cpus).filter(|(row, _)| of_this(row));
        let wall: Vec<Vec<f64>> = both().map(|(row, _)| row.rounds.clone()).collect();
        let cpu: Vec<Vec<f64>> = both().filter_map(|(_, cpu)| cpu.clone()).collect();
        for (metric, rounds) in [(Metric::Wall, wall), (Metric::Cpu, cpu)] {
            if rounds.is_empty() {
                continue;
            }
            means.push(PeerMean {
                layer: layer.to_owned(),
                ours: ours.to_owned(),
                peer: peer.to_owned(),
                metric,
                mean: mean_of_medians(&rounds),
                rows: rounds.len(),
            });
        }
    }
    means
}

#[cfg(test)]
mod tests {
    use super::{means, pairs};
    use crate::bench::rounds::{Measured, Series};
    use crate::bench::rows::{Row, group};
    use crate::measure::criterion::Program;
    use crate::report::model::Metric;

    fn rows(ids: &[&str]) -> Vec<Row> {
        let program = Program {
            path: "bench".into(),
            side: "this tree".to_owned(),
        };
        let pair = |id: &&str| ((*id).to_owned(), program.clone());
        group(ids.iter().map(pair).collect()).expect("well-formed")
    }

    fn series(wall: f64, cpu: Option<f64>) -> Series {
        Series {
            wall: vec![wall; 9],
            cpu: cpu.map_or(Vec::new(), |cpu| vec![cpu; 9]),
        }
    }

    #[test]
    fn ratios_are_ours_by_the_peers_and_means_leave_out_what_is_not_gated() {
        let rows = rows(&[
            "queue/a/ring/1",
            "queue/a/st3/1",
            "queue/b/ring/1",
            "queue/b/st3/1",
            "queue/a/ring/t4",
            "queue/a/st3/t4",
        ]);
        let measured = Measured {
            series: vec![
                vec![series(1.0, Some(1.0)), series(2.0, Some(1.0))],
                vec![series(4.0, Some(4.0)), series(2.0, Some(2.0))],
                vec![series(9.0, None), series(1.0, None)],
            ],
            failed: Vec::new(),
        };
        let (pairs, cpus) = pairs(&rows, &measured, 2);
        let values: Vec<f64> = pairs.iter().map(|p| p.wall.value).collect();
        assert_eq!(values, [0.5, 2.0, 9.0]);
        assert_eq!(pairs[0].cpu.map(|c| c.value), Some(1.0));
        assert!(pairs[0].gated && !pairs[2].gated);
        assert_eq!((pairs[2].threads, pairs[2].cpu), (Some(4), None));
        let means = means(&pairs, &cpus);
        let [wall, cpu] = &means[..] else {
            panic!("one peer, two metrics: {means:?}");
        };
        assert_eq!((wall.metric, wall.rows), (Metric::Wall, 2));
        assert!((wall.mean.value - 1.0).abs() < 1e-12);
        assert!((cpu.mean.value - 2.0_f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn a_failed_row_has_no_ratio() {
        let measured = Measured {
            series: vec![Vec::new()],
            failed: vec!["queue/a/1: it panicked".to_owned()],
        };
        let (pairs, _) = pairs(&rows(&["queue/a/ring/1", "queue/a/st3/1"]), &measured, 2);
        assert!(pairs.is_empty());
    }
}
