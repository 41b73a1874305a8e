//! Jobs of which no thread was told, and that only a sleeping joiner, or a thread that is not there yet, would run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use terrace_executor::{Builder, Worker};
use terrace_testing::watchdog;

fn until(flag: &AtomicBool) {
    while !flag.load(Ordering::SeqCst) {
        std::hint::spin_loop();
    }
}

/// A join of one call-site. With a flag, its inline half spins until the forked half has run.
fn tiny(worker: &Worker, flag: Option<&AtomicBool>) {
    worker.join(
        |_| {
            flag.iter()
                .for_each(|flag| flag.store(true, Ordering::SeqCst))
        },
        |_| flag.iter().for_each(|flag| until(flag)),
    );
}

/// The call-site has always been tiny, so its push tells no thread. The only worker is inside of the join, and uses its processor. The
/// joiner of that sleeps. The watch starts a spare.
#[test]
fn a_tiny_job_is_taken_while_its_joiner_sleeps_and_no_worker_is_left() {
    let _watchdog = watchdog();
    let executor = Builder::new().workers(1).build();
    for _ in 0..4 {
        executor.with_worker(|worker| (0..2_000).for_each(|_| tiny(worker, None)));
        let (began, ran) = (AtomicBool::new(false), AtomicBool::new(false));
        executor.with_worker(|worker| {
            worker.join(
                |worker| {
                    began.store(true, Ordering::SeqCst);
                    // The joiner goes to sleep.
                    thread::sleep(Duration::from_millis(3));
                    tiny(worker, Some(&ran));
                },
                |_| until(&began),
            );
        });
    }
}
