//! [`LifoSlot`]: room for the item that its owner takes next.

use core::fmt;
use core::marker::PhantomData;
use core::ptr::{self, NonNull};

use terrace_sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use terrace_sync::{ordering, weakened};

/// An item of a [`LifoSlot`]: it fits into one word, which is not null. [`LifoSlot`] has an example.
///
/// # Safety
///
/// `into_raw` gives words that `from_raw` turns into the same item, on any thread to which the item may go. Neither runs users' code.
pub unsafe trait OwnedWord {
    /// The item as a word that owns it. [`LifoSlot`] has an example.
    fn into_raw(self) -> NonNull<()>;

    /// The item again. [`LifoSlot`] has an example.
    ///
    /// # Safety
    ///
    /// The word came out of `into_raw` of this type, and the item is taken out of it once.
    unsafe fn from_raw(raw: NonNull<()>) -> Self;
}

/// Room for one item. Its owner puts; every thread may take.
///
/// A worker that has just woken a task keeps the task here and runs it next: its data are mostly still in the cache, and a chain of tasks
/// that wake each other needs no other thread.
///
/// | operation     | by         | what it does                                          |
/// |---------------|------------|-------------------------------------------------------|
/// | [`put`](Self::put)   | its owner  | empty: a store; occupied: a swap, which returns what was there |
/// | [`take`](Self::take) | any thread | a load, and a swap if there was something             |
///
/// The slot wakes no thread. A thread that looks for work before it sleeps looks here too, behind its fence. An owner that does not
/// publish its item, because it mostly takes the item itself a moment later, has another thread watch: [`look`](Self::look) tells
/// that thread whether the same item still lies there.
///
/// # Examples
///
/// ```
/// use std::ptr::{NonNull, without_provenance_mut};
/// use terrace_queue::{LifoSlot, OwnedWord};
///
/// struct Number(usize);
///
/// // SAFETY: the word is the number plus one, and nothing is behind it.
/// unsafe impl OwnedWord for Number {
///     fn into_raw(self) -> NonNull<()> {
///         NonNull::new(without_provenance_mut(self.0 + 1)).expect("at least one")
///     }
///
///     unsafe fn from_raw(raw: NonNull<()>) -> Self {
///         Self(raw.addr().get() - 1)
///     }
/// }
///
/// let slot = LifoSlot::default();
/// assert!(slot.put(Number(1)).is_none());
/// let seen = slot.look();
/// assert_eq!(slot.put(Number(2)).map(|displaced| displaced.0), Some(1));
/// assert_ne!(slot.look(), seen, "another item lies there");
/// assert_eq!(slot.take().map(|taken| taken.0), Some(2));
/// assert!(slot.is_empty());
/// ```
pub struct LifoSlot<T: OwnedWord> {
    /// Null, or a word out of [`OwnedWord::into_raw`]. The thread that replaces it owns the item.
    item: AtomicPtr<()>,
    /// How many were ever put, wrapping; written by the owner alone.
    puts: AtomicU32,
    _items: PhantomData<fn(T) -> T>,
}

impl<T: OwnedWord> Default for LifoSlot<T> {
    /// An empty slot.
    fn default() -> Self {
        Self {
            item: AtomicPtr::new(ptr::null_mut()),
            puts: AtomicU32::new(0),
            _items: PhantomData,
        }
    }
}

impl<T: OwnedWord + Send> LifoSlot<T> {
    /// Puts an item in, and returns the one that was there. Only the slot's owner calls this: if two threads put into
    /// an empty slot at once, one item is lost.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_queue::LifoSlot;
    /// # use std::ptr::{NonNull, without_provenance_mut};
    /// # use terrace_queue::OwnedWord;
    /// # #[derive(Debug, PartialEq)]
    /// # struct Number(usize);
    /// # // SAFETY: the word is the number plus one, and nothing is behind it.
    /// # unsafe impl OwnedWord for Number {
    /// #     fn into_raw(self) -> NonNull<()> { NonNull::new(without_provenance_mut(self.0 + 1)).unwrap() }
    /// #     unsafe fn from_raw(raw: NonNull<()>) -> Self { Self(raw.addr().get() - 1) }
    /// # }
    ///
    /// let slot = LifoSlot::default();
    /// assert_eq!(slot.put(Number(1)), None);
    /// // The newest one runs next; the other goes to a queue.
    /// assert_eq!(slot.put(Number(2)), Some(Number(1)));
    /// ```
    #[inline]
    #[must_use = "the item that was displaced has to be queued"]
    pub fn put(&self, item: T) -> Option<T> {
        let item = T::into_raw(item).as_ptr();
        // Ordering: Relaxed, the owner alone writes. Readers compare two looks; a stale value only delays them.
        let puts = self.puts.load(Ordering::Relaxed);
        self.puts.store(puts.wrapping_add(1), Ordering::Relaxed);
        // Ordering: Release in both, pairs with the Acquire in `take`: the taker sees what was written before the put.
        if self.is_empty() || weakened!("queue-slot-put-blind") {
            self.item
                .store(item, ordering!("queue-slot-put-relaxed", Release));
            return None;
        }
        // A thief may empty it before the swap.
        self.replace(item)
    }

    /// Takes the item out.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_queue::LifoSlot;
    /// # use std::ptr::{NonNull, without_provenance_mut};
    /// # use terrace_queue::OwnedWord;
    /// # #[derive(Debug, PartialEq)]
    /// # struct Number(usize);
    /// # // SAFETY: the word is the number plus one, and nothing is behind it.
    /// # unsafe impl OwnedWord for Number {
    /// #     fn into_raw(self) -> NonNull<()> { NonNull::new(without_provenance_mut(self.0 + 1)).unwrap() }
    /// #     unsafe fn from_raw(raw: NonNull<()>) -> Self { Self(raw.addr().get() - 1) }
    /// # }
    ///
    /// let slot = LifoSlot::default();
    /// assert_eq!(slot.take(), None);
    /// assert_eq!(slot.put(Number(1)), None);
    /// assert_eq!(slot.take(), Some(Number(1)));
    /// ```
    #[inline]
    pub fn take(&self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        self.replace(ptr::null_mut())
    }

    /// Gives the item to `queue`, which makes it visible to all. The owner calls this before it waits or ends.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_queue::LifoSlot;
    /// # use std::ptr::{NonNull, without_provenance_mut};
    /// # use terrace_queue::OwnedWord;
    /// # #[derive(Debug, PartialEq)]
    /// # struct Number(usize);
    /// # // SAFETY: the word is the number plus one, and nothing is behind it.
    /// # unsafe impl OwnedWord for Number {
    /// #     fn into_raw(self) -> NonNull<()> { NonNull::new(without_provenance_mut(self.0 + 1)).unwrap() }
    /// #     unsafe fn from_raw(raw: NonNull<()>) -> Self { Self(raw.addr().get() - 1) }
    /// # }
    ///
    /// let slot = LifoSlot::default();
    /// assert_eq!(slot.put(Number(1)), None);
    /// let mut queue = Vec::new();
    /// slot.empty(|item| queue.push(item));
    /// assert_eq!(queue, [Number(1)]);
    /// assert!(slot.is_empty());
    /// ```
    #[inline]
    pub fn empty(&self, queue: impl FnOnce(T)) {
        if weakened!("queue-slot-kept") {
            return;
        }
        if let Some(item) = self.take() {
            queue(item);
        }
    }

    #[inline]
    fn replace(&self, item: *mut ()) -> Option<T> {
        // Ordering: Release as in `put`. The Acquire pairs with the Release of the `put` that stored the taken item.
        let order = match weakened!("queue-slot-swap-release") {
            true => Ordering::Release,
            false => Ordering::AcqRel,
        };
        let old = if weakened!("queue-slot-swap-split") {
            let old = self.item.load(Ordering::Acquire);
            self.item.store(item, Ordering::Release);
            old
        } else {
            self.item.swap(item, order)
        };
        // SAFETY: a pointer in the slot came out of `into_raw`. This thread's swap took it out, so
        // no other thread gets it.
        NonNull::new(old).map(|old| unsafe { T::from_raw(old) })
    }

    /// Whether there is no item. A hint for all but the owner; valid after a fence.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_queue::LifoSlot;
    /// # use std::ptr::{NonNull, without_provenance_mut};
    /// # use terrace_queue::OwnedWord;
    /// # #[derive(Debug, PartialEq)]
    /// # struct Number(usize);
    /// # // SAFETY: the word is the number plus one, and nothing is behind it.
    /// # unsafe impl OwnedWord for Number {
    /// #     fn into_raw(self) -> NonNull<()> { NonNull::new(without_provenance_mut(self.0 + 1)).unwrap() }
    /// #     unsafe fn from_raw(raw: NonNull<()>) -> Self { Self(raw.addr().get() - 1) }
    /// # }
    ///
    /// let slot = LifoSlot::default();
    /// assert!(slot.is_empty());
    /// assert_eq!(slot.put(Number(1)), None);
    /// assert!(!slot.is_empty());
    /// ```
    #[inline]
    pub fn is_empty(&self) -> bool {
        // Ordering: Relaxed; `replace` acquires, and a thread that must not miss an item has fenced.
        self.item.load(Ordering::Relaxed).is_null()
    }

    /// The number of the item that is there: if it is the same at two looks, so is the item.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_queue::LifoSlot;
    /// # use std::ptr::{NonNull, without_provenance_mut};
    /// # use terrace_queue::OwnedWord;
    /// # #[derive(Debug, PartialEq)]
    /// # struct Number(usize);
    /// # // SAFETY: the word is the number plus one, and nothing is behind it.
    /// # unsafe impl OwnedWord for Number {
    /// #     fn into_raw(self) -> NonNull<()> { NonNull::new(without_provenance_mut(self.0 + 1)).unwrap() }
    /// #     unsafe fn from_raw(raw: NonNull<()>) -> Self { Self(raw.addr().get() - 1) }
    /// # }
    ///
    /// let slot = LifoSlot::default();
    /// assert_eq!(slot.look(), None);
    /// assert_eq!(slot.put(Number(1)), None);
    /// let before = slot.look();
    /// assert_eq!(slot.look(), before, "the item stands still");
    /// ```
    #[must_use = "the call only reads a value"]
    pub fn look(&self) -> Option<u32> {
        // Ordering: Relaxed. A number that does not match its item only makes a looker late or early.
        (!self.is_empty()).then(|| self.puts.load(Ordering::Relaxed))
    }
}

impl<T: OwnedWord> Drop for LifoSlot<T> {
    fn drop(&mut self) {
        // Ordering: Relaxed, `&mut self` excludes all other threads.
        if let Some(item) = NonNull::new(self.item.load(Ordering::Relaxed)) {
            // SAFETY: it came out of `into_raw`, and `&mut self` keeps all other threads from taking it.
            drop(unsafe { T::from_raw(item) });
        }
    }
}

impl<T: OwnedWord> fmt::Debug for LifoSlot<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LifoSlot").finish_non_exhaustive()
    }
}
