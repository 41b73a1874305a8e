//! Helpers that the acts share: pools, futures that wait, panics as text.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Mutex;
#[cfg(feature = "multi_threaded")]
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use bevy_tasks::{TaskPool, TaskPoolBuilder};

use crate::random::Random;

/// The pools of a program.
pub(crate) struct World {
    /// Threads of each pool, as asked for.
    pub(crate) sizes: [usize; 2],
    pub(crate) pools: [TaskPool; 2],
}

impl World {
    pub(crate) fn new(random: &mut Random) -> Self {
        let sizes = [random.below(4) as usize, random.below(4) as usize];
        let pools = sizes.map(|threads| TaskPoolBuilder::new().num_threads(threads).build());
        Self { sizes, pools }
    }

    /// One of the pools, and its threads.
    pub(crate) fn any(&self, random: &mut Random) -> (&TaskPool, usize) {
        let at = random.below(2) as usize;
        (&self.pools[at], self.sizes[at])
    }

    /// One of the pools that have threads.
    #[cfg(feature = "multi_threaded")]
    pub(crate) fn with_threads(&self, random: &mut Random) -> Option<(&TaskPool, usize)> {
        let first = random.below(2) as usize;
        let at = [first, 1 - first]
            .into_iter()
            .find(|at| self.sizes[*at] > 0)?;
        Some((&self.pools[at], self.sizes[at]))
    }
}

/// Pending as often as it says, woken each time.
pub(crate) struct Yields(pub(crate) u64);

impl Future for Yields {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.0 == 0 {
            return Poll::Ready(());
        }
        self.0 -= 1;
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

/// A value that comes once; one future waits for it.
#[derive(Default)]
pub(crate) struct Promise(Mutex<(Option<u64>, Option<Waker>)>);

impl Promise {
    pub(crate) fn keep(&self, value: u64) {
        let waker = {
            let mut inner = self.0.lock().unwrap();
            inner.0 = Some(value);
            inner.1.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }
}

impl Future for &Promise {
    type Output = u64;
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<u64> {
        let mut inner = self.0.lock().unwrap();
        match inner.0 {
            Some(value) => Poll::Ready(value),
            None => {
                inner.1 = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

/// Counts itself when dropped.
#[cfg(feature = "multi_threaded")]
pub(crate) struct Counted<'a>(pub(crate) &'a AtomicUsize);

#[cfg(feature = "multi_threaded")]
impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// The result of `f`, or the text of its panic.
pub(crate) fn outcome<R>(f: impl FnOnce() -> R) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(f)).map_err(text)
}

fn text(payload: Box<dyn Any + Send>) -> String {
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => payload.downcast_ref::<&str>().unwrap_or(&"?").to_string(),
    }
}
