//! [`Store`]: the multi-producer multi-consumer queue inside an [`Injector`](crate::Injector).
//!
//! A chain of [`Segment`]s, each a ring of slots that is twice as long as the one before. Pushes go to the last one, pops come
//! from the first one that is not used up. Most of the time both are the same: its slots are used again and again, and nothing is
//! allocated. A pusher that finds the last segment full closes it and appends a longer one. A closed segment takes no push, so the
//! order of the items is that of the segments. A popper that finds a segment closed and empty goes on to the next.
//!
//! No segment is freed before the queue is dropped. So no thread needs protection for a pointer that it holds, and the memory of
//! a queue is at most 64 bytes and four items for each item of its longest time. The crate's DESIGN.md has the steps.
//!
//! A chain of closable rings is the idea of *LCRQ* (Morrison and Afek, "Fast Concurrent Queues for x86 Processors", 2013). The
//! ring is Vyukov's bounded queue with a stamp in each slot.

mod segment;

use alloc::boxed::Box;
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::ptr;

use terrace_sync::atomic::{AtomicPtr, Ordering};
use terrace_sync::const_fn;

use self::segment::{FIRST, Popped, Segment};

/// See the module.
pub(crate) struct Store<T> {
    /// The first segment that may have items; null before the first push. Every pusher sees it set before it pushes.
    head: AtomicPtr<Segment<T>>,
    /// A segment to push to, unless it is closed; null, at the latest, until a first push returns.
    tail: AtomicPtr<Segment<T>>,
}

// SAFETY: items move between threads, hence `T: Send`; a `&Store` gives no access to an item in place. The raw pointers are those
// of segments, which are `Sync` on the same condition and live as long as the store.
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

    /// Appends an item. One read-modify-write; allocates if there never were as many items.
    #[inline]
    pub(crate) fn push(&self, item: T) {
        // Ordering: Acquire, pairs with the Release with which the pointer was stored: the segment is initialised, and `head` is set.
        let last = self.tail.load(Ordering::Acquire);
        // SAFETY: a pointer in `tail` is null or a segment, and segments live as long as the store.
        let pushed = match unsafe { last.as_ref() } {
            Some(segment) => segment.push(item).map_err(|item| (segment, item)),
            None => {
                let segment = self.first();
                segment.push(item).map_err(|item| (segment, item))
            }
        };
        if let Err((closed, item)) = pushed {
            self.push_behind(closed, item);
        }
    }

    /// As [`push`](Self::push), where `closed` is.
    #[cold]
    fn push_behind<'s>(&'s self, mut closed: &'s Segment<T>, mut item: T) {
        loop {
            let next = self.behind(closed);
            match next.push(item) {
                Ok(()) => return,
                Err(back) => (closed, item) = (next, back),
            }
        }
    }

    /// The first segment of all, made by the caller or by another thread. Both pointers are set.
    #[cold]
    fn first(&self) -> &Segment<T> {
        let segment = install(&self.head, || Segment::new(FIRST, ptr::null_mut()));
        // Ordering: Release, so that a pusher that reads the pointer also sees `head` set. A failure means that it is set already.
        let _ = self.tail.compare_exchange(
            ptr::null_mut(),
            ptr::from_ref(segment).cast_mut(),
            Ordering::Release,
            Ordering::Relaxed,
        );
        segment
    }

    /// The segment behind one that is closed, appended if there is none. `tail` is past the closed one.
    fn behind<'s>(&'s self, closed: &'s Segment<T>) -> &'s Segment<T> {
        let before = ptr::from_ref(closed).cast_mut();
        let next = install(&closed.next, || Segment::new(closed.capacity() * 2, before));
        // Ordering: Release, as in `first`. A failure means that another pusher has moved it.
        let _ = self.tail.compare_exchange(
            before,
            ptr::from_ref(next).cast_mut(),
            Ordering::Release,
            Ordering::Relaxed,
        );
        next
    }

    /// Takes the first item. One read-modify-write, and none where there is no item. Waits for a pusher that has claimed the position
    /// of the first item and has not filled it yet.
    #[inline]
    pub(crate) fn pop(&self) -> Option<T> {
        let mut segment = self.front()?;
        loop {
            match segment.pop() {
                Popped::Item(item) => return Some(item),
                Popped::Empty => return None,
                Popped::UsedUp => segment = self.front_behind(segment)?,
            }
        }
    }

    /// The segment behind one that is used up, if there is one. `head` is past the latter.
    #[cold]
    fn front_behind<'s>(&self, used_up: &'s Segment<T>) -> Option<&'s Segment<T>> {
        let next = used_up.next()?;
        // Ordering: Release, so that a popper that reads the pointer sees the segment initialised: this thread has acquired it. A
        // failure means that another popper has moved it.
        let _ = self.head.compare_exchange(
            ptr::from_ref(used_up).cast_mut(),
            ptr::from_ref(next).cast_mut(),
            Ordering::Release,
            Ordering::Relaxed,
        );
        Some(next)
    }

    #[inline]
    fn front(&self) -> Option<&Segment<T>> {
        // Ordering: Acquire, pairs with the Release with which the pointer was stored: the segment is initialised.
        let front = self.head.load(Ordering::Acquire);
        // SAFETY: a pointer in `head` is null or a segment, and segments live as long as the store.
        unsafe { front.as_ref() }
    }

    /// The number of items, as a hint.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        let mut length = 0;
        let mut next = self.front();
        while let Some(segment) = next {
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
        // Items of a later segment: a pusher has appended it before it pushed there.
        front.is_empty() && front.next().is_none_or(|_| self.is_empty_behind(front))
    }

    #[cold]
    fn is_empty_behind(&self, front: &Segment<T>) -> bool {
        let mut next = front.next();
        while let Some(segment) = next {
            if !segment.is_empty() {
                return false;
            }
            next = segment.next();
        }
        true
    }
}

/// The segment that `place` points to. If it is null, the caller makes one, and one of those that do so at the same time wins.
fn install<T>(place: &AtomicPtr<Segment<T>>, new: impl FnOnce() -> Box<Segment<T>>) -> &Segment<T> {
    // Ordering: Acquire, here and where the exchange fails; it pairs with the Release of the exchange.
    let mut segment = place.load(Ordering::Acquire);
    if segment.is_null() {
        let new = Box::into_raw(new());
        let (success, failure) = (Ordering::Release, Ordering::Acquire);
        match place.compare_exchange(ptr::null_mut(), new, success, failure) {
            Ok(_) => segment = new,
            Err(other) => {
                segment = other;
                // SAFETY: the pointer came from a box, and no other thread has seen it.
                drop(unsafe { Box::from_raw(new) });
            }
        }
    }
    // SAFETY: the pointer is a segment that was installed, and segments live as long as the store that `place` lies in.
    unsafe { &*segment }
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
        // Ordering: Relaxed, all of it: `&mut self` excludes all other threads. Every push that has returned has moved `tail` behind
        // the segments that it found closed.
        let _chain = Chain(self.tail.load(Ordering::Relaxed));
        while let Some(item) = self.pop() {
            drop(item);
        }
    }
}
