//! The programs that are built on both sides, and their limits.

use super::program::Row;
use crate::compat::registry::{BEVY_TASKS, DropIn, RAYON_CORE};
use crate::report::model::Metric;
use crate::report::peers::{PeerMean, PeerRow};
use crate::report::units::estimate;

/// What ratios of ours to stock must not exceed.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// A row is a regression if its interval lies wholly above this.
    pub(super) row: f64,
    /// The geometric mean over the counted rows, by the clock.
    pub(super) wall: f64,
    /// The same of the processors' time.
    pub(super) cpu: f64,
}

/// A program that is built on both sides.
pub(super) struct Subject {
    pub(super) package: &'static str,
    /// The first part of its rows' names.
    pub(super) layer: &'static str,
    pub(super) drop_in: DropIn,
    pub(super) limits: Limits,
    /// Rounds, samples of a run and milliseconds of a sample.
    pub(super) full: (u32, usize, u64),
}

/// Systems and queries of Bevy.
pub(super) const ECS: Subject = Subject {
    package: "ecs-bench",
    layer: "ecs",
    drop_in: BEVY_TASKS,
    limits: Limits {
        row: 1.10,
        wall: 0.65,
        cpu: f64::INFINITY,
    },
    full: (9, 5, 30),
};

/// Parallel iterators, joins and scopes of rayon.
pub(super) const RAYON: Subject = Subject {
    package: "rayon-bench",
    layer: "rayon",
    drop_in: RAYON_CORE,
    limits: Limits {
        row: 1.15,
        wall: 0.80,
        cpu: 0.60,
    },
    full: (9, 3, 10),
};

/// What the engine calls a row: it says at the end how many threads there are.
pub(super) fn name(subject: &Subject, row: &Row) -> String {
    let (layer, id, threads) = (subject.layer, &row.id, row.threads);
    match id.ends_with(&format!("-t{threads}")) {
        true => format!("{layer}/{id}"),
        false => format!("{layer}/{id}/t{threads}"),
    }
}

/// The rows whose intervals lie wholly above their limit, and the means above theirs.
pub(super) fn exceeding<'r>(
    pairs: impl Iterator<Item = &'r PeerRow>,
    means: &[PeerMean],
    limits: Limits,
) -> Vec<String> {
    let slower = pairs.filter(|pair| pair.wall.low > limits.row).map(|pair| {
        let ratio = estimate(&pair.wall);
        format!("{} is slower than stock: {ratio}", pair.name())
    });
    let limit = |mean: &PeerMean| match mean.metric {
        Metric::Wall => limits.wall,
        Metric::Cpu => limits.cpu,
        Metric::Instr => f64::INFINITY,
    };
    let above = |mean: &&PeerMean| mean.mean.value > limit(mean);
    let means = means.iter().filter(above).map(|mean| {
        let (value, limit) = (estimate(&mean.mean), limit(mean));
        let metric = mean.metric.name();
        format!("the geometric mean {value} of {metric} is above {limit}")
    });
    slower.chain(means).collect()
}
