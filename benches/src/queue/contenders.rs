//! Ours, crossbeam's, st3's, `concurrent-queue`, and a `VecDeque` under a mutex.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use concurrent_queue::ConcurrentQueue;
use crossbeam_deque::Steal;
use terrace_queue::{Injector, Ring};

use super::{BATCH, Batched, Deque, Item, Shared, Thief};

/// Items that the rings have room for, as ours has.
const CAPACITY: usize = Ring::<Item>::CAPACITY;

/// Pushes to a ring of fixed size. A thief that the system stopped half way keeps the places of the items that it
/// takes.
#[inline]
fn until_there_is_room(mut item: Item, push: impl Fn(Item) -> Result<(), Item>) {
    while let Err(back) = push(item) {
        item = back;
        std::thread::yield_now();
    }
}

/// Our ring.
pub struct Own(Arc<Ring<Item>>);

impl Deque for Own {
    const NAME: &'static str = "ring";
    type Thief = OwnThief;

    fn new() -> Self {
        Self(Arc::new(Ring::new()))
    }

    #[inline]
    fn push(&self, item: Item) {
        // SAFETY: a row keeps an `Own` on one thread; it has no other owner handles.
        let owner = unsafe { self.0.owner() };
        until_there_is_room(item, |item| owner.push(item).map_err(|full| full.0));
    }

    #[inline]
    fn pop(&self) -> Option<Item> {
        // SAFETY: as in `push`.
        unsafe { self.0.owner() }.pop()
    }

    fn thief(&self) -> OwnThief {
        OwnThief(Arc::clone(&self.0))
    }
}

/// Takes from our ring.
pub struct OwnThief(Arc<Ring<Item>>);

impl Thief for OwnThief {
    type Own = Own;

    #[inline]
    fn steal(&self, own: &Own) -> Option<Item> {
        // SAFETY: as in `Own::push`.
        let owner = unsafe { own.0.owner() };
        self.0.steal_into(&owner)
    }
}

/// crossbeam's deque, first in, first out.
pub struct CrossbeamFifo(crossbeam_deque::Worker<Item>);

impl Deque for CrossbeamFifo {
    const NAME: &'static str = "crossbeam";
    type Thief = crossbeam_deque::Stealer<Item>;

    fn new() -> Self {
        Self(crossbeam_deque::Worker::new_fifo())
    }

    #[inline]
    fn push(&self, item: Item) {
        self.0.push(item);
    }

    #[inline]
    fn pop(&self) -> Option<Item> {
        self.0.pop()
    }

    fn thief(&self) -> Self::Thief {
        self.0.stealer()
    }
}

impl Thief for crossbeam_deque::Stealer<Item> {
    type Own = CrossbeamFifo;

    #[inline]
    fn steal(&self, own: &CrossbeamFifo) -> Option<Item> {
        loop {
            match self.steal_batch_and_pop(&own.0) {
                Steal::Success(item) => return Some(item),
                Steal::Empty => return None,
                Steal::Retry => {}
            }
        }
    }
}

/// One of st3's rings.
macro_rules! st3 {
    ($(#[$doc:meta])* $Name:ident, $module:ident, $name:literal) => {
        $(#[$doc])*
        pub struct $Name(st3::$module::Worker<Item>);

        impl Deque for $Name {
            const NAME: &'static str = $name;
            type Thief = st3::$module::Stealer<Item>;

            fn new() -> Self {
                Self(st3::$module::Worker::new(CAPACITY))
            }

            #[inline]
            fn push(&self, item: Item) {
                until_there_is_room(item, |item| self.0.push(item));
            }

            #[inline]
            fn pop(&self) -> Option<Item> {
                self.0.pop()
            }

            fn thief(&self) -> Self::Thief {
                self.0.stealer()
            }
        }

        impl Thief for st3::$module::Stealer<Item> {
            type Own = $Name;

            #[inline]
            fn steal(&self, own: &$Name) -> Option<Item> {
                loop {
                    match self.steal_and_pop(&own.0, |amount| amount - amount / 2) {
                        Ok((item, _)) => return Some(item),
                        Err(st3::StealError::Empty) => return None,
                        Err(st3::StealError::Busy) => {}
                    }
                }
            }
        }
    };
}

st3!(
    /// st3's ring, first in, first out.
    St3Fifo, fifo, "st3_fifo"
);
st3!(
    /// st3's ring, last in, first out.
    St3Lifo, lifo, "st3_lifo"
);

/// A `VecDeque` under a mutex.
pub type Mutexed<T> = Mutex<VecDeque<T>>;

/// A [`Shared`] from three expressions.
macro_rules! shared {
    ($($Queue:ty, $name:literal, $new:expr, $push:expr, $pop:expr;)+) => {$(
        impl Shared for $Queue {
            const NAME: &'static str = $name;

            fn new() -> Self {
                $new
            }

            #[inline]
            fn push(&self, item: Item) {
                $push(self, item);
            }

            #[inline]
            fn pop(&self) -> Option<Item> {
                $pop(self)
            }
        }
    )+};
}

shared! {
    Injector<Item>, "injector", Injector::new(), Injector::push, Injector::pop;
    crossbeam_deque::Injector<Item>, "crossbeam", crossbeam_deque::Injector::new(),
        crossbeam_deque::Injector::push, |queue: &Self| loop {
            match queue.steal() {
                Steal::Success(item) => return Some(item),
                Steal::Empty => return None,
                Steal::Retry => {}
            }
        };
    ConcurrentQueue<Item>, "concurrent_queue", ConcurrentQueue::unbounded(),
        |queue: &Self, item| queue.push(item).expect("never closed"),
        |queue: &Self| queue.pop().ok();
    Mutexed<Item>, "mutex", Mutex::default(),
        |queue: &Self, item| queue.lock().expect("no holder panics").push_back(item),
        |queue: &Self| queue.lock().expect("no holder panics").pop_front();
}

impl Batched for Injector<Item> {
    type Own = Own;

    fn own() -> Own {
        Own::new()
    }

    fn push_batch(&self) {
        Injector::push_batch(self, 0..BATCH);
    }

    fn take_batch(&self, own: &Own) -> bool {
        // SAFETY: as in `Own::push`.
        let owner = unsafe { own.0.owner() };
        let some = self.pop_batch_into(&owner, BATCH / 2).is_some();
        while owner.pop().is_some() {}
        some
    }
}

impl Batched for crossbeam_deque::Injector<Item> {
    type Own = CrossbeamFifo;

    fn own() -> CrossbeamFifo {
        CrossbeamFifo::new()
    }

    fn push_batch(&self) {
        (0..BATCH).for_each(|item| self.push(item));
    }

    fn take_batch(&self, own: &CrossbeamFifo) -> bool {
        let stolen = self.steal_batch_with_limit_and_pop(&own.0, BATCH / 2);
        while own.pop().is_some() {}
        !stolen.is_empty()
    }
}

impl Batched for ConcurrentQueue<Item> {
    type Own = CrossbeamFifo;

    fn own() -> CrossbeamFifo {
        CrossbeamFifo::new()
    }

    fn push_batch(&self) {
        (0..BATCH).for_each(|item| Shared::push(self, item));
    }

    fn take_batch(&self, own: &CrossbeamFifo) -> bool {
        let taken = self.try_iter().take(BATCH / 2).map(|item| own.push(item));
        let some = taken.count() > 0;
        while own.pop().is_some() {}
        some
    }
}
