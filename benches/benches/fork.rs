//! `terrace-fork`: scopes over borrowed data, opened by a thread that is no worker.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use terrace_benches::THREADS;
use terrace_executor::Executor;

/// A pool of [`THREADS`] workers that has scopes.
trait Scopes {
    const NAME: &str;
    fn new() -> Self;
    /// A scope with one child for each item.
    fn for_each<T: Send>(&self, items: &mut [T], body: impl Fn(&mut T) + Sync);
}

impl Scopes for Executor<'static> {
    const NAME: &str = "fork";

    fn new() -> Self {
        Executor::builder().workers(THREADS).build()
    }

    fn for_each<T: Send>(&self, items: &mut [T], body: impl Fn(&mut T) + Sync) {
        let body = &body;
        terrace_fork::scope(self, |scope| {
            for item in items {
                scope.spawn(async move { body(item) });
            }
        });
    }
}

impl Scopes for rayon_core::ThreadPool {
    const NAME: &str = "rayon";

    fn new() -> Self {
        rayon_core::ThreadPoolBuilder::new()
            .num_threads(THREADS)
            .build()
            .expect("the threads start")
    }

    fn for_each<T: Send>(&self, items: &mut [T], body: impl Fn(&mut T) + Sync) {
        let body = &body;
        self.in_place_scope(|scope| {
            for item in items {
                scope.spawn(move |_| body(item));
            }
        });
    }
}

/// The plain loop: what there is to win, or to lose.
struct Serial;

impl Scopes for Serial {
    const NAME: &str = "serial";

    fn new() -> Self {
        Serial
    }

    fn for_each<T: Send>(&self, items: &mut [T], body: impl Fn(&mut T) + Sync) {
        items.iter_mut().for_each(body);
    }
}

/// Children that do nothing: what a scope and a child cost.
fn empty<S: Scopes>(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("fork/empty_children");
    let scopes = S::new();
    for children in [1, 10, 100, 1_000] {
        let mut items = vec![0_u64; children];
        group.throughput(Throughput::Elements(children as u64));
        group.bench_function(BenchmarkId::new(S::NAME, children), |b| {
            b.iter(|| scopes.for_each(black_box(&mut items), |item| *item += 1));
        });
    }
    group.finish();
}

/// 64 children of some length each, in steps of a loop that is about as many nanoseconds.
fn busy<S: Scopes>(criterion: &mut Criterion) {
    const CHILDREN: usize = 64;
    let mut group = criterion.benchmark_group("fork/busy_children");
    let scopes = S::new();
    for steps in [100_u64, 1_000, 10_000] {
        let mut items = [0_u64; CHILDREN];
        group.throughput(Throughput::Elements(CHILDREN as u64));
        group.bench_function(BenchmarkId::new(S::NAME, steps), |b| {
            b.iter(|| {
                scopes.for_each(black_box(&mut items), |item| {
                    for _ in 0..steps {
                        *item = black_box(*item + 1);
                    }
                });
            });
        });
    }
    group.finish();
}

criterion_group!(
    benches,
    empty::<Executor<'static>>,
    empty::<rayon_core::ThreadPool>,
    empty::<Serial>,
    busy::<Executor<'static>>,
    busy::<rayon_core::ThreadPool>,
    busy::<Serial>,
);
criterion_main!(benches);
