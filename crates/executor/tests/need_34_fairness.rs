//! Need 34: tasks that wake themselves for ever starve nobody, wherever the others are queued.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use terrace_executor::{Builder, block_on};
use terrace_thread::ThreadSpawner;

/// Wakes itself until told to stop.
async fn endless(stop: Arc<AtomicBool>) {
    poll_fn(move |context| {
        if stop.load(Ordering::Relaxed) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// A timer: woken by a thread that sleeps.
async fn sleep(time: Duration) {
    let fired = Arc::new(AtomicBool::new(false));
    let mut started = false;
    poll_fn(move |context| {
        if fired.load(Ordering::Acquire) {
            return Poll::Ready(());
        }
        if !started {
            started = true;
            let (waker, fired) = (context.waker().clone(), Arc::clone(&fired));
            std::thread::spawn(move || {
                std::thread::sleep(time);
                fired.store(true, Ordering::Release);
                waker.wake();
            });
        }
        Poll::Pending
    })
    .await;
}

#[test]
fn a_timer_runs_beside_endless_tasks() {
    for workers in [1, 2] {
        let executor = Builder::new().workers(workers).build();
        let stop = Arc::new(AtomicBool::new(false));
        let endless: Vec<_> = (0..2 * workers)
            .map(|_| executor.spawn(endless(Arc::clone(&stop))))
            .collect();
        for _ in 0..20 {
            block_on(executor.spawn(sleep(Duration::from_micros(200))));
        }
        stop.store(true, Ordering::Relaxed);
        endless.into_iter().for_each(block_on);
    }
}

/// Pinned tasks come before others on their thread; an endless one of them starves nobody either, nor is it starved.
#[test]
fn endless_pinned_tasks_share_their_thread() {
    let executor = Builder::new().workers(1).build();
    let stop = Arc::new(AtomicBool::new(false));
    let spawner = block_on(executor.spawn(async { ThreadSpawner::current() }));
    let pinned = spawner.spawn(endless(Arc::clone(&stop)));
    let free = executor.spawn(endless(Arc::clone(&stop)));
    for i in 0..100 {
        assert_eq!(block_on(spawner.spawn(async move { i })), i);
        assert_eq!(block_on(executor.spawn(async move { i })), i);
    }
    stop.store(true, Ordering::Relaxed);
    block_on(pinned);
    block_on(free);
}
