//! [`Injector`]: the shared queue.
//!
//! A chain of [`Segment`]s, each a ring of slots that is twice as long as the one before. Pushes go to the last one, pops come
//! from the first one that is not used up. Most of the time both are the same: its slots are used again and again, and nothing is
//! allocated. A pusher that finds the last segment full closes it and appends a longer one. A closed segment takes no push, so the
//! order of the items is that of the segments. A popper that finds a segment closed and empty goes on to the next.
//! No segment is freed before the queue is dropped, so no thread needs protection for a pointer that it holds. DESIGN.md has the steps.

mod segment;

use alloc::boxed::Box;
use core::fmt;
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::ptr::{self, NonNull};

use terrace_sync::atomic::{AtomicPtr, Ordering};
use terrace_sync::const_fn;

use self::segment::{FIRST, Pause, Popped, Segment};
use crate::ring::Owner;
use crate::spill::Spill;

/// An unbounded queue that any thread pushes to and any thread pops from, first in first out.
///
/// Cost: one RMW for a push, one for a pop, two for a pop of several items that lie in one ring. The check for an empty queue is four
/// loads. It allocates when its last ring is full, so at most once more after its longest time, and keeps that memory: 32 slots at least, and
/// fewer than four for each item of the longest time. A slot is an item and a word.
///
/// A pop waits for a thread that was preempted in the middle of the push of the first item, a push for one that was preempted in
/// the middle of a pop from the same slot, or of several items. They spin, and then yield the processor. So an injector is not for interrupts, signal handlers,
/// or threads of different real-time priorities on one processor.
///
/// Algorithm: a chain of closable rings, as in LCRQ (Morrison and Afek, "Fast Concurrent Queues for x86 Processors", 2013), each of them
/// Vyukov's bounded queue with a stamp in each slot.
///
/// The caller wakes a worker for the items that it pushes.
///
/// # Examples
///
/// ```
/// let injector = terrace_queue::Injector::new();
/// injector.push(1);
/// injector.push_batch([2, 3].into_iter());
/// assert_eq!(injector.len_hint(), 3);
/// assert_eq!(injector.pop(), Some(1));
/// ```
pub struct Injector<T> {
    ends: Ends<T>,
}

impl<T> Injector<T> {
    const_fn! {
        /// An empty queue. It allocates at the first push.
        ///
        /// # Examples
        ///
        /// ```
        /// use terrace_queue::Injector;
        ///
        /// static INJECTOR: Injector<u32> = Injector::new();
        /// INJECTOR.push(1);
        /// assert_eq!(INJECTOR.pop(), Some(1));
        /// ```
        pub const fn new() -> Self {
            let (head, tail) = (AtomicPtr::new(ptr::null_mut()), AtomicPtr::new(ptr::null_mut()));
            Self { ends: Ends { head, tail } }
        }
    }

    /// Appends an item.
    ///
    /// # Examples
    ///
    /// ```
    /// let injector = terrace_queue::Injector::new();
    /// std::thread::scope(|scope| {
    ///     for n in 0..4 {
    ///         let injector = &injector;
    ///         scope.spawn(move || injector.push(n));
    ///     }
    /// });
    /// let mut all: Vec<_> = std::iter::from_fn(|| injector.pop()).collect();
    /// all.sort();
    /// assert_eq!(all, [0, 1, 2, 3]);
    /// ```
    // A call took a task from outside five instructions more.
    #[inline(always)]
    pub fn push(&self, item: T) {
        // Ordering: Acquire, pairs with the Release with which the pointer was stored: the segment is initialised, and `head` is set.
        let mut last = self.ends.tail.load(Ordering::Acquire);
        if last.is_null() {
            last = self.first();
        }
        // SAFETY: the pointer is a segment, and segments live as long as the queue.
        if let Err(item) = unsafe { &*last }.push(item) {
            self.push_behind(last, item);
        }
    }

    /// Appends items; other pushes may come between them.
    ///
    /// # Panics
    /// If the iterator does. The items it gave before are in the queue, which works as before.
    ///
    /// # Examples
    ///
    /// ```
    /// let injector = terrace_queue::Injector::new();
    /// injector.push_batch("abc".chars());
    /// assert!(std::iter::from_fn(|| injector.pop()).eq("abc".chars()));
    /// ```
    pub fn push_batch(&self, items: impl Iterator<Item = T>) {
        items.for_each(|item| self.push(item));
    }

    /// Takes the first item.
    ///
    /// # Examples
    ///
    /// ```
    /// let injector = terrace_queue::Injector::new();
    /// assert_eq!(injector.pop(), None);
    /// injector.push('a');
    /// injector.push('b');
    /// assert_eq!((injector.pop(), injector.pop()), (Some('a'), Some('b')));
    /// ```
    #[inline]
    pub fn pop(&self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        self.ends.pop_or(|pause| {
            pause.wait();
            true
        })
    }

    /// Takes up to `max` items: returns the first and puts the others into `dst`, as far as it has room.
    ///
    /// A worker that moves shared work into its ring holds a search token until done, or publishes that work.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_queue::{Injector, OwnedRing};
    ///
    /// let (injector, mut ring) = (Injector::new(), OwnedRing::new());
    /// injector.push_batch(0..10);
    /// let owner = ring.owner();
    /// assert_eq!(injector.pop_batch_into(&owner, 4), Some(0));
    /// assert_eq!((owner.ring().len(), injector.len_hint()), (3, 6));
    /// ```
    #[doc(alias = "steal_batch_and_pop")]
    #[inline]
    pub fn pop_batch_into(&self, dst: &Owner<'_, T>, max: usize) -> Option<T> {
        self.pop_counted_into(dst, max).map(|(first, _)| first)
    }

    /// As [`pop_batch_into`](Self::pop_batch_into); the second value says how many others went into `dst`.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_queue::{Injector, OwnedRing};
    ///
    /// let (injector, mut ring) = (Injector::new(), OwnedRing::new());
    /// injector.push_batch(0..3);
    /// let owner = ring.owner();
    /// // Fewer than the caller would take.
    /// assert_eq!(injector.pop_counted_into(&owner, 8), Some((0, 2)));
    /// assert_eq!(owner.pop(), Some(1));
    /// ```
    #[inline]
    pub fn pop_counted_into(&self, dst: &Owner<'_, T>, max: usize) -> Option<(T, usize)> {
        if max == 0 {
            return None;
        }
        let first = self.pop()?;
        let mut batch = dst.batch();
        let room = batch.room().min(max - 1);
        batch.prepare(|| room > 0);
        let mut others = 0;
        while others < room {
            let front = self.ends.front();
            // SAFETY: the pointer is a segment, and segments live as long as the queue.
            let front = front.map(|front| unsafe { front.as_ref() });
            let taken = front.map_or(0, |front| {
                front.pop_many(room - others, |item| batch.push(item))
            });
            others += taken;
            if taken > 0 {
                continue;
            }
            // The first item of the next segment. The thread holds an item that no other thread sees: it waits for no pusher.
            let Some(item) = self.ends.pop_or(|_| false) else {
                break;
            };
            batch.push(item);
            others += 1;
        }
        batch.publish();
        Some((first, others))
    }

    /// The number of items, as a hint, those included whose push has not returned. If other threads push and pop during the call, it may
    /// be too high. It is 0 only if there was no item that no thread was taking.
    ///
    /// # Examples
    ///
    /// ```
    /// let injector = terrace_queue::Injector::new();
    /// injector.push_batch(0..3);
    /// injector.pop();
    /// // No other thread pushes or pops, so it is exact.
    /// assert_eq!(injector.len_hint(), 2);
    /// ```
    #[inline]
    pub fn len_hint(&self) -> usize {
        let mut length = 0;
        let mut next = self.ends.front();
        while let Some(segment) = next {
            // SAFETY: the pointer is a segment, and segments live as long as the queue.
            let segment = unsafe { segment.as_ref() };
            length += segment.len();
            next = segment.next();
        }
        length
    }

    /// Whether there is no item, as a hint: four loads. After the fences of the parking protocol it does not miss an
    /// item whose push had returned.
    ///
    /// # Examples
    ///
    /// ```
    /// let injector = terrace_queue::Injector::new();
    /// assert!(injector.is_empty());
    /// injector.push(());
    /// assert!(!injector.is_empty());
    /// ```
    #[inline]
    pub fn is_empty(&self) -> bool {
        let Some(front) = self.ends.front() else {
            return true;
        };
        // SAFETY: the pointer is a segment, and segments live as long as the queue.
        let front = unsafe { front.as_ref() };
        // A pusher appends a segment before it pushes there.
        front.is_empty() && (front.next().is_none() || self.len_hint() == 0)
    }

    /// As [`push`](Self::push), where the segment `closed` is.
    #[cold]
    fn push_behind(&self, mut closed: *mut Segment<T>, mut item: T) {
        loop {
            let next = self.behind(closed);
            // SAFETY: the pointer is a segment, and segments live as long as the queue.
            match unsafe { &*next }.push(item) {
                Ok(()) => return,
                Err(back) => (closed, item) = (next, back),
            }
        }
    }

    /// The first segment of all, made by the caller or by another thread. Both pointers are set.
    #[cold]
    fn first(&self) -> *mut Segment<T> {
        let segment = install(&self.ends.head, || Segment::new(FIRST, ptr::null_mut()));
        // Ordering: Release, so that a pusher that reads the pointer also sees `head` set. A failure means that it is set already.
        let (success, failure) = (Ordering::Release, Ordering::Relaxed);
        let _ = self
            .ends
            .tail
            .compare_exchange(ptr::null_mut(), segment, success, failure);
        segment
    }

    /// The segment behind one that is closed, appended if there is none. `tail` is past the closed one.
    fn behind(&self, closed: *mut Segment<T>) -> *mut Segment<T> {
        // SAFETY: the pointer is a segment, and segments live as long as the queue.
        let before = unsafe { &*closed };
        let next = install(&before.next, || Segment::new(before.capacity() * 2, closed));
        // Ordering: Release, as in `first`. A failure means that another pusher has moved it, or that it is still before `closed`: then the
        // pusher that moves it to `closed` finds that one closed, and moves it on.
        let (success, failure) = (Ordering::Release, Ordering::Relaxed);
        let _ = self
            .ends
            .tail
            .compare_exchange(closed, next, success, failure);
        next
    }
}

impl<T> Spill<T> for Injector<T> {
    fn spill(&self, items: impl Iterator<Item = T>) {
        self.push_batch(items);
    }
}

impl<T> Default for Injector<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for Injector<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Injector")
            .field("len_hint", &self.len_hint())
            .finish()
    }
}

/// The first and the last segment of a queue, which owns them and those between.
struct Ends<T> {
    /// The first segment that may have items; null before the first push. Every pusher sees it set before it pushes.
    head: AtomicPtr<Segment<T>>,
    /// A segment to push to, unless it is closed; null, at the latest, until a first push returns.
    tail: AtomicPtr<Segment<T>>,
}

// SAFETY: items move between threads, hence `T: Send`; a `&Ends` gives no access to an item in place. The threads share the segments
// behind the pointers: their atomics, and their slots as the stamps hand them over. The rest of a segment does not change, and
// all segments live as long as the queue.
unsafe impl<T: Send> Sync for Ends<T> {}
// SAFETY: the queue owns its segments; as for `Sync`.
unsafe impl<T: Send> Send for Ends<T> {}

// A panic of an item's code leaves no operation half done: none of that code runs inside.
impl<T> UnwindSafe for Ends<T> {}
impl<T> RefUnwindSafe for Ends<T> {}

impl<T> Ends<T> {
    /// Takes the first item. Asks `waits` whether to try again where a pusher has not filled the first position yet.
    #[inline]
    fn pop_or(&self, waits: impl Fn(&mut Pause) -> bool) -> Option<T> {
        let mut front = self.front()?;
        let mut pause = Pause::new();
        loop {
            // SAFETY: the pointer is a segment, and segments live as long as the queue.
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
        // SAFETY: the pointer is a segment, and segments live as long as the queue.
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

impl<T> Drop for Ends<T> {
    fn drop(&mut self) {
        // No code of an item's destructor finds the queue, so a panic of one leaks the items behind it and nothing else.
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
        while let Some(item) = self.pop_or(|_| false) {
            drop(item);
        }
    }
}
