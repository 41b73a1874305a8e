//! [`WaitList`]: the drivers of one executor that sleep. Its owner changes the list; any thread, or an interrupt, may walk it
//! to wake a driver.
//!
//! | state | meaning | the owner | any thread |
//! |---|---|---|---|
//! | `AWAKE` | the driver looks at the queues before it sleeps | → `ASLEEP`, `Waiter::sleep` | – |
//! | `ASLEEP` | a push wakes the driver | → `AWAKE`, `Waiter::wake_up` | → `AWAKE`, and wakes it, `WaitList::wake_one` or `wake_all` |
//!
//! A walker wakes a waker in place, by reference: it locks, allocates, clones and drops nothing. The owner alone links
//! and unlinks nodes, and frees an unlinked node when no thread walks. A walker counts itself in before its first look
//! at the list. The owner reads that count after it unlinked. Both are read-modify-writes of one word, so one comes
//! first. Either the walker sees the list without the node, or the owner sees the walker, and keeps the node until
//! later. No thread waits for a walker.

use alloc::boxed::Box;
use core::ptr::{self, NonNull};
use core::task::Waker;

use terrace_sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use terrace_sync::cell::UnsafeCell;
use terrace_sync::{heavy, light, ordering, weakened};

use crate::on_owner::OnOwner;
use crate::unwind::contain;

/// How many drivers a walk wakes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wakes {
    One,
    All,
}

const AWAKE: usize = 0;
const ASLEEP: usize = 1;

/// One driver in the list, from its first sleep until it goes.
struct Node {
    state: AtomicUsize,
    /// The node made before this one. Written by the owner.
    next: AtomicPtr<Node>,
    /// The node unlinked before this one. Invariant: only the owner touches it.
    unlinked_before: UnsafeCell<*mut Node>,
    /// Invariant: it is only read while the node is in the list or a walker may have reached it. `free` drops it with the node.
    waker: UnsafeCell<Waker>,
}

/// The sleeping drivers of one executor.
pub struct WaitList {
    /// The newest node. Written by the owner.
    first: AtomicPtr<Node>,
    /// Nodes that are `ASLEEP`; for a look without a walk.
    asleep: AtomicUsize,
    /// Walks in progress.
    walkers: AtomicUsize,
    /// Nodes unlinked and not freed yet. Invariant: only the owner touches it, for one operation at a time.
    unlinked: UnsafeCell<*mut Node>,
}

impl Default for WaitList {
    /// Without a driver.
    fn default() -> Self {
        Self {
            first: AtomicPtr::new(ptr::null_mut()),
            asleep: AtomicUsize::new(0),
            walkers: AtomicUsize::new(0),
            unlinked: UnsafeCell::new(ptr::null_mut()),
        }
    }
}

// SAFETY: methods of `OnOwner` alone change the list and `unlinked`. The rest is atomic, and wakers are Send and Sync.
unsafe impl Send for WaitList {}
// SAFETY: threads share only the atomics, and wakers, which are Sync.
unsafe impl Sync for WaitList {}

impl WaitList {
    /// Whether a driver sleeps; valid after a fence, or on the owner's thread. One relaxed load.
    #[inline]
    pub(crate) fn any(&self) -> bool {
        // Ordering: Relaxed. The caller's fence orders it, or its thread does.
        self.asleep.load(Ordering::Relaxed) != 0
    }

    /// Wakes the sleeping driver with the newest node. Where drivers are nested on one thread it is the innermost one, and
    /// no other can be polled. Lock-free; it allocates and frees nothing. The driver's waker decides what else happens.
    pub(crate) fn wake_one(&self) {
        self.wake(Wakes::One);
    }

    /// Wakes all sleeping drivers, as `wake_one` does one: a driver gets its wake also where a newer one cannot be polled. The walk
    /// ends: a driver that falls asleep again in its course may have a new node, which the owner links at the front, behind the walker.
    /// The caller has queued something before. A driver that is about to sleep sees that, or this thread sees the driver.
    pub fn wake_all(&self) {
        if !weakened!("local-wake-all-fence") {
            // Fence pair: `heavy` in `sleep_unless`.
            light();
        }
        if self.any() {
            self.wake(Wakes::All);
        }
    }

    fn wake(&self, wakes: Wakes) {
        let acquire = ordering!("local-walk-enter-acquire", Acquire);
        // Ordering: Acquire, pairs with the Release in `free_unlinked`: the walk does not reach a node unlinked before.
        self.walkers.fetch_add(1, acquire);
        // Ordering: Acquire, pairs with the Release of the link.
        let mut at = self.first.load(Ordering::Acquire);
        while let Some(node) = NonNull::new(at) {
            // SAFETY: the walk reached it through the list, and is counted, so the owner does not free it before the end.
            let node = unsafe { node.as_ref() };
            // Ordering: Relaxed. The exchange below decides.
            if node.state.load(Ordering::Relaxed) == ASLEEP {
                // Ordering: Release, pairs with the Acquire in `wake_up`. A driver that goes instead of following the wake
                // sees what this thread queued before. (Where `light()` is a true fence, the fence does it, too.)
                let claimed = node.state.compare_exchange(
                    ASLEEP,
                    AWAKE,
                    Ordering::Release,
                    Ordering::Relaxed,
                );
                if claimed.is_ok() {
                    // Ordering: Relaxed. A thread that reads the old value walks in vain, as in
                    // `wake_up`.
                    self.asleep.fetch_sub(1, Ordering::Relaxed);
                    // A panic of the waker must not unwind into a thread that wakes a task, nor out of a destructor.
                    let mut woken = false;
                    contain(|| {
                        // SAFETY: a walker may reach the waker, so it is only read.
                        node.waker.with(|waker| unsafe { (*waker).wake_by_ref() });
                        woken = true;
                    });
                    let one = wakes == Wakes::One || weakened!("local-wake-all-stops");
                    if one && woken {
                        break;
                    }
                    // A waker that panicked may have woken no driver: the walk wakes the next one, too.
                }
            }
            // Ordering: Acquire, pairs with the Release of the link, as for `first`.
            at = node.next.load(Ordering::Acquire);
        }
        let release = ordering!("local-walk-leave-release", Release);
        // Ordering: Release, pairs with the Acquire in `free_unlinked`: the owner frees a node after the walk.
        self.walkers.fetch_sub(1, release);
    }
}

impl<'a> OnOwner<'a, WaitList> {
    /// Makes a node, at the front of the list.
    fn link(self, waker: Waker) -> NonNull<Node> {
        let first = &self.get().first;
        let node = NonNull::from(Box::leak(Box::new(Node {
            state: AtomicUsize::new(AWAKE),
            // Ordering: Relaxed. This thread wrote it.
            next: AtomicPtr::new(first.load(Ordering::Relaxed)),
            unlinked_before: UnsafeCell::new(ptr::null_mut()),
            waker: UnsafeCell::new(waker),
        })));
        // Ordering: Release, pairs with the Acquire of walkers: they see the content of this node and of those behind it.
        first.store(node.as_ptr(), Ordering::Release);
        node
    }

    /// Gives up a node, and frees what can be freed. Runs destructors of wakers last.
    ///
    /// # Safety
    /// The node is in this list, is awake, and the caller uses it no more.
    unsafe fn unlink(self, node: NonNull<Node>) {
        // SAFETY: the node is in this list.
        let link = unsafe { self.link_before(node.as_ptr()) };
        // SAFETY: the node is in the list, so it is not freed.
        let left = unsafe { node.as_ref() };
        // Ordering: Relaxed. This thread wrote it.
        let next = left.next.load(Ordering::Relaxed);
        // Ordering: Release, as the store that this one replaces: walkers see the content of the nodes behind.
        link.store(next, Ordering::Release);
        self.get().unlinked.with_mut(|unlinked| {
            // SAFETY: this is the owner's thread, and `replace` runs nothing else.
            let before = unsafe { unlinked.replace(node.as_ptr()) };
            // SAFETY: this is the owner's thread, and no other borrow of this field is alive.
            left.unlinked_before.with_mut(|to| unsafe { *to = before });
        });
        self.free_unlinked();
    }

    /// The link that points at `node`.
    ///
    /// # Safety
    /// The node is in the list.
    unsafe fn link_before(self, node: *mut Node) -> &'a AtomicPtr<Node> {
        let mut link = &self.get().first;
        loop {
            // Ordering: Relaxed. This thread wrote it.
            let at = link.load(Ordering::Relaxed);
            if at == node {
                return link;
            }
            // SAFETY: `node` is further on, so this one is not null. It is in the list, so it is not freed.
            link = unsafe { &(*at).next };
        }
    }

    /// Frees the unlinked nodes, if no thread walks.
    fn free_unlinked(self) {
        // Ordering: Release, pairs with the Acquire of a walk that begins: it sees the list as it is now. Acquire, pairs with
        // the Release of a walk that ended. An exchange, so that the two are steps of one order.
        let walked = self
            .walkers
            .compare_exchange(0, 0, Ordering::AcqRel, Ordering::Relaxed);
        if walked.is_err() && !weakened!("local-free-walked") {
            return;
        }
        let first = self.get().unlinked.with_mut(|unlinked| {
            // SAFETY: this is the owner's thread, and `replace` runs nothing else.
            unsafe { unlinked.replace(ptr::null_mut()) }
        });
        // SAFETY: these nodes are in no list, and no walker that could have reached them is left.
        unsafe { free(first, |node| *node.unlinked_before.get_mut()) };
    }
}

/// A driver's membership in a [`WaitList`]. Bound to the owner's thread.
pub struct Waiter<'a> {
    list: OnOwner<'a, WaitList>,
    /// In the list from the first sleep on. This waiter alone has it.
    node: Option<NonNull<Node>>,
    /// Whether the driver has announced a sleep, and has not been awake since.
    asleep: bool,
}

impl<'a> Waiter<'a> {
    /// One that has not slept yet.
    #[inline]
    #[must_use = "it is on no list until it sleeps"]
    pub fn new(list: OnOwner<'a, WaitList>) -> Self {
        Self {
            list,
            node: None,
            asleep: false,
        }
    }

    /// Announces a sleep that ends when a thread wakes `waker`. Takes a new node, which allocates, at the first sleep and where
    /// the waker is another one. The caller fences and looks at its queues once more.
    fn sleep(&mut self, waker: &Waker) {
        self.wake_up();
        let same = self.node.filter(|node| {
            // SAFETY: this waiter's node is in the list, so it is not freed.
            let node = unsafe { node.as_ref() };
            // SAFETY: the waker of a node in the list is only read.
            node.waker.with(|kept| unsafe { (*kept).will_wake(waker) })
        });
        let node = same.unwrap_or_else(|| {
            // Both the clone and the destructor of the old waker are users' code: they come before the announcement. A
            // clone that panics has changed nothing. The destructor finds the new node in place.
            let new = self.list.link(waker.clone());
            if let Some(old) = self.node.replace(new) {
                // SAFETY: the node was in the list and awake, and this waiter has forgotten it.
                unsafe { self.list.unlink(old) };
            }
            new
        });
        // Ordering: Relaxed. The caller's fence orders it. A wake that overtakes it wraps the number for a moment.
        self.list.asleep.fetch_add(1, Ordering::Relaxed);
        // SAFETY: this waiter's node is in the list, so it is not freed.
        let node = unsafe { node.as_ref() };
        // Ordering: Relaxed, ordered by the same fence.
        node.state.store(ASLEEP, Ordering::Relaxed);
        self.asleep = true;
    }

    /// Sleeps, unless `found`, which looks once more at what other threads queue. Returns whether it sleeps.
    pub fn sleep_unless(&mut self, waker: &Waker, found: impl FnOnce() -> bool) -> bool {
        self.sleep(waker);
        if !weakened!("local-sleep-fence") {
            // Fence pair: `light` in `wake_all`, and after a push to a mailbox. Either the pusher sees this driver asleep, or `found`
            // sees the item.
            heavy();
        }
        let found = found();
        if found {
            self.wake_up();
        }
        !found
    }

    /// The driver is awake, and looks at its queues before it sleeps again or goes.
    #[inline]
    pub fn wake_up(&mut self) {
        if let (true, Some(node)) = (self.asleep, self.node) {
            self.asleep = false;
            self.end_sleep(node);
        }
    }

    fn end_sleep(&self, node: NonNull<Node>) {
        // SAFETY: this waiter's node is in the list, so it is not freed.
        let node = unsafe { node.as_ref() };
        let acquire = ordering!("local-wake-up-acquire", Acquire);
        // Ordering: Acquire, pairs with the Release in `wake_one`: this thread sees the items that the other one
        // queued.
        if node.state.swap(AWAKE, acquire) == ASLEEP {
            // Ordering: Relaxed. A thread that reads the old value walks in vain.
            self.list.asleep.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Waiter<'_> {
    #[inline]
    fn drop(&mut self) {
        self.wake_up();
        if let Some(node) = self.node {
            // SAFETY: this waiter's node is in the list and awake, and this is its last use.
            unsafe { self.list.unlink(node) };
        }
    }
}

/// Frees a chain of nodes. Runs the destructors of their wakers, which are users' code; their panics stay here.
///
/// # Safety
/// The nodes were leaked boxes, and nothing else refers to them.
unsafe fn free(mut at: *mut Node, next: impl Fn(&mut Node) -> *mut Node) {
    while !at.is_null() {
        // SAFETY: a leaked box, as the caller promises, and each node is in the chain once.
        let mut node = unsafe { Box::from_raw(at) };
        at = next(&mut node);
        // An access that loom sees: it must not meet that of a walker.
        node.waker.with_mut(|_| ());
        contain(|| drop(node));
    }
}

impl Drop for WaitList {
    fn drop(&mut self) {
        let unlinked = *self.unlinked.get_mut();
        // SAFETY: `&mut self` excludes walkers, and waiters, which borrow this list.
        unsafe { free(unlinked, |node| *node.unlinked_before.get_mut()) };
        let first = self.first.with_mut(|first| *first);
        // SAFETY: no waiter is left, so a node that is still linked was leaked with its waiter.
        unsafe { free(first, |node| node.next.with_mut(|next| *next)) };
    }
}
