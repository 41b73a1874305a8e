//! The pair of fences, in the form that this process has: `TERRACE_FENCE=asymmetric` or `=symmetric` chooses it.
//!
//! `heavy/N` is the heavy fence of one thread while N - 1 others compute: each barrier interrupts those that run.

use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use terrace_sync::{fence_kind, heavy, light};

/// Threads of the process that run, the fencing one included.
const THREADS: [usize; 5] = [1, 2, 4, 8, 16];

fn light_fence(c: &mut Criterion) {
    fence_kind();
    let word = AtomicU64::new(0);
    c.bench_function("sync/fence/terrace/light", |b| {
        b.iter(|| {
            // The store that the fence orders is part of what it costs.
            word.store(black_box(1), Ordering::Relaxed);
            light();
            word.load(Ordering::Relaxed)
        });
    });
}

/// Runs `f` beside `others` threads that compute.
fn beside<T>(others: usize, f: impl FnOnce() -> T) -> T {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..others {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    spin_loop();
                }
            });
        }
        let result = f();
        stop.store(true, Ordering::Relaxed);
        result
    })
}

fn heavy_fence(c: &mut Criterion) {
    let mut group = c.benchmark_group("sync/fence/terrace/heavy");
    for threads in THREADS {
        group.bench_with_input(BenchmarkId::from_parameter(threads), &threads, |b, _| {
            b.iter_custom(|count| {
                beside(threads - 1, || {
                    let start = Instant::now();
                    (0..count).for_each(|_| heavy());
                    start.elapsed()
                })
            });
        });
    }
    group.finish();
}

/// What the others lose: the time of a fixed piece of work while one other thread fences every ten microseconds, as the
/// workers of a busy pool might.
fn interrupted(c: &mut Criterion) {
    c.bench_function("sync/fence/terrace/interrupted", |b| {
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut next = Instant::now();
                while !stop.load(Ordering::Relaxed) {
                    heavy();
                    next += Duration::from_micros(10);
                    while Instant::now() < next {
                        spin_loop();
                    }
                }
            });
            b.iter(|| (0..10_000_u64).fold(0, |sum, n| black_box(sum) + n));
            stop.store(true, Ordering::Relaxed);
        });
    });
}

criterion_group!(benches, light_fence, heavy_fence, interrupted);
criterion_main!(benches);
