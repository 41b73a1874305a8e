//! A queue that one thread pushes to and pops from, while others take from it.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;

use super::Item;

/// Items of an iteration; fits the smallest ring.
pub const BATCH: usize = 64;

/// The owner's end.
pub trait Deque: 'static {
    /// Its name in rows.
    const NAME: &'static str;
    /// The other end.
    type Thief: Thief<Own = Self>;

    /// An empty one, for at least 256 items.
    fn new() -> Self;

    /// Pushes; there is room, or will be.
    fn push(&self, item: Item);

    /// Pops.
    fn pop(&self) -> Option<Item>;

    /// A handle for others.
    fn thief(&self) -> Self::Thief;
}

/// The thieves' end.
pub trait Thief: Send + 'static {
    /// The thief's own queue.
    type Own: Deque;

    /// Takes a batch, moves it to `own`, and pops one of it.
    fn steal(&self, own: &Self::Own) -> Option<Item>;
}

/// [`BATCH`] items in and out again.
pub fn push_pop<D: Deque>() -> impl FnMut() {
    push_pop_on(D::new())
}

fn push_pop_on<D: Deque>(queue: D) -> impl FnMut() {
    move || {
        for item in 0..BATCH {
            queue.push(black_box(item));
        }
        while let Some(item) = queue.pop() {
            black_box(item);
        }
    }
}

/// [`BATCH`] items in, stolen in batches, and popped by the thief; all on one thread.
pub fn steal<D: Deque>() -> impl FnMut() {
    let (queue, own) = (D::new(), D::new());
    let thief = queue.thief();
    move || {
        for item in 0..BATCH {
            queue.push(black_box(item));
        }
        empty(&thief, &own);
    }
}

/// Steals and pops until nothing is left; how many that were.
fn empty<T: Thief>(thief: &T, own: &T::Own) -> usize {
    let mut taken = 0;
    while let Some(item) = thief.steal(own) {
        black_box(item);
        taken += 1;
        while let Some(item) = own.pop() {
            black_box(item);
            taken += 1;
        }
    }
    taken
}

/// A thread that steals until dropped.
struct Robber {
    over: Arc<AtomicBool>,
    taken: Arc<AtomicUsize>,
    thread: Option<JoinHandle<()>>,
}

impl Robber {
    fn new<T: Thief>(thief: T) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let taken = Arc::new(AtomicUsize::new(0));
        let thread = {
            let (over, taken) = (Arc::clone(&over), Arc::clone(&taken));
            std::thread::spawn(move || {
                let own = T::Own::new();
                while !over.load(Ordering::Relaxed) {
                    match empty(&thief, &own) {
                        // The owner may share this core.
                        0 => std::thread::yield_now(),
                        some => {
                            taken.fetch_add(some, Ordering::Relaxed);
                        }
                    }
                }
            })
        };
        Self {
            over,
            taken,
            thread: Some(thread),
        }
    }
}

impl Drop for Robber {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let thread = self.thread.take().expect("joined once");
        thread.join().expect("a bench thread panicked");
    }
}

/// The owner pushes [`BATCH`] items and does nothing else: another thread takes them all.
pub fn remote_idle<D: Deque>() -> impl FnMut() {
    let queue = D::new();
    let robber = Robber::new(queue.thief());
    let mut pushed = 0;
    move || {
        for item in 0..BATCH {
            queue.push(black_box(item));
        }
        pushed += BATCH;
        while robber.taken.load(Ordering::Relaxed) != pushed {
            std::thread::yield_now();
        }
    }
}

/// [`BATCH`] items in and out again, while another thread steals as many as it can.
pub fn remote_busy<D: Deque>() -> impl FnMut() {
    let queue = D::new();
    let robber = Robber::new(queue.thief());
    let mut run = push_pop_on(queue);
    move || {
        // The thief lives as long as the row.
        let _ = &robber;
        run();
    }
}
