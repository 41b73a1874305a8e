//! Frames and foreground tasks, alone and beside background work. `README.md` says what is measured.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use bevy_ecs::prelude::*;
use bevy_tasks::futures_lite::future::yield_now;
use bevy_tasks::{AsyncComputeTaskPool, ComputeTaskPool, IoTaskPool, TaskPoolBuilder, block_on};
use core_affinity::CoreId;
use thread_priority::{
    NormalThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy,
    set_thread_priority_and_policy, thread_native_id,
};

/// Foreground tasks whose start is timed, and the pause between two.
const STARTS: usize = 2_000;
const BETWEEN_STARTS: Duration = Duration::from_micros(500);
/// Frames whose length is timed, and the time from one's begin to the next one's. The kernel's ticks are often 4 ms apart. With the same
/// time between two frames, a whole process would see each frame at the same place between two ticks.
const FRAMES: usize = 500;
const FRAME: Duration = Duration::from_micros(4_330);
/// The systems of a frame, and how long each takes alone.
const SYSTEM: Duration = Duration::from_micros(100);
/// The poll of a long task, and the decoding of a loader, alone.
const LONG_POLL: Duration = Duration::from_millis(100);
const DECODE: Duration = Duration::from_millis(50);
/// Background work is done, and counted, in pieces of this length.
const PIECE: Duration = Duration::from_micros(100);
/// The size of a loader's file in bytes.
const FILE: usize = 1 << 20;
/// Background tasks for each thread of their pool.
const EACH: usize = 2;
/// How long the background work runs before anything is measured.
const WARM_UP: Duration = Duration::from_millis(300);

/// Pieces that the long tasks, and the loaders, have done.
static COMPUTED: AtomicU64 = AtomicU64::new(0);
static LOADED: AtomicU64 = AtomicU64::new(0);

/// Steps of the spinning loop that take a piece's time on this machine.
static STEPS: AtomicU64 = AtomicU64::new(0);

fn steps(count: u64) -> u64 {
    (0..count).fold(count, |value, _| {
        black_box(value.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1))
    })
}

/// Finds how many steps a piece is: the fastest of several runs says what the processor does when it is left alone.
fn calibrate() {
    const TRIED: u64 = 100_000;
    let time = || {
        let start = Instant::now();
        black_box(steps(TRIED));
        start.elapsed()
    };
    let fastest = (0..50).map(|_| time()).min().unwrap_or_default();
    let count = u128::from(TRIED) * PIECE.as_nanos() / fastest.as_nanos().max(1);
    STEPS.store(count as u64, Ordering::Relaxed);
}

/// Computes for `time`, if the thread has a processor all along.
fn compute(time: Duration, count: Option<&AtomicU64>) {
    let steps_each = STEPS.load(Ordering::Relaxed);
    for _ in 0..time.as_nanos() / PIECE.as_nanos() {
        black_box(steps(steps_each));
        if let Some(count) = count {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The class of the threads of IO and AsyncCompute.
#[derive(Clone, Copy, PartialEq)]
enum Class {
    /// That of all other threads.
    Usual,
    /// Linux's `SCHED_IDLE`.
    Idle,
}

/// From now on the calling thread runs where no thread of the usual class wants the processor.
fn become_idle() {
    let class = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
    set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, class)
        .expect("any thread may lower itself");
}

/// The processors that the process may use.
static PROCESSORS: LazyLock<Vec<CoreId>> =
    LazyLock::new(|| core_affinity::get_core_ids().expect("the system lists its processors"));

/// From now on the calling thread stays on one processor: the next one in turn.
fn stay_on_a_processor() {
    static TURN: AtomicUsize = AtomicUsize::new(0);
    let turn = TURN.fetch_add(1, Ordering::Relaxed) % PROCESSORS.len();
    let placed = core_affinity::set_for_current(PROCESSORS[turn]);
    assert!(placed, "any thread may choose its processor");
}

/// Bevy's pools for so many threads: the counts of `bevy_app`'s `TaskPoolOptions::with_num_threads`. If they are `placed`, the threads of a
/// frame, which are the calling one and those of Compute, have a processor each, in turn.
fn make_pools(threads: usize, background: Class, placed: bool) {
    let quarter = threads.div_ceil(4).clamp(1, 4);
    let pool = |threads: usize, name: &str| {
        TaskPoolBuilder::new()
            .num_threads(threads)
            .thread_name(name.to_owned())
    };
    let in_background = |name: &str| {
        let pool = pool(quarter, name);
        match background {
            Class::Usual => pool.build(),
            Class::Idle => pool.on_thread_spawn(become_idle).build(),
        }
    };
    IoTaskPool::get_or_init(|| in_background("IO Task Pool"));
    AsyncComputeTaskPool::get_or_init(|| in_background("Async Compute Task Pool"));
    let rest = threads.saturating_sub(2 * quarter).max(1);
    let compute = pool(rest, "Compute Task Pool");
    if !placed {
        ComputeTaskPool::get_or_init(|| compute.build());
        return;
    }
    // A thread inherits the processors of the thread that starts it: they are listed before this one has its own.
    LazyLock::force(&PROCESSORS);
    stay_on_a_processor();
    ComputeTaskPool::get_or_init(|| compute.on_thread_spawn(stay_on_a_processor).build());
}

fn start_background(file: &Path) {
    for _ in 0..EACH * AsyncComputeTaskPool::get().thread_num() {
        let long = async {
            loop {
                compute(LONG_POLL, Some(&COMPUTED));
                yield_now().await;
            }
        };
        AsyncComputeTaskPool::get().spawn(long).detach();
    }
    for _ in 0..EACH * IoTaskPool::get().thread_num() {
        let file = file.to_owned();
        let loader = async move {
            loop {
                let read = std::fs::read(&file).expect("the file is there");
                assert_eq!(read.len(), FILE);
                compute(DECODE, Some(&LOADED));
                yield_now().await;
            }
        };
        IoTaskPool::get().spawn(loader).detach();
    }
}

/// How long foreground tasks wait for their first poll.
fn starts() -> Vec<Duration> {
    let one = || {
        sleep(BETWEEN_STARTS);
        let spawned = Instant::now();
        block_on(ComputeTaskPool::get().spawn(async move { spawned.elapsed() }))
    };
    (0..STARTS).map(|_| one()).collect()
}

/// How long frames take, each begun on time.
fn frames() -> Vec<Duration> {
    let mut schedule = Schedule::default();
    let system = || compute(SYSTEM, None);
    schedule.add_systems((
        system, system, system, system, system, system, system, system,
    ));
    let mut world = World::new();
    schedule.run(&mut world);
    let mut next = Instant::now();
    let mut one = || {
        next += FRAME;
        sleep(next.saturating_duration_since(Instant::now()));
        let start = Instant::now();
        schedule.run(&mut world);
        start.elapsed()
    };
    (0..FRAMES).map(|_| one()).collect()
}

/// Pieces of background work in a second while `run` runs: of long tasks, and of loaders.
fn throughput<T>(run: impl FnOnce() -> T) -> (T, [f64; 2]) {
    let done = || [&COMPUTED, &LOADED].map(|count| count.load(Ordering::Relaxed));
    let (before, start) = (done(), Instant::now());
    let result = run();
    let (after, time) = (done(), start.elapsed().as_secs_f64());
    let rate = |kind: usize| (after[kind] - before[kind]) as f64 / time;
    (result, [rate(0), rate(1)])
}

/// A part of the values, in thousandths, is below this one, which is in microseconds.
fn quantile(times: &mut [Duration], part: usize) -> f64 {
    times.sort_unstable();
    times[(times.len() - 1) * part / 1_000].as_secs_f64() * 1e6
}

/// The threads of the process; 0 where the system does not say.
fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count)
}

fn run(threads_wanted: usize, file: &Path, background: Class, placed: bool) {
    calibrate();
    make_pools(threads_wanted, background, placed);
    let print = |name: &str, value: f64| println!("{name}\t{value}");
    let times = |name: &str, mut times: Vec<Duration>| {
        print(&format!("{name} p50"), quantile(&mut times, 500));
        print(&format!("{name} p90"), quantile(&mut times, 900));
        print(&format!("{name} p99"), quantile(&mut times, 990));
    };
    times("start alone", starts());
    times("frame alone", frames());
    print("threads", threads() as f64);
    std::fs::write(file, vec![7; FILE]).expect("the directory can be written to");
    start_background(file);
    sleep(WARM_UP);
    let (busy, _) = throughput(starts);
    let (framed, [computed, loaded]) = throughput(frames);
    times("start beside", busy);
    times("frame beside", framed);
    print("computed", computed);
    print("loaded", loaded);
    // A failure leaves the file in the target directory.
    _ = std::fs::remove_file(file);
}

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let (threads, file, class) = (args.next(), args.next(), args.next());
    let how = match class.as_deref() {
        None => Some((Class::Usual, false)),
        Some("idle") => Some((Class::Idle, false)),
        Some("placed") => Some((Class::Idle, true)),
        Some(_) => None,
    };
    let threads = threads.and_then(|text| text.parse().ok());
    let (Some(threads), Some(file), Some((class, placed))) = (threads, file, how) else {
        eprintln!("usage: background THREADS FILE [idle | placed]");
        return ExitCode::from(2);
    };
    run(threads, &PathBuf::from(file), class, placed);
    // The background work has no end.
    std::process::exit(0)
}
