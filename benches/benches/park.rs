//! `terrace-park`: sleeping, waking, and announcing work.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use terrace_park::{Idle, Parker, Work};

/// One thread's place to sleep, and the handle that wakes it.
trait Park {
    const NAME: &str;
    type Waker: Send + 'static;
    /// Made on the thread that will park.
    fn new() -> Self;
    fn waker(&self) -> Self::Waker;
    fn park(&self);
    fn unpark(waker: &Self::Waker);
}

impl Park for Parker {
    const NAME: &str = "parker";
    type Waker = terrace_park::Unparker;

    fn new() -> Self {
        Parker::new()
    }

    fn waker(&self) -> Self::Waker {
        self.unparker()
    }

    fn park(&self) {
        self.park();
    }

    fn unpark(waker: &Self::Waker) {
        waker.unpark();
    }
}

impl Park for crossbeam_utils::sync::Parker {
    const NAME: &str = "crossbeam";
    type Waker = crossbeam_utils::sync::Unparker;

    fn new() -> Self {
        crossbeam_utils::sync::Parker::new()
    }

    fn waker(&self) -> Self::Waker {
        self.unparker().clone()
    }

    fn park(&self) {
        self.park();
    }

    fn unpark(waker: &Self::Waker) {
        waker.unpark();
    }
}

/// The standard library's parking of the current thread.
struct Std;

impl Park for Std {
    const NAME: &str = "std";
    type Waker = thread::Thread;

    fn new() -> Self {
        Std
    }

    fn waker(&self) -> Self::Waker {
        thread::current()
    }

    fn park(&self) {
        thread::park();
    }

    fn unpark(waker: &Self::Waker) {
        waker.unpark();
    }
}

/// The wake comes before the sleep: no system call.
fn token<P: Park>(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("park/unpark_then_park");
    let parker = P::new();
    let waker = parker.waker();
    group.bench_function(BenchmarkId::new(P::NAME, 1), |b| {
        b.iter(|| {
            P::unpark(&waker);
            parker.park();
        });
    });
    group.finish();
}

/// Two threads wake each other in turn.
fn ping_pong<P: Park>(criterion: &mut Criterion) {
    static STOP: AtomicBool = AtomicBool::new(false);
    let mut group = criterion.benchmark_group("park/ping_pong");
    STOP.store(false, Ordering::Relaxed);
    let own = P::new();
    let wake_own = own.waker();
    let (give, take) = std::sync::mpsc::channel();
    let peer = thread::spawn(move || {
        let parker = P::new();
        give.send(parker.waker()).expect("the bench waits for it");
        loop {
            parker.park();
            if STOP.load(Ordering::Relaxed) {
                break;
            }
            P::unpark(&wake_own);
        }
    });
    let wake_peer = take.recv().expect("the peer sends its waker");
    group.bench_function(BenchmarkId::new(P::NAME, 2), |b| {
        b.iter(|| {
            P::unpark(&wake_peer);
            own.park();
        });
    });
    STOP.store(true, Ordering::Relaxed);
    P::unpark(&wake_peer);
    peer.join().expect("the peer does not panic");
    group.finish();
}

struct Nothing;

impl Work for Nothing {
    fn takeable(&self, _: u32) -> bool {
        false
    }

    fn inlet(&self, _: usize) -> bool {
        false
    }
}

/// What a spawn pays where nobody has to be woken: everybody runs, or somebody searches.
fn publish(criterion: &mut Criterion) {
    const WORKERS: usize = 8;
    let mut group = criterion.benchmark_group("park/publish");
    let idle = Idle::with_workers(WORKERS);
    let searching: Vec<_> = (0..WORKERS).map(|worker| idle.enter(worker)).collect();
    group.bench_function(BenchmarkId::new("idle", "searching"), |b| {
        b.iter(|| black_box(idle.publish(1)));
    });
    for token in searching {
        idle.stop_search(token, &Nothing);
    }
    group.bench_function(BenchmarkId::new("idle", "all_running"), |b| {
        b.iter(|| black_box(idle.publish(1)));
    });
    group.finish();
}

criterion_group!(
    benches,
    token::<Parker>,
    token::<crossbeam_utils::sync::Parker>,
    token::<Std>,
    ping_pong::<Parker>,
    ping_pong::<crossbeam_utils::sync::Parker>,
    ping_pong::<Std>,
    publish,
);
criterion_main!(benches);
