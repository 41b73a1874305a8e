//! Threads that wait for pools without workers: their pushes wake a waiting thread through an
//! `event-listener` event, one listener a pool.

use std::pin::Pin;
use std::task::{Context, Poll, Wake, Waker};

use event_listener::EventListener;
use terrace_sync::atomic::{AtomicUsize, Ordering};
use terrace_sync::unmodelled::Weak;
use terrace_sync::{Arc, Mutex, heavy};
use terrace_thread::Notify;

use super::Shared;

terrace_sync::global! {
    /// Pools without workers that are alive. Their number is read first, so that programs without
    /// such pools pay one relaxed load.
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    static POOLS: Mutex<Vec<Weak<Shared>>> = Mutex::new(Vec::new());
}

/// Adds a pool without workers to those that waits drive.
pub(crate) fn register(pool: &Arc<Shared>) {
    POOLS.lock().push(Arc::downgrade(pool));
    // Ordering: Relaxed, a hint; whoever is to see the pool's tasks was handed the pool.
    COUNT.fetch_add(1, Ordering::Relaxed);
}

/// Takes a pool out again.
pub(crate) fn unregister(pool: &Shared) {
    // Ordering: Relaxed, the caller knows whether it has registered the pool.
    if COUNT.load(Ordering::Relaxed) == 0 {
        return;
    }
    let mut pools = POOLS.lock();
    let before = pools.len();
    pools.retain(|other| !std::ptr::eq(other.as_ptr(), pool));
    // Ordering: Relaxed, as above.
    COUNT.fetch_sub(before - pools.len(), Ordering::Relaxed);
}

/// The pools without workers.
pub(crate) fn workerless() -> Vec<Arc<Shared>> {
    // Ordering: Relaxed, as above.
    if COUNT.load(Ordering::Relaxed) == 0 {
        return Vec::new();
    }
    POOLS.lock().iter().filter_map(Weak::upgrade).collect()
}

struct NotifyWaker(Arc<dyn Notify>);

impl Wake for NotifyWaker {
    fn wake(self: Arc<Self>) {
        self.0.notify();
    }
}

/// A waker that wakes the current thread, wherever it waits.
pub(crate) fn thread_waker() -> Waker {
    Arc::new(NotifyWaker(terrace_thread::notifier())).into()
}

/// Listeners on pools without workers, for one sleep of the current thread.
pub(crate) struct OutsideWait<'a> {
    pools: &'a [Arc<Shared>],
    /// Dropping a listener that was notified notifies the next thread.
    _listeners: Vec<Pin<Box<EventListener>>>,
}

impl<'a> OutsideWait<'a> {
    pub(crate) fn listen(pools: &'a [Arc<Shared>]) -> Self {
        if pools.is_empty() {
            return Self {
                pools,
                _listeners: Vec::new(),
            };
        }
        for pool in pools {
            // Ordering: Relaxed, the fence orders it before the caller's last look.
            pool.outsiders.fetch_add(1, Ordering::Relaxed);
        }
        // Fence pair: `light` in a publish: either it sees the count, or the caller sees its item.
        heavy();
        let waker = thread_waker();
        let mut context = Context::from_waker(&waker);
        let listeners = pools.iter().map(|pool| {
            let mut listener = Box::pin(pool.outside.listen());
            if let Poll::Ready(()) = listener.as_mut().poll(&mut context) {
                // Notified between the two lines: the caller's look at the queues finds the item.
                listener = Box::pin(pool.outside.listen());
            }
            listener
        });
        let listeners = listeners.collect();
        Self {
            pools,
            _listeners: listeners,
        }
    }

    /// Whether any of the pools has something to run.
    pub(crate) fn has_work(&self) -> bool {
        self.pools
            .iter()
            .any(|pool| pool.workers() == 0 && pool.has_any())
    }
}

impl Drop for OutsideWait<'_> {
    fn drop(&mut self) {
        for pool in self.pools {
            // Ordering: Relaxed; who still sees the count notifies in vain.
            pool.outsiders.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
