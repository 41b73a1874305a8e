//! `terrace-executor`: tasks of a pool of worker threads.

use std::future::Future;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use event_listener::Event;
use futures_lite::future::{block_on, yield_now};
use terrace_benches::THREADS;
use terrace_executor::{Executor, StaticExecutor};

/// A pool of [`THREADS`] workers.
trait Pool {
    const NAME: &str;
    fn new() -> Self;
    fn spawn<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> impl Future<Output = T> + Send + 'static;
    /// Waits on the calling thread, the way meant for it.
    fn block_on<T>(future: impl Future<Output = T>) -> T;
}

impl Pool for Executor<'static> {
    const NAME: &str = "executor";

    fn new() -> Self {
        Executor::builder().workers(THREADS).build()
    }

    fn spawn<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> impl Future<Output = T> + Send + 'static {
        self.spawn(future)
    }

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        terrace_executor::block_on(future)
    }
}

impl Pool for &'static StaticExecutor {
    const NAME: &str = "static_executor";

    fn new() -> Self {
        Executor::builder()
            .workers(THREADS)
            .try_build_static()
            .expect("the threads start")
    }

    fn spawn<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> impl Future<Output = T> + Send + 'static {
        StaticExecutor::spawn(self, future)
    }

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        terrace_executor::block_on(future)
    }
}

/// `async_executor` with threads that run it.
struct AsyncExecutor {
    executor: Arc<async_executor::Executor<'static>>,
    stop: Event,
    threads: Vec<JoinHandle<()>>,
}

impl Pool for AsyncExecutor {
    const NAME: &str = "async_executor";

    fn new() -> Self {
        let (executor, stop) = (Arc::new(async_executor::Executor::new()), Event::new());
        let threads = (0..THREADS)
            .map(|_| {
                let (executor, stop) = (Arc::clone(&executor), stop.listen());
                thread::spawn(move || block_on(executor.run(stop)))
            })
            .collect();
        Self {
            executor,
            stop,
            threads,
        }
    }

    fn spawn<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> impl Future<Output = T> + Send + 'static {
        self.executor.spawn(future)
    }

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        block_on(future)
    }
}

impl Drop for AsyncExecutor {
    fn drop(&mut self) {
        self.stop.notify(usize::MAX);
        for thread in self.threads.drain(..) {
            thread.join().expect("the thread does not panic");
        }
    }
}

/// One task, from outside the pool and back.
fn spawn_await<P: Pool>(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("executor/spawn_await");
    let pool = P::new();
    group.bench_function(BenchmarkId::new(P::NAME, THREADS), |b| {
        b.iter(|| P::block_on(pool.spawn(async { 1 })));
    });
    group.finish();
}

/// Many tasks that do nothing, from outside the pool.
fn spawn_await_all<P: Pool>(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("executor/spawn_await_all");
    let pool = P::new();
    for amount in [100, 1_000] {
        group.throughput(Throughput::Elements(amount));
        group.bench_function(BenchmarkId::new(P::NAME, amount), |b| {
            b.iter(|| {
                let tasks: Vec<_> = (0..amount).map(|_| pool.spawn(async {})).collect();
                P::block_on(async {
                    for task in tasks {
                        task.await;
                    }
                });
            });
        });
    }
    group.finish();
}

/// As many tasks as there are workers, each waking itself many times.
fn wake_self<P: Pool>(criterion: &mut Criterion) {
    const WAKES: u64 = 1_000;
    let mut group = criterion.benchmark_group("executor/wake_self");
    let pool = P::new();
    group.throughput(Throughput::Elements(WAKES * THREADS as u64));
    group.bench_function(BenchmarkId::new(P::NAME, WAKES), |b| {
        b.iter(|| {
            let tasks = [(); THREADS].map(|()| {
                pool.spawn(async {
                    for _ in 0..WAKES {
                        yield_now().await;
                    }
                })
            });
            P::block_on(async {
                for task in tasks {
                    task.await;
                }
            });
        });
    });
    group.finish();
}

criterion_group!(
    benches,
    spawn_await::<Executor<'static>>,
    spawn_await::<&'static StaticExecutor>,
    spawn_await::<AsyncExecutor>,
    spawn_await_all::<Executor<'static>>,
    spawn_await_all::<&'static StaticExecutor>,
    spawn_await_all::<AsyncExecutor>,
    wake_self::<Executor<'static>>,
    wake_self::<&'static StaticExecutor>,
    wake_self::<AsyncExecutor>,
);
criterion_main!(benches);
