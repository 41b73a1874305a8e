//! `terrace-tasks`: the interface of `bevy_tasks`, against the original.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use terrace_benches::THREADS;

/// A task pool of [`THREADS`] threads.
trait Pool {
    const NAME: &str;
    fn new() -> Self;
    /// A scope of tasks that return their numbers.
    fn scope(&self, tasks: usize) -> Vec<usize>;
    /// Spawns a task and waits for it.
    fn spawn_await(&self) -> usize;
    /// Adds one to every item, in chunks.
    fn chunks(&self, items: &mut [u64], size: usize);
}

macro_rules! pool {
    ($library:ident, $name:literal) => {
        impl Pool for $library::TaskPool {
            const NAME: &str = $name;

            fn new() -> Self {
                $library::TaskPoolBuilder::new()
                    .num_threads(THREADS)
                    .build()
            }

            fn scope(&self, tasks: usize) -> Vec<usize> {
                self.scope(|scope| {
                    for number in 0..tasks {
                        scope.spawn(async move { number });
                    }
                })
            }

            fn spawn_await(&self) -> usize {
                $library::block_on(self.spawn(async { 1 }))
            }

            fn chunks(&self, mut items: &mut [u64], size: usize) {
                $library::ParallelSliceMut::par_chunk_map_mut(
                    &mut items,
                    self,
                    size,
                    |_, chunk| {
                        chunk.iter_mut().for_each(|item| *item += 1);
                    },
                );
            }
        }
    };
}

pool!(terrace_tasks, "terrace");
pool!(bevy_tasks, "bevy");

fn scope<P: Pool>(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("tasks/scope");
    let pool = P::new();
    for tasks in [1, 10, 100, 1_000] {
        group.throughput(Throughput::Elements(tasks as u64));
        group.bench_function(BenchmarkId::new(P::NAME, tasks), |b| {
            b.iter(|| pool.scope(black_box(tasks)));
        });
    }
    group.finish();
}

fn spawn_await<P: Pool>(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("tasks/spawn_await");
    let pool = P::new();
    group.bench_function(BenchmarkId::new(P::NAME, THREADS), |b| {
        b.iter(|| pool.spawn_await());
    });
    group.finish();
}

fn par_chunks<P: Pool>(criterion: &mut Criterion) {
    const ITEMS: usize = 100_000;
    let mut group = criterion.benchmark_group("tasks/par_chunk_map_mut");
    let pool = P::new();
    let mut items = vec![0; ITEMS];
    for size in [1_000, 25_000] {
        group.throughput(Throughput::Elements(ITEMS as u64));
        group.bench_function(BenchmarkId::new(P::NAME, size), |b| {
            b.iter(|| pool.chunks(black_box(&mut items), size));
        });
    }
    group.finish();
}

criterion_group!(
    benches,
    scope::<terrace_tasks::TaskPool>,
    scope::<bevy_tasks::TaskPool>,
    spawn_await::<terrace_tasks::TaskPool>,
    spawn_await::<bevy_tasks::TaskPool>,
    par_chunks::<terrace_tasks::TaskPool>,
    par_chunks::<bevy_tasks::TaskPool>,
);
criterion_main!(benches);
