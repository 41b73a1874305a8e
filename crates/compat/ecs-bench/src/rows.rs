//! The table of rows: what is measured, on how many pool threads, and whether it counts.

use bench_main::{Kind, Row, Table, Workload};

use crate::{archetypes, conditions, mixed, parallel, systems};

/// Threads of the pool unless a row says otherwise.
pub(crate) const THREADS: usize = 2;

const NO_TASK: Kind = Kind::Control("submits no task");
/// The table, with the rows of ECS workloads.
struct Rows(Table);

impl Rows {
    fn add(
        &mut self,
        id: String,
        kind: Kind,
        threads: usize,
        build: impl FnOnce() -> Workload + 'static,
    ) {
        self.0.add(id, kind, threads, build);
    }

    fn mixed(&mut self) {
        for row in mixed::MIXED {
            for threads in [2, 4, 8] {
                self.0.push(Row {
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
        self.counted(
            "param/combinator_system".to_owned(),
            conditions::combined_systems,
        );
        self.add(
            "empty_commands".to_owned(),
            NO_TASK,
            THREADS,
            conditions::empty_commands,
        );
    }

    fn archetypes(&mut self) {
        self.counted("added_archetypes/01000".to_owned(), archetypes::added);
        for walk in &archetypes::WALKS {
            for amount in [10, 100, 1_000, 10_000] {
                let id = format!("empty_archetypes/{}/{amount:05}", walk.name);
                self.counted(id, move || archetypes::empty(walk, amount));
            }
        }
    }

    fn parallel(&mut self) {
        for fragments in [0, 10, 100, 1_000] {
            self.counted(
                format!("par_iter_simple/{fragments:04}_fragments"),
                move || parallel::par_iter_simple(fragments),
            );
        }
        self.counted(
            "par_iter_simple/hybrid".to_owned(),
            parallel::par_iter_hybrid,
        );
        self.add(
            "many_maps_iter".to_owned(),
            NO_TASK,
            THREADS,
            parallel::many_maps_iter,
        );
        for threads in [1, 2, 4, 8, 16] {
            let id = format!("many_maps_par_iter/{threads:02}_threads");
            self.add(id, Kind::Gated, threads, move || {
                parallel::many_maps_par_iter(threads)
            });
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
    let mut rows = Rows(Table::new());
    rows.scheduling();
    rows.archetypes();
    rows.parallel();
    rows.mixed();
    rows.0.rows()
}
