//! From the rounds to ratios and means.

use anyhow::{Result, ensure};

use super::rows;
use crate::measure::id;
use crate::measure::rounds::{Row, series};
use crate::measure::runs::{Kind, Run, Runs};
use crate::report::model::Metric;
use crate::report::peers::{PeerMean, PeerRow};
use crate::report::units;
use xtask_stats::{mean_of_medians, median, median_of_ratios};

/// Prints a line for each bench without peers.
pub(super) fn print_alone(rows: &[Row], runs: &Runs, kind: Kind) {
    let metric = match kind {
        Kind::Time => Metric::Wall,
        Kind::Instructions => Metric::Instr,
    };
    for row in rows.iter().filter(|row| rows::pairs(row).is_empty()) {
        let rounds = runs.last_round(&row.name);
        for (at, entry) in row.entries.iter().enumerate() {
            let mut own = series(runs, &row.name, kind, rounds, (at, at), |f| Some(f.value));
            let [figure] = units::values(metric, [median(&mut own.base)]);
            println!("{}: {figure}, no peer has this", entry.id);
        }
    }
}

/// Fails if a gated row lies wholly above the gate.
pub(super) fn check(rows: &[PeerRow], gate: Option<f64>) -> Result<()> {
    let gate = gate.unwrap_or(f64::INFINITY);
    let mut above = rows.to_vec();
    above.retain(|row| row.gated && row.wall.low > gate);
    let line = |row: &PeerRow| {
        let (name, ratio) = (row.name(), units::estimate(&row.wall));
        format!("\n    {name}: {} against {}, {ratio}", row.ours, row.peer)
    };
    ensure!(
        above.is_empty(),
        "{} gated rows lie wholly above {gate}:{}",
        above.len(),
        above.iter().map(line).collect::<String>()
    );
    Ok(())
}

/// Every pair of every row. A pair has CPU time if two thirds of its rounds have: on a busy machine a run's begin or end is now and
/// then seen too late to read the clock.
pub(crate) fn pairs(rows: &[Row], runs: &Runs, kind: Kind, cores: usize) -> Vec<PeerRow> {
    let mut all = Vec::new();
    for row in rows {
        let name = row.name.strip_prefix(row.layer()).unwrap_or_default();
        let (workload, param) = name.rsplit_once('/').unwrap_or((name, ""));
        let rounds = runs.last_round(&row.name);
        for (ours, peer) in rows::pairs(row) {
            let of = |value: fn(Run) -> Option<f64>| {
                series(runs, &row.name, kind, rounds, (peer, ours), value)
            };
            let mut wall = of(|run| Some(run.value));
            let mut cpu_rounds = of(|run| run.cpu.filter(|cpu| *cpu > 0.0)).ratios();
            if cpu_rounds.len() * 3 < wall.base.len() * 2 {
                cpu_rounds.clear();
            }
            let barriers = |run: Run| run.barriers;
            let mut barriers = series(runs, &row.name, kind, rounds, (ours, ours), barriers).base;
            let rounds = wall.ratios();
            all.push(PeerRow {
                layer: row.layer().to_owned(),
                workload: workload.trim_start_matches('/').to_owned(),
                param: param.to_owned(),
                threads: id::threads(&row.name),
                gated: id::is_gated(&row.name, cores),
                ours: row.entries[ours].contender.clone(),
                peer: row.entries[peer].contender.clone(),
                ours_ns: median(&mut wall.head),
                peer_ns: median(&mut wall.base),
                wall: median_of_ratios(&rounds),
                cpu: (!cpu_rounds.is_empty()).then(|| median_of_ratios(&cpu_rounds)),
                barriers: (!barriers.is_empty()).then(|| median(&mut barriers)),
                rounds,
                cpu_rounds,
            });
        }
    }
    all
}

/// For each layer, contender of ours, peer and metric the mean of the gated rows.
pub(crate) fn means(rows: &[PeerRow]) -> Vec<PeerMean> {
    let mut groups: Vec<Vec<&PeerRow>> = Vec::new();
    for row in rows.iter().filter(|row| row.gated) {
        let key = |row: &PeerRow| (row.layer.clone(), row.ours.clone(), row.peer.clone());
        match groups.iter_mut().find(|group| key(group[0]) == key(row)) {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    let mean = |group: &[&PeerRow], metric, figures: fn(&PeerRow) -> &Vec<f64>| {
        let rounds = group.iter().map(|row| figures(row).clone());
        let rounds: Vec<Vec<f64>> = rounds.filter(|rounds| !rounds.is_empty()).collect();
        (!rounds.is_empty()).then(|| PeerMean {
            layer: group[0].layer.clone(),
            ours: group[0].ours.clone(),
            peer: group[0].peer.clone(),
            metric,
            mean: mean_of_medians(&rounds),
            rows: rounds.len(),
        })
    };
    let means = groups.iter().flat_map(|group| {
        let wall = mean(group, Metric::Wall, |row| &row.rounds);
        [wall, mean(group, Metric::Cpu, |row| &row.cpu_rounds)]
    });
    means.flatten().collect()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::{check, means, pairs};
    use crate::bench::rows::group;
    use crate::measure::criterion::Program;
    use crate::measure::rounds::{Effort, Row, measure_all};
    use crate::measure::runs::{Kind, Run, Runs};
    use crate::report::model::Metric;

    #[test]
    fn ratios_are_ours_by_the_peers_and_means_leave_out_what_is_not_gated() {
        let times = [
            ("queue/a/ring/1", 1.0, Some(1.0)),
            ("queue/a/st3/1", 2.0, Some(1.0)),
            ("queue/b/ring/1", 4.0, Some(4.0)),
            ("queue/b/st3/1", 2.0, Some(2.0)),
            ("queue/a/ring/t4", 9.0, None),
            ("queue/a/st3/t4", 1.0, None),
        ];
        let listed = times.map(|(id, _, _)| (id.to_owned(), Program::test()));
        let rows = group(listed.into()).expect("well-formed");
        let mut runs = Runs::default();
        let calls = Cell::new(0);
        let run = |row: &Row, at: usize| {
            calls.set(calls.get() + 1);
            let time = times.iter().find(|time| time.0 == row.entries[at].id);
            let (_, wall, cpu) = *time.expect("it is one of them");
            // One round of one row has none.
            let cpu = cpu.filter(|_| calls.get() > 1);
            Ok(Run {
                cpu,
                ..Run::of(wall)
            })
        };
        let effort = Effort::new("", Kind::Time, 9);
        measure_all(effort, &rows, &mut runs, run).expect("nothing fails");
        let pairs = pairs(&rows, &runs, Kind::Time, 2);
        let values: Vec<f64> = pairs.iter().map(|p| p.wall.value).collect();
        assert_eq!(values, [0.5, 2.0, 9.0]);
        let rounds: Vec<_> = pairs.iter().map(|pair| pair.cpu_rounds.len()).collect();
        assert_eq!(
            rounds.iter().filter(|rounds| **rounds == 8).count(),
            1,
            "{rounds:?}"
        );
        assert_eq!(pairs[0].cpu.map(|c| c.value), Some(1.0));
        assert_eq!((&*pairs[2].name(), pairs[2].gated), ("queue/a/t4", false));
        assert_eq!((pairs[2].threads, pairs[2].cpu), (Some(4), None));
        let means = means(&pairs);
        let [wall, cpu] = &means[..] else {
            panic!("one peer, two metrics: {means:?}");
        };
        assert_eq!((wall.metric, wall.rows), (Metric::Wall, 2));
        assert!((wall.mean.value - 1.0).abs() < 1e-12);
        assert!((cpu.mean.value - 2.0_f64.sqrt()).abs() < 1e-12);
        check(&pairs, Some(2.0)).expect("none is above");
        let error = check(&pairs, Some(1.0)).expect_err("one is above");
        assert!(error.to_string().contains("queue/b/1"), "{error}");
    }
}
