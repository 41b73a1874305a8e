//! A sleep that another thread ends: it wakes all that have come, again and again.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock};
use std::task::{Poll, Waker};
use std::thread;

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
            for (waker, flag) in woken {
                flag.store(true, Ordering::Release);
                waker.wake();
            }
        }
    }
}

/// Ends when the timer's thread has woken it.
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
            sleepers.push(sleeper);
            drop(sleepers);
            timer().came.notify_one();
        }
        Poll::Pending
    })
    .await;
}
