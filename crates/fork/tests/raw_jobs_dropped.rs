//! Raw jobs that a shutdown drops have ended, as those have that ran. This program has one test: a thread that waits in another one would
//! run the jobs.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

use terrace_executor::{Builder, Payload, Shutdown};
use terrace_fork::{RawJob, Worker};
use terrace_testing::{text, watchdog};

static RAN: AtomicUsize = AtomicUsize::new(0);
static DROPPED: AtomicUsize = AtomicUsize::new(0);

fn job() -> NonNull<RawJob> {
    NonNull::from(Box::leak(Box::new(RawJob::new(run, discard))))
}

/// # Safety
/// The job is one of [`job`], and the caller's.
unsafe fn run(job: NonNull<RawJob>, _: &Worker) {
    // SAFETY: the job came out of `Box::leak`, and is the caller's.
    drop(unsafe { Box::from_raw(job.as_ptr()) });
    RAN.fetch_add(1, Ordering::SeqCst);
}

/// # Safety
/// As [`run`].
unsafe fn discard(job: NonNull<RawJob>) {
    // SAFETY: as in `run`.
    drop(unsafe { Box::from_raw(job.as_ptr()) });
    let before = DROPPED.fetch_add(1, Ordering::SeqCst);
    assert!(before > 0, "dropped");
}

#[test]
fn they_are_counted_out() {
    let _watchdog = watchdog();
    // The first one that is dropped panics.
    let handler = |payload: Payload| assert_eq!(text(&*payload), "dropped");
    let executor = Builder::new().workers(0).panic_handler(handler).build();
    let spawner = executor.spawner();
    for _ in 0..3 {
        // SAFETY: the job is new, and its functions free it.
        unsafe { spawner.spawn_raw(job()) };
    }
    assert!(executor.try_tick());
    assert_eq!(executor.metrics().num_alive_tasks(), 2);
    let ended = executor.shutdown(Shutdown::DropQueued, None);
    ended.expect("no thread runs a job");
    let seen = [&RAN, &DROPPED].map(|count| count.load(Ordering::SeqCst));
    assert_eq!(seen, [1, 2]);
    assert_eq!(executor.metrics().num_alive_tasks(), 0);
}
