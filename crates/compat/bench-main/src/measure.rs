//! Timing: wall clock, CPU time of the whole process, and the system's own counters.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::futex;

/// CPU time and context switches of the process so far.
#[derive(Clone, Copy)]
struct Usage {
    user: Duration,
    system: Duration,
    /// Context switches because a thread slept.
    voluntary: u64,
    /// Context switches because another thread was given the core.
    involuntary: u64,
}

impl Usage {
    fn now() -> Self {
        // SAFETY: all-zero bytes are a valid `rusage`.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: the pointer is to a live `rusage`.
        let failed = unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
        assert_eq!(failed, 0, "getrusage failed");
        let duration = |time: libc::timeval| {
            Duration::from_secs(time.tv_sec as u64) + Duration::from_micros(time.tv_usec as u64)
        };
        Self {
            user: duration(usage.ru_utime),
            system: duration(usage.ru_stime),
            voluntary: usage.ru_nvcsw as u64,
            involuntary: usage.ru_nivcsw as u64,
        }
    }
}

/// CPU time on one of the system's clocks.
fn cpu_clock(clock: libc::clockid_t) -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to a live `timespec`.
    let failed = unsafe { libc::clock_gettime(clock, &raw mut time) };
    assert_eq!(failed, 0, "clock_gettime failed");
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Wall time, and CPU time of the thread that is timed.
#[derive(Clone, Copy, Default)]
struct Pauses {
    wall: Duration,
    cpu: Duration,
}

thread_local! {
    /// The pauses of the thread so far.
    static PAUSES: Cell<Pauses> = const { Cell::new(Pauses { wall: Duration::ZERO, cpu: Duration::ZERO }) };
}

/// Sleeps, [untimed].
pub fn pause(time: Duration) {
    untimed(|| std::thread::sleep(time));
}

/// Calls `f`, within a workload. No sample has the time of it, nor the CPU time that `f` costs this thread. What other threads do during the
/// call counts, and `--counts` has the system calls and context switches of all threads.
pub fn untimed<T>(f: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let cpu = cpu_clock(libc::CLOCK_THREAD_CPUTIME_ID);
    let done = f();
    let cpu = cpu_clock(libc::CLOCK_THREAD_CPUTIME_ID) - cpu;
    let mut pauses = PAUSES.get();
    pauses.wall += start.elapsed();
    pauses.cpu += cpu;
    PAUSES.set(pauses);
    done
}

/// One sample: many iterations, timed together.
pub(crate) struct Sample {
    iterations: u64,
    wall: Duration,
    /// Of all threads of the process.
    cpu: Duration,
}

impl Sample {
    fn take(workload: &mut dyn FnMut(), iterations: u64) -> Self {
        let before = PAUSES.get();
        let cpu = cpu_clock(libc::CLOCK_PROCESS_CPUTIME_ID);
        let start = Instant::now();
        for _ in 0..iterations {
            workload();
        }
        let wall = start.elapsed();
        let cpu = cpu_clock(libc::CLOCK_PROCESS_CPUTIME_ID) - cpu;
        let pauses = PAUSES.get();
        Self {
            iterations,
            wall: wall.saturating_sub(pauses.wall - before.wall),
            cpu: cpu.saturating_sub(pauses.cpu - before.cpu),
        }
    }

    /// Nanoseconds an iteration, as a JSON line.
    pub(crate) fn to_json(&self, row: &str) -> String {
        let each = |time: Duration| time.as_nanos() as f64 / self.iterations as f64;
        format!(
            r#"{{"row":"{row}","iterations":{},"wall_ns":{:.1},"cpu_ns":{:.1}}}"#,
            self.iterations,
            each(self.wall),
            each(self.cpu)
        )
    }
}

/// A time that is known otherwise, as the sample of one iteration, which takes as much of one processor.
pub(crate) fn known(row: &str, time: Duration) -> String {
    let sample = Sample {
        iterations: 1,
        wall: time,
        cpu: time,
    };
    sample.to_json(row)
}

/// Warms the workload up for half a sample's time and says how many iterations make a sample.
fn calibrate(workload: &mut dyn FnMut(), time: Duration) -> u64 {
    let start = Instant::now();
    let mut done = 0;
    // The first half of the warm-up fills caches and lets threads start; the second is timed.
    while start.elapsed() < time / 4 {
        workload();
        done += 1;
    }
    let (start, mut timed) = (Instant::now(), 0);
    while timed == 0 || (timed < done && start.elapsed() < time / 4) {
        workload();
        timed += 1;
    }
    let each = start.elapsed().as_secs_f64() / f64::from(timed);
    (time.as_secs_f64() / each).ceil().max(1.0) as u64
}

/// Takes samples of about `time` each and hands them on as they come.
pub(crate) fn samples(
    workload: &mut dyn FnMut(),
    time: Duration,
    amount: usize,
    mut report: impl FnMut(Sample),
) {
    let iterations = calibrate(workload, time);
    for _ in 0..amount {
        report(Sample::take(workload, iterations));
    }
}

/// Runs the workload for about ten samples and prints the costs of one iteration as a JSON line.
/// They are wall time, CPU time of all threads and of the calling one, in user mode and in the
/// kernel, and context switches. The preload library adds system calls; without it these are `null`.
pub(crate) fn counts(row: &str, workload: &mut dyn FnMut(), time: Duration) -> String {
    let iterations = calibrate(workload, time) * 10;
    let (futex, usage) = (futex::Counts::now(), Usage::now());
    let pauses = PAUSES.get();
    let own = cpu_clock(libc::CLOCK_THREAD_CPUTIME_ID);
    let sample = Sample::take(workload, iterations);
    let own = cpu_clock(libc::CLOCK_THREAD_CPUTIME_ID) - own;
    let own = own.saturating_sub(PAUSES.get().cpu - pauses.cpu);
    let (usage_after, futex_after) = (Usage::now(), futex::Counts::now());

    let each = |total: f64| total / iterations as f64;
    let micros = |time: Duration| each(time.as_secs_f64() * 1e6);
    let calls = |pick: fn(&futex::Counts) -> u64| match (&futex, &futex_after) {
        (Some(before), Some(after)) => format!("{:.3}", each((pick(after) - pick(before)) as f64)),
        _ => "null".to_owned(),
    };
    format!(
        concat!(
            r#"{{"row":"{}","iterations":{},"wall_us":{:.3},"cpu_us":{:.3},"caller_cpu_us":{:.3},"#,
            r#""user_us":{:.3},"system_us":{:.3},"voluntary_switches":{:.3},"#,
            r#""involuntary_switches":{:.3},"futex_waits":{},"futex_wakes":{},"threads_woken":{},"barriers":{}}}"#
        ),
        row,
        iterations,
        micros(sample.wall),
        micros(sample.cpu),
        micros(own),
        micros(usage_after.user - usage.user),
        micros(usage_after.system - usage.system),
        each((usage_after.voluntary - usage.voluntary) as f64),
        each((usage_after.involuntary - usage.involuntary) as f64),
        calls(|c| c.waits),
        calls(|c| c.wakes),
        calls(|c| c.woken),
        calls(|c| c.barriers),
    )
}
