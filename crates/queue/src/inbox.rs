//! [`Inbox`]: the door through which other threads, and interrupts, reach one thread.

use core::fmt;
use core::iter::FusedIterator;
use core::marker::PhantomData;
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::ptr::{self, NonNull};

use terrace_sync::atomic::{AtomicPtr, Ordering};
use terrace_sync::{CachePadded, const_fn, ordering, weakened};

use crate::links::Links;

/// An unbounded queue that any thread or interrupt pushes to and one thread, its owner, empties.
///
/// A stack of items that are linked through themselves, which [`take`](Self::take) turns around. Items of one producer
/// come out in the order in which it pushed them. So do items of two producers, if one push ended before the other
/// began.
///
/// Cost: a push is one compare-exchange, repeated only if another push came between. It allocates nothing, frees
/// nothing and waits for no thread, so an interrupt may call it. Taking everything is one swap, looking one relaxed
/// load.
///
/// More than one thread may take safely, but the inbox is not made for it.
///
/// # Examples
///
/// ```
/// use terrace_queue::{Boxed, Inbox, Node};
///
/// let inbox = Inbox::<Boxed<&str>>::new();
/// std::thread::scope(|scope| {
///     scope.spawn(|| inbox.push(Node::boxed("wake")));
/// });
/// assert!(!inbox.is_empty());
/// assert!(inbox.take().map(|node| node.value).eq(["wake"]));
/// ```
#[doc(alias = "mpsc")]
pub struct Inbox<L: Links> {
    /// The item pushed last, null if there is none; each links to the one pushed before it.
    last: CachePadded<AtomicPtr<()>>,
    _items: PhantomData<*mut L::Item>,
}

// SAFETY: items are moved in and out, hence `Send`; nothing gives access to one in place.
unsafe impl<L: Links<Item: Send>> Send for Inbox<L> {}
// SAFETY: a shared inbox moves items in and out, hence `Send`; it gives no access to one in place.
unsafe impl<L: Links<Item: Send>> Sync for Inbox<L> {}

// A panic of an item's code leaves no operation half done: none of that code runs inside.
impl<L: Links> UnwindSafe for Inbox<L> {}
impl<L: Links> RefUnwindSafe for Inbox<L> {}

impl<L: Links> Inbox<L> {
    const_fn! {
        /// An empty inbox. Allocates nothing, now or later.
        ///
        /// # Examples
        ///
        /// ```
        /// use terrace_queue::{Boxed, Inbox, Node};
        ///
        /// // It may be a static: an interrupt finds it without a lock.
        /// static INBOX: Inbox<Boxed<u32>> = Inbox::new();
        /// INBOX.push(Node::boxed(7));
        /// assert_eq!(INBOX.take().next().unwrap().value, 7);
        /// ```
        pub const fn new() -> Self {
            Self {
                last: CachePadded::new(AtomicPtr::new(ptr::null_mut())),
                _items: PhantomData,
            }
        }
    }

    /// Appends an item. The owner may take it, and free what holds this inbox, before the call returns. Lock-free: an
    /// attempt fails only because another push came between.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_queue::{Boxed, Inbox, Node};
    ///
    /// let inbox = Inbox::<Boxed<u32>>::new();
    /// std::thread::scope(|scope| {
    ///     for n in 0..4 {
    ///         let inbox = &inbox;
    ///         scope.spawn(move || inbox.push(Node::boxed(n)));
    ///     }
    /// });
    /// assert_eq!(inbox.take().map(|node| node.value).sum::<u32>(), 6);
    /// ```
    #[inline]
    pub fn push(&self, item: L::Item) {
        let raw = L::into_raw(item);
        // SAFETY: `raw` has just come out of `into_raw`, and no thread takes the item out before it is published below.
        let link = unsafe { L::link(raw) };
        // Ordering: Relaxed, only the taker of both items follows the pointer, and its swap
        // acquires.
        let mut before = self.last.load(Ordering::Relaxed);
        // Ordering: Release, pairs with the Acquire in `take`: a taker that sees the pointer sees the item and its
        // link.
        let release = ordering!("queue-inbox-push-relaxed", Release);
        loop {
            if weakened!("queue-inbox-push-unchecked") {
                before = self.last.load(Ordering::Relaxed);
            }
            // SAFETY: the item is not published yet, so its link is in place.
            let link = unsafe { link.as_ref() };
            // SAFETY: the item is not published yet, so this thread has it.
            unsafe { link.set(before) };
            if weakened!("queue-inbox-push-unchecked") {
                self.last.store(raw.as_ptr(), release);
                return;
            }
            // If a thread took the last item and pushed it again since the load, it is the last one again: the link is
            // still right.
            let pushed =
                self.last
                    .compare_exchange_weak(before, raw.as_ptr(), release, Ordering::Relaxed);
            match pushed {
                Ok(_) => return,
                Err(found) => before = found,
            }
        }
    }

    /// Takes all items that are there, first come first served. One swap, and one pass over the items taken.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_queue::{Boxed, Inbox, Node};
    ///
    /// let inbox = Inbox::<Boxed<u32>>::new();
    /// inbox.push(Node::boxed(1));
    /// inbox.push(Node::boxed(2));
    /// let taken = inbox.take();
    /// // What is pushed from now on is for the next call.
    /// inbox.push(Node::boxed(3));
    /// assert!(taken.map(|node| node.value).eq([1, 2]));
    /// assert!(inbox.take().map(|node| node.value).eq([3]));
    /// ```
    #[inline]
    pub fn take(&self) -> Taken<L> {
        let acquire = ordering!("queue-inbox-take-relaxed", Acquire);
        // Ordering: Acquire, pairs with the Release of every push since the last swap. Each push is a
        // read-modify-write, so the last one continues the release sequences of the others.
        let mut at = self.last.swap(ptr::null_mut(), acquire);
        let mut first = ptr::null_mut();
        while let Some(raw) = NonNull::new(at) {
            // SAFETY: a push made the pointer by `into_raw`, and the swap made this thread its only taker.
            let link = unsafe { L::link(raw) };
            // SAFETY: it stays in place until it leaves `Taken`.
            let link = unsafe { link.as_ref() };
            // SAFETY: the swap gave this thread the item.
            let before = unsafe { link.get() };
            // SAFETY: the swap gave this thread the item.
            unsafe { link.set(first) };
            first = at;
            at = before;
        }
        Taken {
            first,
            _items: PhantomData,
        }
    }

    /// Whether there is no item, as a hint: one relaxed load. After the fences of the parking protocol it
    /// does not miss an item whose push had returned.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_queue::{Boxed, Inbox, Node};
    ///
    /// let inbox = Inbox::<Boxed<&str>>::new();
    /// assert!(inbox.is_empty());
    /// inbox.push(Node::boxed("wake"));
    /// assert!(!inbox.is_empty());
    /// ```
    #[inline]
    pub fn is_empty(&self) -> bool {
        // Ordering: Relaxed, the pointer is not followed.
        self.last.load(Ordering::Relaxed).is_null()
    }
}

impl<L: Links> Default for Inbox<L> {
    fn default() -> Self {
        Self::new()
    }
}

impl<L: Links> fmt::Debug for Inbox<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox")
            .field("is_empty", &self.is_empty())
            .finish()
    }
}

impl<L: Links> Drop for Inbox<L> {
    fn drop(&mut self) {
        drop(self.take());
    }
}

/// The items of an [`Inbox`], in the order in which they came. Dropping it drops the items that are left; if the destructor
/// of one panics, those behind it are leaked. [`Inbox::take`] has an example.
#[must_use = "what is not taken out is dropped"]
pub struct Taken<L: Links> {
    /// The next item, null at the end; each links to the one behind it.
    first: *mut (),
    _items: PhantomData<*mut L::Item>,
}

// SAFETY: it owns the items in its list, which are `Send`, and nothing else.
unsafe impl<L: Links<Item: Send>> Send for Taken<L> {}

impl<L: Links> Iterator for Taken<L> {
    type Item = L::Item;

    #[inline]
    fn next(&mut self) -> Option<L::Item> {
        let raw = NonNull::new(self.first)?;
        // SAFETY: the pointer is in the list, so it came out of `into_raw` and the item is not taken out yet.
        let link = unsafe { L::link(raw) };
        // SAFETY: the item is not taken out yet, so its link is in place.
        let link = unsafe { link.as_ref() };
        // SAFETY: this `Taken` owns the list, so this thread has the item.
        self.first = unsafe { link.get() };
        // SAFETY: it came out of `into_raw`, and has just left the list.
        Some(unsafe { L::from_raw(raw) })
    }
}

impl<L: Links> FusedIterator for Taken<L> {}

impl<L: Links> Drop for Taken<L> {
    fn drop(&mut self) {
        self.for_each(drop);
    }
}

impl<L: Links> fmt::Debug for Taken<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Taken")
            .field("is_empty", &self.first.is_null())
            .finish()
    }
}
