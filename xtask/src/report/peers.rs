//! `cargo xtask bench --json FILE`: our layers measured against their peers in rounds.

use serde::{Deserialize, Serialize};

use super::figure;
use super::model::{Estimate, Machine, Metric};

/// Where figures come from.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Origin {
    /// [`SCHEMA`](super::model::SCHEMA).
    pub(crate) schema: u32,
    /// When they were finished: RFC 3339, UTC.
    pub(crate) created: String,
    /// The command line that measures this again, `cargo xtask …`.
    pub(crate) command: String,
    /// The hash of the commit.
    pub(crate) commit: String,
    /// Whether the tree had changes that are in no commit.
    pub(crate) dirty: bool,
    pub(crate) machine: Machine,
}

/// One run of `cargo xtask bench` in rounds.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct BenchResults {
    #[serde(flatten)]
    pub(crate) origin: Origin,
    /// Rounds asked for.
    pub(crate) rounds: usize,
    /// Of each run of a bench, before the measurement.
    pub(crate) warm_up_ms: u64,
    /// Of the measurement in each run of a bench.
    pub(crate) time_ms: u64,
    /// In the order of the page.
    pub(crate) rows: Vec<PeerRow>,
    /// For each layer, contender of ours, peer and metric with at least one gated row.
    pub(crate) means: Vec<PeerMean>,
}

/// One workload, ours beside one peer.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct PeerRow {
    pub(crate) layer: String,
    pub(crate) workload: String,
    /// The last part of the benches' ids, if they have one.
    pub(crate) param: Option<String>,
    /// How many threads it runs, if it says so.
    pub(crate) threads: Option<usize>,
    /// False for a row of more threads than cores: shown, in no mean.
    pub(crate) gated: bool,
    /// The contender that is ours.
    pub(crate) ours: String,
    /// The contender that is not.
    pub(crate) peer: String,
    /// Median over the rounds, nanoseconds an iteration.
    #[serde(with = "figure")]
    pub(crate) ours_ns: f64,
    #[serde(with = "figure")]
    pub(crate) peer_ns: f64,
    /// Ours/peer by the clock.
    pub(crate) wall: Estimate,
    /// Ours/peer of the processors' time, where it can be read.
    pub(crate) cpu: Option<Estimate>,
    /// Ours/peer by the clock of each round.
    #[serde(with = "figure::list")]
    pub(crate) rounds: Vec<f64>,
}

/// The geometric mean of the gated rows of a layer that one of ours has with one peer.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct PeerMean {
    pub(crate) layer: String,
    /// The contender that is ours.
    pub(crate) ours: String,
    pub(crate) peer: String,
    pub(crate) metric: Metric,
    /// Ours/peer.
    pub(crate) mean: Estimate,
    /// How many rows are in it.
    pub(crate) rows: usize,
}
