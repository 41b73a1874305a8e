//! The table of rows: what is measured, on how many pool threads, and whether it counts.

use std::time::Duration;

use crate::{conditions, mixed, parallel, systems};

/// The purpose of a run of a row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Part of the geometric mean, and gated.
    Counted,
    /// Gated, but no part of the mean: it measures the items' work rather than the pool.
    Gated,
    /// Gated, but no part of the mean: long work among tiny work, beside an ideal.
    Mixed,
    /// Reported only.
    Control(&'static str),
}

impl Kind {
    /// The name in the list of rows.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Counted => "counted",
            Kind::Gated => "gated",
            Kind::Mixed => "mixed",
            Kind::Control(_) => "control",
        }
    }

    /// Why a row is no part of the mean.
    pub(crate) fn why(self) -> &'static str {
        match self {
            Kind::Counted => "",
            Kind::Gated => "measures the items, not the pool",
            Kind::Mixed => "long work among tiny work, beside its ideal",
            Kind::Control(why) => why,
        }
    }
}

/// One iteration of a row's workload.
pub(crate) type Workload = Box<dyn FnMut()>;

/// One row.
pub(crate) struct Row {
    /// `group/parameters`, unique.
    pub(crate) id: String,
    pub(crate) kind: Kind,
    /// Threads of the pool it runs on (the calling thread comes on top).
    pub(crate) threads: usize,
    /// Builds the world, the schedule, the pool, and runs the workload once.
    pub(crate) build: Box<dyn FnOnce() -> Workload>,
    /// Measures what an iteration takes at best, if that is known.
    pub(crate) ideal: Option<Box<dyn FnOnce() -> Duration>>,
}

/// Threads of the pool unless a row says otherwise.
pub(crate) const THREADS: usize = 2;

const NO_TASK: Kind = Kind::Control("submits no task");
const TOO_MANY: Kind = Kind::Control("more threads than cores");

struct Table {
    rows: Vec<Row>,
    cores: usize,
}

impl Table {
    fn add(
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
        self.rows.push(Row {
            id,
            kind,
            threads,
            build: Box::new(build),
            ideal: None,
        });
    }

    fn mixed(&mut self) {
        for row in mixed::MIXED {
            for threads in [2, 4, 8] {
                self.rows.push(Row {
                    id: format!("mixed/{}/{threads}_threads", row.name),
                    kind: Kind::Mixed,
                    threads,
                    build: Box::new(move || (row.build)(threads)),
                    ideal: Some(Box::new(move || row.ideal(threads))),
                });
            }
        }
    }

    fn counted(&mut self, id: String, build: impl FnOnce() -> Workload + 'static) {
        self.add(id, Kind::Counted, THREADS, build);
    }

    fn scheduling(&mut self) {
        self.add(
            "run_empty_schedule/multi_threaded".to_owned(),
            NO_TASK,
            THREADS,
            conditions::empty_schedule,
        );
        for amount in [0, 2, 4, 10, 100, 1_000] {
            let kind = if amount == 0 { NO_TASK } else { Kind::Counted };
            let id = format!("empty_systems/{amount:04}");
            self.add(id, kind, THREADS, move || conditions::empty_systems(amount));
        }
        for bunches in [1, 3, 5] {
            for amount in [3, 9, 15] {
                let parameters = format!("{bunches:02}x_entities_{amount:02}_systems");
                self.counted(format!("busy_systems/{parameters}"), move || {
                    systems::busy(bunches, amount)
                });
                self.counted(format!("contrived/{parameters}"), move || {
                    systems::contrived(bunches, amount)
                });
            }
        }
        for condition in conditions::CONDITIONS {
            for amount in [10, 100, 1_000] {
                let kind = if condition.skips {
                    NO_TASK
                } else {
                    Kind::Counted
                };
                let id = format!("run_condition/{}/{amount:04}", condition.name);
                self.add(id, kind, THREADS, move || {
                    conditions::conditional_systems(condition, amount)
                });
            }
        }
        self.counted("schedule/base".to_owned(), systems::base);
    }

    fn parallel(&mut self) {
        for fragments in [0, 10, 100, 1_000] {
            self.counted(
                format!("par_iter_simple/{fragments:04}_fragments"),
                move || parallel::par_iter_simple(fragments),
            );
        }
        for threads in [1, 2] {
            let id = format!("overhead_par_iter/{threads}_threads");
            self.add(id, Kind::Counted, threads, move || {
                parallel::overhead_par_iter(threads)
            });
            let id = format!("for_each_par_iter/{threads}_threads");
            self.add(id, Kind::Gated, threads, move || {
                parallel::for_each_par_iter(threads)
            });
        }
        self.counted("scope/100_empty_tasks".to_owned(), parallel::scope_of_tasks);
        self.counted("spawn_await".to_owned(), parallel::spawn_await);
    }
}

/// All rows, in the order of the report.
pub(crate) fn all() -> Vec<Row> {
    let mut table = Table {
        rows: Vec::new(),
        cores: std::thread::available_parallelism().map_or(1, usize::from),
    };
    table.scheduling();
    table.parallel();
    table.mixed();
    table.rows
}
