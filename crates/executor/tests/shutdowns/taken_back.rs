//! A shutdown while another thread gives the executor workers again.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use terrace_executor::{Builder, Shutdown, block_on};
use terrace_testing::watchdog;

/// The shutdown waits for a worker in a task. That worker is then asked to stay, alone or with another one that starts.
#[test]
fn workers_that_stay_or_come_later_hold_up_no_shutdown() {
    let _watchdog = watchdog();
    let kinds = [Shutdown::RunQueued, Shutdown::DropQueued];
    for (how, workers) in kinds.into_iter().flat_map(|how| [(how, 1), (how, 2)]) {
        let executor = Builder::new().workers(1).build();
        let (started, starts) = channel();
        let (go_on, blocks) = channel();
        let task = executor.spawn(async move {
            started.send(()).unwrap();
            blocks.recv().unwrap();
        });
        starts.recv().unwrap();
        thread::scope(|s| {
            let shutdown = s.spawn(|| executor.shutdown(how, None));
            while executor.workers() > 0 {
                thread::yield_now();
            }
            // It is the task of those that stay.
            let queued = executor.spawn(async { 2 });
            executor.set_workers(workers).unwrap();
            shutdown.join().unwrap().unwrap();
            go_on.send(()).unwrap();
            assert_eq!(block_on(queued), 2);
        });
        block_on(task);
        assert_eq!(block_on(executor.spawn(async { 1 })), 1, "it has workers");
    }
}

/// No thread that was asked to end is left behind, and no task is lost.
#[test]
fn shutdowns_and_resizes_at_random() {
    let _watchdog = watchdog();
    let executor = Builder::new().workers(2).build();
    let over = AtomicBool::new(false);
    thread::scope(|s| {
        for how in [Shutdown::RunQueued, Shutdown::DropQueued] {
            let (executor, over) = (&executor, &over);
            s.spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    executor.shutdown(how, None).unwrap();
                    let soon = Some(Duration::from_micros(100));
                    let _late = executor.shutdown(how, soon);
                }
            });
        }
        for round in 0..1000 {
            executor.set_workers(round % 4).unwrap();
            executor.spawn(async {}).detach();
        }
        over.store(true, Ordering::Relaxed);
    });
    executor.shutdown(Shutdown::RunQueued, None).unwrap();
    assert_eq!(executor.workers(), 0);
    let metrics = executor.metrics();
    assert_eq!((metrics.num_workers(), metrics.num_spares()), (0, 0));
}
