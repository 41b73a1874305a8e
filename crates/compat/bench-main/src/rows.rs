//! Rows: what is measured, on how many threads, and whether it counts.

use std::time::Duration;

/// The purpose of a run of a row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Part of the geometric mean, and gated.
    Counted,
    /// Gated, but no part of the mean: it measures the items' work rather than the pool.
    Gated,
    /// Gated, but no part of the mean: long work among tiny work, beside an ideal.
    Mixed,
    /// Reported only.
    Control(&'static str),
    /// Reported only, and only where long rows are asked for.
    Long,
}

impl Kind {
    /// The name in the list of rows.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Counted => "counted",
            Kind::Gated => "gated",
            Kind::Mixed => "mixed",
            Kind::Control(_) => "control",
            Kind::Long => "long",
        }
    }

    /// Why a row is no part of the mean.
    pub(crate) fn why(self) -> &'static str {
        match self {
            Kind::Counted => "",
            Kind::Gated => "measures the items, not the pool",
            Kind::Mixed => "long work among tiny work, beside its ideal",
            Kind::Control(why) => why,
            Kind::Long => "an iteration takes a tenth of a second and more",
        }
    }
}

/// One iteration of a row's workload.
pub type Workload = Box<dyn FnMut()>;

/// One row.
pub struct Row {
    /// `group/parameters`, unique.
    pub id: String,
    /// Whether it counts.
    pub kind: Kind,
    /// Threads of the pool it runs on (the calling thread comes on top).
    pub threads: usize,
    /// Builds what the workload needs, and runs the workload once.
    pub build: Box<dyn FnOnce() -> Workload>,
    /// Measures what an iteration takes at best, if that is known.
    pub ideal: Option<Box<dyn FnOnce() -> Duration>>,
}

const TOO_MANY: Kind = Kind::Control("more threads than cores");

/// The rows of a program, in the order of the report.
pub struct Table {
    rows: Vec<Row>,
    cores: usize,
}

impl Table {
    /// Without a row.
    #[must_use]
    #[expect(
        clippy::new_without_default,
        reason = "it asks the system for its cores"
    )]
    pub fn new() -> Self {
        Self {
            rows: Vec::new(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }

    /// Adds a row. It does not count where it has more threads than the machine has cores.
    pub fn add(
        &mut self,
        id: String,
        kind: Kind,
        threads: usize,
        build: impl FnOnce() -> Workload + 'static,
    ) {
        let kind = match kind {
            Kind::Counted | Kind::Gated if threads > self.cores => TOO_MANY,
            kind => kind,
        };
        self.push(Row {
            id,
            kind,
            threads,
            build: Box::new(build),
            ideal: None,
        });
    }

    /// Adds a row as it is.
    pub fn push(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// All rows.
    #[must_use]
    pub fn rows(self) -> Vec<Row> {
        self.rows
    }
}
