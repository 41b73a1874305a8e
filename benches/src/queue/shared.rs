//! A queue that any thread pushes to and pops from.

use std::hint::black_box;
use std::sync::Arc;

use super::{BATCH, Item};
use crate::Crew;

/// A queue that any thread may push to and pop from.
pub trait Shared: Send + Sync + 'static {
    /// Its name in rows.
    const NAME: &'static str;

    /// An empty one.
    fn new() -> Self;

    /// Pushes.
    fn push(&self, item: Item);

    /// Pops.
    fn pop(&self) -> Option<Item>;
}

/// A shared queue that workers fill and empty in batches.
pub trait Batched: Shared {
    /// A worker's own part.
    type Own;

    /// A worker's own queue.
    fn own() -> Self::Own;

    /// Pushes [`BATCH`] items.
    fn push_batch(&self);

    /// Moves up to half of [`BATCH`] items to `own` and runs through them; whether there were any.
    fn take_batch(&self, own: &Self::Own) -> bool;
}

/// [`BATCH`] items in and out again, one at a time.
pub fn shared_push_pop<Q: Shared>() -> impl FnMut() {
    let queue = Q::new();
    move || {
        for item in 0..BATCH {
            queue.push(black_box(item));
        }
        while let Some(item) = queue.pop() {
            black_box(item);
        }
    }
}

/// [`BATCH`] items in as one batch, out by batches into a worker's queue.
pub fn batch<Q: Batched>() -> impl FnMut() {
    let (queue, own) = (Q::new(), Q::own());
    move || {
        queue.push_batch();
        while queue.take_batch(&own) {}
    }
}

/// `threads` threads that push and pop `items` items each, one at a time.
pub fn contended<Q: Shared>(threads: usize, items: usize) -> impl FnMut() {
    let queue = Q::new();
    let crew = Crew::new(threads, {
        let queue = Arc::new(queue);
        move |_| {
            for item in 0..items {
                queue.push(black_box(item));
                black_box(queue.pop());
            }
        }
    });
    move || crew.round(|| {})
}
