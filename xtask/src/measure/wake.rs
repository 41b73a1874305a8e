//! What a wake costs on this machine: every ratio of schedulers depends on it.
//!
//! One thread parks, another one wakes it after a pause in which it surely sleeps. Counted is the time from before the wake to the
//! first instruction of the woken thread. Where the kernel puts two threads decides it for the life of a process, so the figure is the
//! median over processes of each one's median.

use std::hint;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use xtask_stats::median;

use crate::process::said;

/// Set in a process that measures.
const INSIDE: &str = "TERRACE_WAKES";
const PROCESSES: usize = 9;
/// Wakes of a process.
const WAKES: usize = 101;
/// How long the thread has had for falling asleep.
const PAUSE: Duration = Duration::from_micros(500);

/// The microseconds of a wake; nothing if no process of this program can be started.
pub(crate) fn microseconds() -> Option<f64> {
    let program = std::env::current_exe().ok()?;
    let once = |_| {
        let mut command = Command::new(&program);
        command.env(INSIDE, "1");
        said(command).ok()?.parse().ok()
    };
    let all: Option<Vec<f64>> = (0..PROCESSES).map(once).collect();
    Some(median(&mut all?))
}

/// Whether this process was started to measure; then it has printed its median, in microseconds.
pub(crate) fn stands_in() -> bool {
    let inside = std::env::var_os(INSIDE).is_some();
    if inside {
        println!("{}", median(&mut wakes()));
    }
    inside
}

/// The microseconds of each wake.
fn wakes() -> Vec<f64> {
    // Nanoseconds since the start at which the sleeper ran again; 0 until then.
    let (start, woken) = (Instant::now(), AtomicU64::new(0));
    let now = || u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
    thread::scope(|scope| {
        let sleeper = scope.spawn(|| {
            for _ in 0..WAKES {
                thread::park();
                woken.store(now(), Ordering::Release);
            }
        });
        let wake = |_| {
            thread::sleep(PAUSE);
            let before = now();
            sleeper.thread().unpark();
            loop {
                match woken.swap(0, Ordering::Acquire) {
                    0 => hint::spin_loop(),
                    // Whole nanoseconds below 2^52.
                    after => break (after - before) as f64 / 1_000.0,
                }
            }
        };
        (0..WAKES).map(wake).collect()
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn each_wake_takes_its_time() {
        let wakes = super::wakes();
        assert_eq!(wakes.len(), super::WAKES);
        assert!(wakes.iter().all(|&wake| wake > 0.0));
    }
}
