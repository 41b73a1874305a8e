//! The permits of the background lane.

use terrace_executor::protocol::publish::Permits;
use terrace_executor::protocol::publish::Publish;
use terrace_sync::atomic::AtomicUsize;
use terrace_sync::atomic::Ordering::Relaxed;
use terrace_sync::{Arc, model, thread};

/// The only permit there is.
const PERMITS: usize = 1;

/// One thread queues an item while another gives the only permit back. One of the two sees that the item can run, and
/// would publish it.
///
/// Seen to fail its assertion without either fence (`executor-permit-back-fence`, `executor-permit-push-fence`).
#[test]
fn executor_permit_given_back_against_push() {
    model(|| {
        let permits = Arc::new(Permits::default());
        let queued = Arc::new(AtomicUsize::new(0));
        assert!(permits.take(PERMITS));
        let worker = {
            let (permits, queued) = (permits.clone(), queued.clone());
            thread::spawn(move || {
                permits.give_back();
                queued.load(Relaxed) > 0 && permits.is_free(PERMITS)
            })
        };
        queued.store(1, Relaxed);
        let by_pusher = permits.after_push(PERMITS);
        let by_worker = worker.join().unwrap();
        assert!(by_pusher == Publish::Now || by_worker);
    });
}

/// Two workers never both hold the only permit.
#[test]
fn executor_permit_is_held_once() {
    model(|| {
        let permits = Arc::new(Permits::default());
        let other = permits.clone();
        let worker = thread::spawn(move || other.take(PERMITS));
        let here = permits.take(PERMITS);
        let there = worker.join().unwrap();
        assert!(here != there);
    });
}
