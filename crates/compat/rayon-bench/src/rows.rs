//! The table of rows: what is measured, and on how many threads of rayon's global pool.

use bench_main::{Kind, Row, Table, Workload};

use crate::{items, life, numbers, scenes, sorts, tiny};

/// Threads of the pool.
const ALL: &[usize] = &[1, 2, 4, 8];
/// For rows whose like is measured on more threads.
const FEW: &[usize] = &[1, 2];
/// For long rows.
const TWO: &[usize] = &[2];

/// Items, about so many nanoseconds each, and threads.
type Sized = (usize, u64, &'static [usize]);

/// Sizes of `sum`. One iteration of each takes a thread at most about ten milliseconds.
const SUMS: [Sized; 15] = [
    (100, 0, FEW),
    (100, 10, FEW),
    (100, 100, ALL),
    (1_000, 0, FEW),
    (1_000, 10, ALL),
    (1_000, 100, FEW),
    (10_000, 0, ALL),
    (10_000, 10, FEW),
    (10_000, 100, ALL),
    (100_000, 0, FEW),
    (100_000, 10, ALL),
    (100_000, 100, FEW),
    (1_000_000, 0, ALL),
    (1_000_000, 10, FEW),
    (10_000_000, 0, FEW),
];

/// Sizes of `sum` that take a tenth of a second and more.
const LONG_SUMS: [Sized; 3] = [
    (1_000_000, 100, TWO),
    (10_000_000, 10, TWO),
    (10_000_000, 100, TWO),
];

const MAPS: [Sized; 4] = [
    (1_000, 10, FEW),
    (10_000, 0, FEW),
    (100_000, 10, ALL),
    (1_000_000, 0, FEW),
];

const BRIDGES: [Sized; 3] = [(1_000, 0, FEW), (1_000, 100, ALL), (10_000, 100, FEW)];

/// Has rayon's global pool so many threads. A process measures one row.
fn pool(threads: usize) {
    let builder = rayon::ThreadPoolBuilder::new().num_threads(threads);
    builder.build_global().expect("no pool has been there");
}

struct Rows(Table);

impl Rows {
    /// Adds a row for each number of threads.
    fn add(
        &mut self,
        id: &str,
        kind: Kind,
        all: &[usize],
        build: impl Fn() -> Workload + Clone + 'static,
    ) {
        for &threads in all {
            let build = build.clone();
            self.0
                .add(format!("{id}-t{threads}"), kind, threads, move || {
                    pool(threads);
                    build()
                });
        }
    }

    fn counted(&mut self, id: &str, all: &[usize], build: fn() -> Workload) {
        self.add(id, Kind::Counted, all, build);
    }

    fn sized(
        &mut self,
        name: &str,
        kind: Kind,
        sizes: &[Sized],
        build: fn(usize, u64) -> Workload,
    ) {
        for &(items, nanos, threads) in sizes {
            let id = format!("{name}/{items}x{nanos}");
            self.add(&id, kind, threads, move || build(items, nanos));
        }
    }
}

/// All rows, in the order of the report.
pub(crate) fn all() -> Vec<Row> {
    let mut rows = Rows(Table::new());
    let alone = Kind::Control("the items of the next rows without a pool");
    rows.add("serial_asleep/100x0", alone, &[1], || tiny::serial(true));
    rows.add("serial/100x0", alone, &[1], || tiny::serial(false));
    rows.counted("asleep/100x0", ALL, || tiny::sum(true));
    rows.counted("idle/100x0", ALL, || tiny::sum(false));
    rows.counted("asleep/join", ALL, tiny::join);
    rows.sized("sum", Kind::Counted, &SUMS, items::sum);
    rows.sized("map", Kind::Counted, &MAPS, items::map);
    rows.sized("bridge", Kind::Counted, &BRIDGES, items::bridge);
    rows.counted("life/par_iter", ALL, life::par_iter);
    rows.counted("life/bridge", ALL, life::bridge);
    rows.counted("nbody/800", ALL, numbers::nbody);
    rows.counted("matmul/192", ALL, numbers::matmul);
    rows.counted("sieve/2000000", ALL, numbers::sieve);
    rows.counted("quicksort/100000", ALL, sorts::quicksort);
    rows.counted("par_sort/100000", FEW, sorts::stable);
    rows.counted("par_sort_unstable/100000", FEW, sorts::unstable);
    rows.counted("scope/100", ALL, || items::scope(100));
    rows.counted("scope/10000", FEW, || items::scope(10_000));
    for (scene, mesh) in scenes::SCENES {
        rows.add(
            &format!("obvhs_init/{scene}"),
            Kind::Counted,
            FEW,
            move || scenes::init(mesh),
        );
        rows.add(
            &format!("obvhs_sort/{scene}"),
            Kind::Counted,
            FEW,
            move || scenes::sort(mesh),
        );
        rows.add(
            &format!("obvhs_build/{scene}"),
            Kind::Counted,
            ALL,
            move || scenes::build(mesh),
        );
    }
    rows.sized("sum", Kind::Long, &LONG_SUMS, items::sum);
    rows.add("obvhs_build/large", Kind::Long, TWO, || {
        scenes::build(scenes::large)
    });
    rows.0.rows()
}
