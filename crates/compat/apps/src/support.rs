//! Helpers that the scenarios share.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};
use std::thread;
use std::time::Duration;

use bevy_app::{TaskPoolOptions, TaskPoolThreadAssignmentPolicy};
pub(crate) use bevy_tasks::futures_lite::future::yield_now;
#[cfg(feature = "multi_threaded")]
use bevy_tasks::{TaskPool, TaskPoolBuilder};

/// Options that give each of the three pools `threads` threads.
pub(crate) fn options(threads: usize) -> TaskPoolOptions {
    let policy = TaskPoolThreadAssignmentPolicy {
        min_threads: threads,
        max_threads: threads,
        percent: 1.0,
        on_thread_spawn: None,
        on_thread_destroy: None,
    };
    TaskPoolOptions {
        io: policy.clone(),
        async_compute: policy.clone(),
        compute: policy,
        ..TaskPoolOptions::default()
    }
}

/// A pool of its own.
#[cfg(feature = "multi_threaded")]
pub(crate) fn pool(threads: usize) -> TaskPool {
    TaskPoolBuilder::new().num_threads(threads).build()
}

/// Something that happens once, on any thread, and can be waited for on any.
#[derive(Clone, Default)]
pub(crate) struct Event(Arc<Mutex<EventState>>);

#[derive(Default)]
struct EventState {
    happened: bool,
    waiting: Vec<Waker>,
}

impl Event {
    /// Makes it happen.
    pub(crate) fn set(&self) {
        let waiting = {
            let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            state.happened = true;
            std::mem::take(&mut state.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Waits until it has happened.
    pub(crate) async fn wait(self) {
        poll_fn(move |cx| {
            let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if state.happened {
                return Poll::Ready(());
            }
            state.waiting.push(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// Makes a thread outside all pools set it, after a while.
    pub(crate) fn set_soon(&self) {
        let event = self.clone();
        thread::spawn(move || {
            thread::sleep(Duration::from_millis(10));
            event.set();
        });
    }
}

/// Counts.
#[derive(Clone, Default)]
pub(crate) struct Tally(Arc<AtomicUsize>);

impl Tally {
    /// One more.
    pub(crate) fn add(&self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }

    /// How many.
    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }

    /// Something whose destructor counts.
    pub(crate) fn on_drop(&self) -> CountOnDrop {
        CountOnDrop(self.clone())
    }
}

/// Counts when dropped.
pub(crate) struct CountOnDrop(Tally);

impl Drop for CountOnDrop {
    fn drop(&mut self) {
        self.0.add();
    }
}

/// Waits, the watchdog's limit at most, until `done`.
#[cfg(feature = "multi_threaded")]
pub(crate) fn until(mut done: impl FnMut() -> bool) {
    while !done() {
        thread::sleep(Duration::from_millis(1));
    }
}

/// The message of the panic of `f`.
///
/// # Panics
///
/// If `f` does not panic, or not with a message.
pub(crate) fn panic_message<R>(f: impl FnOnce() -> R) -> String {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(_) => panic!("this should have panicked"),
        Err(payload) => message_of(&*payload),
    }
}

fn message_of(payload: &(dyn Any + Send)) -> String {
    if let Some(text) = payload.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text.clone()
    } else {
        panic!("the panic has no message");
    }
}
