//! [`Lender`]: the waker of a first poll whose task has no cell for wakers yet.
//!
//! The poll borrows the waker. Only a clone, or a wake, needs memory of its own: a `Relay`, made at the first of them. If the
//! poll is pending, its caller makes the task, and settles the relay: from then on it passes wakes on.
//!
//! | word              | what is so                                                        | a wake             | `settle`                        |
//! |-------------------|-------------------------------------------------------------------|--------------------|---------------------------------|
//! | 0                 | the poll goes on, or has ended the task                           | sets `WOKEN`       | sets `SETTLED`                  |
//! | `WOKEN`           | the same, and a waker has woken the task                          | changes nothing    | sets `SETTLED`, wakes the task  |
//! | `SETTLED`, with or without `WOKEN` | the relay has the waker of the task              | wakes the task     | –                               |
//!
//! Of a wake and `settle`, one changes the word first. If it is the wake, `settle` sees `WOKEN` and wakes. Else the wake sees
//! `SETTLED` and passes itself on. So each wake reaches the task, and wakes of the first poll reach it once. A task that ended in
//! its first poll never settles the relay, and wakes go nowhere.

use core::mem::ManuallyDrop;
use core::task::{RawWaker, RawWakerVTable, Waker};

use terrace_sync::atomic::AtomicUsize;
use terrace_sync::cell::UnsafeCell;
use terrace_sync::{Arc, OnceLock, ordering, weakened};

/// A waker has woken the task before the relay was settled.
const WOKEN: usize = 1;
/// The relay has the waker of the task.
const SETTLED: usize = 2;

/// What the clones of a lent waker share.
#[derive(Default)]
struct Relay {
    word: AtomicUsize,
    /// The task's waker. Invariant: the thread that settles writes it before `SETTLED`. Later it is read only.
    task: UnsafeCell<Option<Waker>>,
}

// SAFETY: a waker is Send, and the word is atomic.
unsafe impl Send for Relay {}
// SAFETY: `SETTLED` keeps the one write of `task` and its reads apart, and a waker is Sync.
unsafe impl Sync for Relay {}

impl Relay {
    /// A clone wakes the task.
    fn wake(&self) {
        let acquire = ordering!("relay-wake-acquire", Acquire);
        // Ordering: Acquire, pairs with the Release in `settle`: the waker is there.
        if self.word.load(acquire) & SETTLED == 0 {
            let both = ordering!("relay-wake-order", AcqRel);
            // Ordering: AcqRel. Release hands what came before the wake to `settle`, and so to the poll that follows. Acquire is
            // that of the load.
            if self.word.fetch_or(WOKEN, both) & SETTLED == 0 {
                return;
            }
        }
        self.pass_on();
    }

    /// The poll was pending: this is the waker of its task.
    fn settle(&self, task: Waker) {
        self.task.with_mut(|slot| {
            // SAFETY: `SETTLED` is not set, so no other thread touches the waker, and this is called once.
            unsafe { *slot = Some(task) };
        });
        let both = ordering!("relay-settle-order", AcqRel);
        // Ordering: AcqRel. Release hands on the waker. Acquire takes over what came before the wakes so far.
        let before = self.word.fetch_or(SETTLED, both);
        let woken = before & WOKEN != 0 && !weakened!("relay-wake-lost");
        if woken || weakened!("relay-wake-twice") {
            self.pass_on();
        }
    }

    /// Wakes the task. The caller has seen `SETTLED`, or has set it.
    fn pass_on(&self) {
        self.task.with(|task| {
            // SAFETY: `SETTLED` is set, and the caller has seen it with Acquire or set it. So the write is over.
            let task = unsafe { &*task };
            if let Some(task) = task {
                task.wake_by_ref();
            }
        });
    }
}

/// Lends the waker of one poll.
#[derive(Default)]
pub struct Lender {
    /// Threads that share the lent waker may race to make it.
    relay: OnceLock<Arc<Relay>>,
}

impl Lender {
    /// The waker for the poll. It is not used beyond `self`. Its clones may be.
    #[must_use = "a lent waker must not outlive its relay"]
    #[inline]
    pub fn lend(&self) -> ManuallyDrop<Waker> {
        let data = core::ptr::from_ref(self).cast();
        // SAFETY: the functions of the table keep the contract of `RawWaker` while `self` is in place. The waker is not dropped.
        ManuallyDrop::new(unsafe { Waker::from_raw(RawWaker::new(data, &LENT)) })
    }

    /// The poll was pending, and `task` is the waker of its task. Called once. Clones `task` if the poll has cloned the lent waker,
    /// or woken it.
    pub fn settle(&mut self, task: &Waker) {
        if let Some(relay) = self.relay.get() {
            relay.settle(task.clone());
        }
    }

    #[cold]
    fn relay(&self) -> &Arc<Relay> {
        self.relay.get_or_init(Arc::default)
    }
}

/// Of a lent waker: the address of its lender.
static LENT: RawWakerVTable = RawWakerVTable::new(clone_lent, wake_lent, wake_lent, |_| {});

/// Of a clone: the address of the relay, with a counted reference.
static CLONE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, release);

unsafe fn clone_lent(data: *const ()) -> RawWaker {
    // SAFETY: called through the table, so the lender is in place.
    let lender = unsafe { &*data.cast::<Lender>() };
    let relay = Arc::into_raw(Arc::clone(lender.relay()));
    RawWaker::new(relay.cast(), &CLONE)
}

unsafe fn wake_lent(data: *const ()) {
    // SAFETY: called through the table, so the lender is in place.
    let lender = unsafe { &*data.cast::<Lender>() };
    // A planted fault: without a clone no relay.
    if weakened!("relay-lent-wake-lost") && lender.relay.get().is_none() {
        return;
    }
    lender.relay().wake();
}

/// The relay of a clone. The reference is the clone's: the caller does not drop the result unless it takes that over.
///
/// # Safety
/// `data` is that of a waker of the table [`CLONE`], in use.
unsafe fn relay_of(data: *const ()) -> ManuallyDrop<Arc<Relay>> {
    // SAFETY: `clone_lent` took the address from an `Arc`, and the waker has a reference.
    ManuallyDrop::new(unsafe { Arc::from_raw(data.cast()) })
}

unsafe fn clone(data: *const ()) -> RawWaker {
    // SAFETY: called through the table.
    let relay = unsafe { relay_of(data) };
    core::mem::forget(Arc::clone(&relay));
    RawWaker::new(data, &CLONE)
}

unsafe fn wake(data: *const ()) {
    // SAFETY: called through the table.
    let relay = unsafe { relay_of(data) };
    // By value: it goes also if the wake unwinds.
    let relay = ManuallyDrop::into_inner(relay);
    relay.wake();
    if weakened!("relay-wake-keeps") {
        core::mem::forget(relay);
    }
}

unsafe fn wake_by_ref(data: *const ()) {
    // SAFETY: called through the table.
    unsafe { relay_of(data) }.wake();
}

unsafe fn release(data: *const ()) {
    // SAFETY: called through the table.
    let relay = unsafe { relay_of(data) };
    drop(ManuallyDrop::into_inner(relay));
}
