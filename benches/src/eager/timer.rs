//! A sleep that another thread ends, which wakes all that have come at each tick.
//!
//! A tick is far shorter than the sleeps of CPython's benchmark, 50 ms, and than a tick of tokio's timers, 1 ms: a run is to measure what a
//! sleep costs the executor, and not to wait. Yet there is one, as in any timer. A thread that wakes each sleeper as soon as it has come
//! would be right behind the thread that builds the tree, and a run would measure how the two fight for the sleeper's cache lines.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock};
use std::task::{Poll, Waker};
use std::thread;
use std::time::Duration;

/// The least time between two ticks, and the shortest sleep.
const TICK: Duration = Duration::from_micros(100);

#[derive(Default)]
struct Timer {
    sleepers: Mutex<Vec<(Waker, Arc<AtomicBool>)>>,
    came: Condvar,
}

fn timer() -> &'static Timer {
    static TIMER: OnceLock<&'static Timer> = OnceLock::new();
    TIMER.get_or_init(|| {
        let timer: &'static Timer = Box::leak(Box::default());
        thread::spawn(|| timer.run());
        timer
    })
}

impl Timer {
    fn run(&self) -> ! {
        loop {
            let mut sleepers = self.sleepers.lock().expect("no panic under the lock");
            while sleepers.is_empty() {
                sleepers = self.came.wait(sleepers).expect("no panic under the lock");
            }
            let woken = std::mem::take(&mut *sleepers);
            drop(sleepers);
            thread::sleep(TICK);
            for (waker, flag) in woken {
                flag.store(true, Ordering::Release);
                waker.wake();
            }
        }
    }
}

/// Ends at the end of the next tick that begins.
pub(super) async fn sleep() {
    let flag = Arc::new(AtomicBool::new(false));
    let mut announced = false;
    std::future::poll_fn(|context| {
        if flag.load(Ordering::Acquire) {
            return Poll::Ready(());
        }
        if !std::mem::replace(&mut announced, true) {
            let sleeper = (context.waker().clone(), flag.clone());
            let mut sleepers = timer().sleepers.lock().expect("no panic under the lock");
            let is_first = sleepers.is_empty();
            sleepers.push(sleeper);
            drop(sleepers);
            if is_first {
                timer().came.notify_one();
            }
        }
        Poll::Pending
    })
    .await;
}
