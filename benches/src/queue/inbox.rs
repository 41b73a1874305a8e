//! A queue that any thread pushes to and one thread, its owner, empties.

use std::hint::black_box;
use std::sync::Arc;

use concurrent_queue::ConcurrentQueue;
use crossbeam_deque::Steal;
use terrace_queue::{Boxed, Inbox, Node};

use super::{BATCH, Mutexed};
use crate::Crew;

/// A queue of one owner. Its items are on the heap, as tasks are.
pub trait Mail: Send + Sync + 'static {
    /// Its name in rows.
    const NAME: &'static str;
    /// Its items.
    type Letter: Send;

    /// An empty one.
    fn new() -> Self;

    /// One allocation.
    fn letter(value: usize) -> Self::Letter;

    /// Pushes.
    fn push(&self, letter: Self::Letter);

    /// Takes everything that is there.
    fn empty(&self, each: impl FnMut(Self::Letter));
}

impl Mail for Inbox<Boxed<usize>> {
    const NAME: &'static str = "inbox";
    type Letter = Box<Node<usize>>;

    fn new() -> Self {
        Inbox::new()
    }

    fn letter(value: usize) -> Self::Letter {
        Node::boxed(value)
    }

    fn push(&self, letter: Self::Letter) {
        self.push(letter);
    }

    fn empty(&self, each: impl FnMut(Self::Letter)) {
        self.take().for_each(each);
    }
}

/// Peers, from their names and two expressions.
macro_rules! mail {
    ($($Queue:ty, $name:literal, $new:expr, $push:expr, $empty:expr;)+) => {$(
        impl Mail for $Queue {
            const NAME: &'static str = $name;
            type Letter = Box<usize>;

            fn new() -> Self {
                $new
            }

            fn letter(value: usize) -> Box<usize> {
                Box::new(value)
            }

            fn push(&self, letter: Box<usize>) {
                $push(self, letter);
            }

            fn empty(&self, each: impl FnMut(Box<usize>)) {
                $empty(self).for_each(each);
            }
        }
    )+};
}

/// All items that an injector still has.
fn stolen<T>(queue: &crossbeam_deque::Injector<T>) -> impl Iterator<Item = T> {
    std::iter::from_fn(move || {
        loop {
            match queue.steal() {
                Steal::Success(item) => return Some(item),
                Steal::Empty => return None,
                Steal::Retry => {}
            }
        }
    })
}

mail! {
    crossbeam_deque::Injector<Box<usize>>, "crossbeam", crossbeam_deque::Injector::new(),
        crossbeam_deque::Injector::push, stolen;
    ConcurrentQueue<Box<usize>>, "concurrent_queue", ConcurrentQueue::unbounded(),
        |queue: &Self, letter| queue.push(letter).expect("never closed"),
        ConcurrentQueue::try_iter;
    Mutexed<Box<usize>>, "mutex", Mutexed::default(),
        |queue: &Self, letter| queue.lock().expect("no holder panics").push_back(letter),
        |queue: &Self| std::mem::take(&mut *queue.lock().expect("no holder panics")).into_iter();
}

/// [`BATCH`] letters in and out again on one thread; they are used again.
pub fn inbox<M: Mail>() -> impl FnMut() {
    let mail = M::new();
    let mut letters: Vec<M::Letter> = (0..BATCH).map(M::letter).collect();
    move || {
        letters.drain(..).for_each(|letter| mail.push(letter));
        mail.empty(|letter| letters.push(letter));
        black_box(&letters);
    }
}

/// `producers` threads make and push `amount` letters each; the measured thread takes and drops them.
pub fn inbox_remote<M: Mail>(producers: usize, amount: usize) -> impl FnMut() {
    let mail = Arc::new(M::new());
    let crew = Crew::new(producers, {
        let mail = Arc::clone(&mail);
        move |_| (0..amount).for_each(|value| mail.push(M::letter(value)))
    });
    move || {
        crew.round(|| {
            let mut left = producers * amount;
            while left > 0 {
                let before = left;
                mail.empty(|letter| {
                    black_box(letter);
                    left -= 1;
                });
                if left == before {
                    // The producers may share this core.
                    std::thread::yield_now();
                }
            }
        });
    }
}
