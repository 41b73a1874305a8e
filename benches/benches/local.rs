//! `terrace-local`: tasks of one thread.

use std::future::Future;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use futures_lite::future::yield_now;
use terrace_local::{LocalExecutor, StaticLocalExecutor};

/// An executor of the current thread.
trait Local {
    const NAME: &str;
    fn new() -> Self;
    fn spawn_detached(&self, future: impl Future<Output = ()> + 'static);
    fn try_tick(&self) -> bool;
}

impl Local for LocalExecutor<'static> {
    const NAME: &str = "local";

    fn new() -> Self {
        LocalExecutor::new()
    }

    fn spawn_detached(&self, future: impl Future<Output = ()> + 'static) {
        self.spawn(future).detach();
    }

    fn try_tick(&self) -> bool {
        self.try_tick()
    }
}

impl Local for &'static StaticLocalExecutor {
    const NAME: &str = "static_local";

    fn new() -> Self {
        Box::leak(Box::new(StaticLocalExecutor::new()))
    }

    fn spawn_detached(&self, future: impl Future<Output = ()> + 'static) {
        self.spawn(future).detach();
    }

    fn try_tick(&self) -> bool {
        (**self).try_tick()
    }
}

impl Local for async_executor::LocalExecutor<'static> {
    const NAME: &str = "async_executor";

    fn new() -> Self {
        async_executor::LocalExecutor::new()
    }

    fn spawn_detached(&self, future: impl Future<Output = ()> + 'static) {
        self.spawn(future).detach();
    }

    fn try_tick(&self) -> bool {
        self.try_tick()
    }
}

/// Spawn, run once, done.
fn spawn_run<E: Local>(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("local/spawn_run");
    for tasks in [1, 1_000] {
        let executor = E::new();
        group.throughput(Throughput::Elements(tasks));
        group.bench_function(BenchmarkId::new(E::NAME, tasks), |b| {
            b.iter(|| {
                for _ in 0..tasks {
                    executor.spawn_detached(async {});
                }
                while executor.try_tick() {}
            });
        });
    }
    group.finish();
}

/// A task that wakes itself many times.
fn wake_self<E: Local>(criterion: &mut Criterion) {
    const WAKES: u64 = 100;
    let mut group = criterion.benchmark_group("local/wake_self");
    let executor = E::new();
    group.throughput(Throughput::Elements(WAKES));
    group.bench_function(BenchmarkId::new(E::NAME, WAKES), |b| {
        b.iter(|| {
            executor.spawn_detached(async {
                for _ in 0..WAKES {
                    yield_now().await;
                }
            });
            while executor.try_tick() {}
        });
    });
    group.finish();
}

criterion_group!(
    benches,
    spawn_run::<LocalExecutor<'static>>,
    spawn_run::<&'static StaticLocalExecutor>,
    spawn_run::<async_executor::LocalExecutor<'static>>,
    wake_self::<LocalExecutor<'static>>,
    wake_self::<&'static StaticLocalExecutor>,
    wake_self::<async_executor::LocalExecutor<'static>>,
);
criterion_main!(benches);
