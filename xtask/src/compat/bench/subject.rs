//! The programs that are built on both sides, and their limits.

use anyhow::{Result, ensure};

use super::program::{Kind, Length, Row};
use crate::compat::registry::{BEVY_TASKS, Published, RAYON_CORE};
use crate::compat::sides::{OPTIMISED, Side, WITH_TIMELINE, Way};
use crate::measure::criterion::Program;
use crate::measure::rounds::{self, Entry};
use crate::report::model::Metric;
use crate::report::peers::{PeerMean, PeerRow};
use crate::report::units::estimate;
use crate::workspace::Workspace;

/// The contender of a mixed row that is no side: the program knows how fast the row could be.
pub(super) const IDEAL: &str = "ideal";

/// From so many microseconds on a wake is dear. Then it is what stock pays for most, and ours avoids.
const DEAR: f64 = 20.0;

/// A program that is built on both sides.
pub(super) struct Subject {
    package: &'static str,
    /// The first part of its rows' names.
    layer: &'static str,
    drop_in: Published,
    pub(super) limits: Limits,
    pub(super) length: Length,
}

/// Systems and queries of Bevy.
pub(super) const ECS: Subject = Subject {
    package: "ecs-bench",
    layer: "ecs",
    drop_in: BEVY_TASKS,
    limits: Limits {
        row: 1.05,
        wall: 0.55,
        dear_wall: 0.45,
        cpu: f64::INFINITY,
    },
    length: Length {
        samples: 5,
        millis: 30,
    },
};

/// Parallel iterators, joins and scopes of rayon.
pub(super) const RAYON: Subject = Subject {
    package: "rayon-bench",
    layer: "rayon",
    drop_in: RAYON_CORE,
    limits: Limits {
        row: 1.15,
        wall: 0.80,
        dear_wall: 0.80,
        cpu: 0.60,
    },
    length: Length {
        samples: 3,
        millis: 10,
    },
};

impl Subject {
    pub(super) fn build(&self, ws: &Workspace, side: Side) -> Result<Program> {
        self.built(ws, side, OPTIMISED, side.name())
    }

    /// The program on the drop-in, as it is and with a timeline.
    pub(super) fn without_and_with_timeline(&self, ws: &Workspace) -> Result<[Program; 2]> {
        let ways = [(OPTIMISED, "without"), (WITH_TIMELINE, "with")];
        let [without, with] = ways.map(|(way, name)| self.built(ws, Side::Ours, way, name));
        Ok([without?, with?])
    }

    fn built(&self, ws: &Workspace, side: Side, way: Way, name: &str) -> Result<Program> {
        Ok(Program {
            name: self.package.to_owned(),
            path: side.program(ws, self.package, &[self.drop_in], way)?,
            side: name.to_owned(),
            variables: Vec::new(),
        })
    }

    /// A row as the engine has it: ours, then its peer, mostly the stock crate, then the ideal of a mixed row. Its name says at the
    /// end how many threads there are.
    pub(super) fn entries(&self, row: &Row, [peer, ours]: &[Program; 2]) -> rounds::Row {
        let contenders = [("ours", ours), (peer.side.as_str(), peer), (IDEAL, ours)];
        let count = if row.kind == Kind::Mixed { 3 } else { 2 };
        let contenders = contenders.into_iter().take(count);
        let (id, threads) = (&row.id, format!("t{}", row.threads));
        let end = match id.ends_with(&format!("-{threads}")) {
            true => String::new(),
            false => format!("/{threads}"),
        };
        rounds::Row {
            name: format!("{}/{id}{end}", self.layer),
            entries: contenders
                .map(|(contender, program)| Entry::new(contender, id, program))
                .collect(),
        }
    }
}

/// What ratios of ours to stock must not exceed.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// A row is a regression if its interval lies wholly above this.
    pub(super) row: f64,
    /// The geometric mean over the counted rows, by the clock.
    pub(super) wall: f64,
    /// The same on a machine where a wake is [dear](DEAR).
    pub(super) dear_wall: f64,
    /// The same of the processors' time.
    pub(super) cpu: f64,
}

impl Limits {
    /// Fails if the interval of a row lies wholly above its limit, or a mean above its own. A row that is only reported has no limit,
    /// and neither has the ideal of a mixed row.
    pub(super) fn check(
        &self,
        rows: &[PeerRow],
        means: &[PeerMean],
        wake_us: Option<f64>,
        kind: impl Fn(&str) -> Kind,
    ) -> Result<()> {
        let mut above = Vec::new();
        for row in rows.iter().filter(|row| row.peer != IDEAL) {
            let name = row.name();
            let is_limited = !matches!(kind(&name), Kind::Control | Kind::Long);
            if is_limited && row.wall.low > self.row {
                let ratio = estimate(&row.wall);
                above.push(format!("{name} is slower than stock: {ratio}"));
            }
        }
        for mean in means {
            let limit = match mean.metric {
                Metric::Wall if wake_us >= Some(DEAR) => self.dear_wall,
                Metric::Wall => self.wall,
                Metric::Cpu => self.cpu,
                Metric::Instr => f64::INFINITY,
            };
            if mean.mean.value > limit {
                let (value, metric) = (estimate(&mean.mean), mean.metric.name());
                above.push(format!(
                    "the geometric mean {value} of {metric} is above {limit}"
                ));
            }
        }
        ensure!(above.is_empty(), "{}", above.join("; "));
        Ok(())
    }
}
