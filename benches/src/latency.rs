//! How long a woken task waits for its poll.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use futures_lite::future::yield_now;

use crate::Gate;
use crate::executor::Restless;
use crate::spawn::{Contender, Spawner};

/// Between a task's registration and its wake: long enough for the executor to go to sleep.
const PAUSE: Duration = Duration::from_micros(100);

/// How long a poll computes that has woken a task.
const POLL: Duration = Duration::from_millis(1);

/// One task that is woken again and again.
struct Woken {
    gate: Gate,
    start: Instant,
    /// When the gate was opened, in nanoseconds since `start`.
    opened: AtomicU64,
    /// Nanoseconds from opening to passing.
    times: Mutex<Vec<u64>>,
}

impl Woken {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            gate: Gate::default(),
            start: Instant::now(),
            opened: AtomicU64::new(0),
            times: Mutex::default(),
        })
    }

    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).expect("a bench takes less than centuries")
    }

    fn open(&self) {
        // Ordering: Relaxed, the gate orders it.
        self.opened.store(self.now(), Ordering::Relaxed);
        self.gate.open();
    }

    /// The task.
    async fn wait(self: Arc<Self>, samples: usize) {
        for _ in 0..samples {
            self.gate.pass().await;
            let time = self.now() - self.opened.load(Ordering::Relaxed);
            self.times.lock().expect("no holder panics").push(time);
        }
    }

    /// Wakes the task from a thread that is not the executor's.
    fn wake_from_outside(&self, samples: usize, pause: Option<Duration>) {
        for _ in 0..samples {
            while !self.gate.is_waited_for() {
                thread::yield_now();
            }
            if let Some(pause) = pause {
                thread::sleep(pause);
            }
            self.open();
        }
    }

    fn times(&self) -> Vec<u64> {
        std::mem::take(&mut *self.times.lock().expect("no holder panics"))
    }
}

/// A task of a local executor is woken by another task of it.
pub fn by_owner<C: Contender>(samples: usize) -> Vec<u64> {
    let (contender, woken) = (C::new(1), Woken::new());
    contender.run(async {
        let task = contender.spawner().spawn(Arc::clone(&woken).wait(samples));
        for _ in 0..samples {
            while !woken.gate.is_waited_for() {
                yield_now().await;
            }
            woken.open();
        }
        task.await;
    });
    woken.times()
}

/// A task of a local executor whose thread sleeps is woken by another thread.
pub fn by_other_thread<C: Contender>(samples: usize) -> Vec<u64> {
    let (contender, woken) = (C::new(1), Woken::new());
    thread::scope(|scope| {
        scope.spawn(|| woken.wake_from_outside(samples, Some(PAUSE)));
        contender.run(async {
            let task = contender.spawner().spawn(Arc::clone(&woken).wait(samples));
            task.await;
        });
    });
    woken.times()
}

/// An external thread wakes a task of a pool whose threads sleep.
pub fn idle_pool<C: Contender>(workers: usize, samples: usize) -> Vec<u64> {
    let (contender, woken) = (C::new(workers), Woken::new());
    let task = contender.spawner().spawn(Arc::clone(&woken).wait(samples));
    woken.wake_from_outside(samples, Some(PAUSE));
    contender.run(task);
    woken.times()
}

/// An external thread wakes a task of a pool, while each worker has a task that never rests.
pub fn busy_pool<C: Contender>(workers: usize, samples: usize) -> Vec<u64> {
    let (busy, woken) = (Restless::new(C::new(workers), workers), Woken::new());
    let contender = busy.contender();
    let task = contender.spawner().spawn(Arc::clone(&woken).wait(samples));
    woken.wake_from_outside(samples, None);
    contender.run(task);
    woken.times()
}

/// A task wakes another one and computes for a millisecond in the same poll, while the other workers have nothing to do.
pub fn behind_poll<C: Contender>(workers: usize, samples: usize) -> Vec<u64> {
    let (contender, woken) = (C::new(workers), Woken::new());
    let spawner = contender.spawner();
    let task = spawner.spawn(Arc::clone(&woken).wait(samples));
    let computes = {
        let woken = Arc::clone(&woken);
        spawner.spawn(async move {
            for _ in 0..samples {
                while !woken.gate.is_waited_for() {
                    yield_now().await;
                }
                woken.open();
                let since = Instant::now();
                while since.elapsed() < POLL {
                    std::hint::spin_loop();
                }
            }
        })
    };
    contender.run(async {
        task.await;
        computes.await;
    });
    woken.times()
}

/// The smallest of the times that so many percent do not exceed, in nanoseconds (nearest rank).
///
/// # Panics
/// If there are no times.
pub fn percentile(times: &mut [u64], percent: usize) -> u64 {
    times.sort_unstable();
    let rank = (times.len() * percent).div_ceil(100).max(1);
    times[rank - 1]
}

#[cfg(test)]
mod tests {
    use super::percentile;

    #[test]
    fn percentiles_are_nearest_ranks() {
        let mut times: Vec<u64> = (1..=100).rev().collect();
        assert_eq!(percentile(&mut times, 50), 50);
        assert_eq!(percentile(&mut times, 99), 99);
        assert_eq!(percentile(&mut [7], 99), 7);
        assert_eq!(percentile(&mut [1, 2, 3], 50), 2);
    }
}
