//! [`Store`]: the multi-producer multi-consumer queue inside an [`Injector`](crate::Injector).
//!
//! A chain of [`Segment`]s, each a ring of slots that is twice as long as the one before. Pushes go to the last one, pops come
//! from the first one that is not used up. Most of the time both are the same: its slots are used again and again, and nothing is
//! allocated. A pusher that finds the last segment full closes it and appends a longer one. A closed segment takes no push, so the
//! order of the items is that of the segments. A popper that finds a segment closed and empty goes on to the next.
//!
//! No segment is freed before the queue is dropped. So no thread needs protection for a pointer that it holds, and the queue keeps the
//! memory of its longest time: fewer than four slots for each item that there was then, and 32 at least. A slot is an item and a word.
//! The crate's DESIGN.md has the steps.
//!
//! A chain of closable rings is the idea of *LCRQ* (Morrison and Afek, "Fast Concurrent Queues for x86 Processors", 2013). The
//! ring is Vyukov's bounded queue with a stamp in each slot.

mod segment;

use alloc::boxed::Box;
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::ptr::{self, NonNull};

use terrace_sync::atomic::{AtomicPtr, Ordering};
use terrace_sync::const_fn;

use self::segment::{FIRST, Pause, Popped, Segment};

/// See the module.
pub(crate) struct Store<T> {
    /// The first segment that may have items; null before the first push. Every pusher sees it set before it pushes.
    head: AtomicPtr<Segment<T>>,
    /// A segment to push to, unless it is closed; null, at the latest, until a first push returns.
    tail: AtomicPtr<Segment<T>>,
}

// SAFETY: items move between threads, hence `T: Send`; a `&Store` gives no access to an item in place. The threads share the segments
// behind the pointers: their atomics, and their slots as the stamps hand them over. The rest of a segment does not change, and
// all segments live as long as the store.
unsafe impl<T: Send> Sync for Store<T> {}
// SAFETY: the store owns its segments; as for `Sync`.
unsafe impl<T: Send> Send for Store<T> {}

// A panic of an item's code leaves no operation half done: none of that code runs inside.
impl<T> UnwindSafe for Store<T> {}
impl<T> RefUnwindSafe for Store<T> {}

impl<T> Store<T> {
    const_fn! {
        /// An empty queue; allocates at the first push.
        pub(crate) const fn new() -> Self {
            Self {
                head: AtomicPtr::new(ptr::null_mut()),
                tail: AtomicPtr::new(ptr::null_mut()),
            }
        }
    }

    /// Appends an item. One read-modify-write; allocates where the last segment is full. Waits for a popper that has claimed the item in
    /// the slot and has not read it yet.
    #[inline]
    pub(crate) fn push(&self, item: T) {
        // Ordering: Acquire, pairs with the Release with which the pointer was stored: the segment is initialised, and `head` is set.
        let mut last = self.tail.load(Ordering::Acquire);
        if last.is_null() {
            last = self.first();
        }
        // SAFETY: the pointer is a segment, and segments live as long as the store.
        if let Err(item) = unsafe { &*last }.push(item) {
            self.push_behind(last, item);
        }
    }

    /// As [`push`](Self::push), where the segment `closed` is.
    #[cold]
    fn push_behind(&self, mut closed: *mut Segment<T>, mut item: T) {
        loop {
            let next = self.behind(closed);
            // SAFETY: the pointer is a segment, and segments live as long as the store.
            match unsafe { &*next }.push(item) {
                Ok(()) => return,
                Err(back) => (closed, item) = (next, back),
            }
        }
    }

    /// The first segment of all, made by the caller or by another thread. Both pointers are set.
    #[cold]
    fn first(&self) -> *mut Segment<T> {
        let segment = install(&self.head, || Segment::new(FIRST, ptr::null_mut()));
        // Ordering: Release, so that a pusher that reads the pointer also sees `head` set. A failure means that it is set already.
        let (success, failure) = (Ordering::Release, Ordering::Relaxed);
        let _ = self
            .tail
            .compare_exchange(ptr::null_mut(), segment, success, failure);
        segment
    }

    /// The segment behind one that is closed, appended if there is none. `tail` is past the closed one.
    fn behind(&self, closed: *mut Segment<T>) -> *mut Segment<T> {
        // SAFETY: the pointer is a segment, and segments live as long as the store.
        let before = unsafe { &*closed };
        let next = install(&before.next, || Segment::new(before.capacity() * 2, closed));
        // Ordering: Release, as in `first`. A failure means that another pusher has moved it, or that it is still before `closed`: then the
        // pusher that moves it to `closed` finds that one closed, and moves it on.
        let (success, failure) = (Ordering::Release, Ordering::Relaxed);
        let _ = self.tail.compare_exchange(closed, next, success, failure);
        next
    }

    /// Takes the first item. One read-modify-write, and none where there is no item. Waits for a pusher that has claimed the position
    /// of the first item and has not filled it yet.
    #[inline]
    pub(crate) fn pop(&self) -> Option<T> {
        self.pop_or(|pause| {
            pause.wait();
            true
        })
    }

    /// As [`pop`](Self::pop), but waits for no thread: takes nothing where the first position is claimed and not filled yet.
    #[inline]
    pub(crate) fn try_pop(&self) -> Option<T> {
        self.pop_or(|_| false)
    }

    /// Takes the first item. Asks `waits` whether to try again where a pusher has not filled the first position yet.
    #[inline]
    fn pop_or(&self, waits: impl Fn(&mut Pause) -> bool) -> Option<T> {
        let mut front = self.front()?;
        let mut pause = Pause::new();
        loop {
            // SAFETY: the pointer is a segment, and segments live as long as the store.
            match unsafe { front.as_ref() }.pop() {
                Popped::Item(item) => return Some(item),
                Popped::Claimed if waits(&mut pause) => {}
                Popped::Empty | Popped::Claimed => return None,
                Popped::UsedUp => front = self.front_behind(front)?,
            }
        }
    }

    /// The segment behind one that is used up, if there is one. `head` is past the latter.
    #[cold]
    fn front_behind(&self, used_up: NonNull<Segment<T>>) -> Option<NonNull<Segment<T>>> {
        // SAFETY: the pointer is a segment, and segments live as long as the store.
        let next = unsafe { used_up.as_ref() }.next()?;
        // Ordering: Release, so that a popper that reads the pointer sees the segment initialised: this thread has acquired it. A
        // failure means that another popper has moved it.
        let (success, failure) = (Ordering::Release, Ordering::Relaxed);
        let _ = self
            .head
            .compare_exchange(used_up.as_ptr(), next.as_ptr(), success, failure);
        Some(next)
    }

    #[inline]
    fn front(&self) -> Option<NonNull<Segment<T>>> {
        // Ordering: Acquire, pairs with the Release with which the pointer was stored: the segment is initialised.
        NonNull::new(self.head.load(Ordering::Acquire))
    }

    /// The number of items, as a hint.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        let mut length = 0;
        let mut next = self.front();
        while let Some(segment) = next {
            // SAFETY: the pointer is a segment, and segments live as long as the store.
            let segment = unsafe { segment.as_ref() };
            length += segment.len();
            next = segment.next();
        }
        length
    }

    /// Whether there is no item, as a hint. It does not miss an item whose push happens before this call, unless a popper has claimed it.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        let Some(front) = self.front() else {
            return true;
        };
        // SAFETY: the pointer is a segment, and segments live as long as the store.
        let front = unsafe { front.as_ref() };
        // A pusher appends a segment before it pushes there.
        front.is_empty() && (front.next().is_none() || self.len() == 0)
    }
}

/// The segment that `place` points to. If it is null, the caller makes one, and one of those that do so at the same time wins.
fn install<T>(
    place: &AtomicPtr<Segment<T>>,
    new: impl FnOnce() -> Box<Segment<T>>,
) -> *mut Segment<T> {
    // Ordering: Acquire, here and where the exchange fails; it pairs with the Release of the exchange.
    let segment = place.load(Ordering::Acquire);
    if !segment.is_null() {
        return segment;
    }
    let new = Box::into_raw(new());
    let (success, failure) = (Ordering::Release, Ordering::Acquire);
    match place.compare_exchange(ptr::null_mut(), new, success, failure) {
        Ok(_) => new,
        Err(other) => {
            // SAFETY: the pointer came from a box, and no other thread has seen it.
            drop(unsafe { Box::from_raw(new) });
            other
        }
    }
}

impl<T> Drop for Store<T> {
    fn drop(&mut self) {
        // No code of an item's destructor finds the store, so a panic of one leaks the items behind it and nothing else.
        struct Chain<T>(*mut Segment<T>);
        impl<T> Drop for Chain<T> {
            fn drop(&mut self) {
                while !self.0.is_null() {
                    // SAFETY: the pointer came from a box in `install`, and each segment is in the chain once.
                    let segment = unsafe { Box::from_raw(self.0) };
                    self.0 = segment.before;
                }
            }
        }
        // Ordering: Relaxed, all of it: `&mut self` excludes all other threads. At rest `tail` is the last segment: each pusher that
        // moved it to one, and found that closed, moved it on.
        let _chain = Chain(self.tail.load(Ordering::Relaxed));
        while let Some(item) = self.pop() {
            drop(item);
        }
    }
}
