//! Tasks for one given thread.

mod contenders;

use std::future::Future;
use std::hint::black_box;

use futures_lite::future::block_on;

pub use contenders::{AsyncExecutorPump, Pinned, TokioPump};

/// A thread that runs the tasks which others send it. Ended on drop.
pub trait Threaded: 'static {
    /// Its name in rows.
    const NAME: &'static str;

    /// Starts the thread.
    fn new() -> Self;

    /// Has a future made and run on the thread; it need not be `Send`.
    fn send<F, M>(&self, make: M) -> impl Future<Output = usize> + use<Self, F, M>
    where
        F: Future<Output = usize> + 'static,
        M: FnOnce() -> F + Send + 'static;

    /// Spawns `amount` detached tasks onto the calling thread and runs them.
    fn spawn_here(amount: usize);
}

/// `amount` tasks on another thread, and their outputs back.
pub fn spawn_remote<T: Threaded>(amount: usize) -> impl FnMut() {
    let thread = T::new();
    move || {
        let sent: Vec<_> = (0..amount)
            .map(|number| thread.send(move || async move { number }))
            .collect();
        block_on(async {
            for sent in sent {
                black_box(sent.await);
            }
        });
    }
}

/// `amount` tasks on the own thread.
pub fn spawn_here<T: Threaded>(amount: usize) -> impl FnMut() {
    move || T::spawn_here(amount)
}
