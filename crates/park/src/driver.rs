//! [`Driver`]: an async driver's handle.

use std::task::Waker;

use terrace_sync::{heavy, weakened};

use crate::contain::discard;
use crate::idle::Idle;

/// One async driver's place. Made awake; belongs to the future that drives.
///
/// Where the program forgets a driver, the pool goes on counting it, and a publisher may spend one notification on it. A driver that a
/// publisher has notified, and that no thread polls or drops, delays that item until the next publish. Beside other drivers, publishers
/// notify another one when the publishes since the last answer reach a power of two, or a multiple of 64.
///
/// # Examples
///
/// ```
/// use std::task::Waker;
/// use terrace_park::{Idle, Wake};
///
/// let idle = Idle::new(0);
/// let mut driver = idle.driver();
/// driver.sleep(Waker::noop());
/// // Here it would look once more at everything.
/// assert_eq!(idle.publish(), Wake::Driver);
/// assert!(driver.wake(), "it was notified");
/// ```
#[derive(Debug)]
#[must_use = "its place is given back when it is dropped"]
pub struct Driver<'i> {
    idle: &'i Idle,
    /// The sleep that it has announced and not ended. A publisher may have ended it.
    sleep: Option<u64>,
}

impl Idle {
    /// A place for an async driver: a future that takes any work of this `Idle` while it is polled.
    ///
    /// Cost: one lock, one read-modify-write, and one more a group for the first. It allocates where there were never so many drivers.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::task::Waker;
    /// use terrace_park::{Idle, Wake};
    ///
    /// let idle = Idle::new(0);
    /// let mut driver = idle.driver();
    /// driver.sleep(Waker::noop());
    /// // There is no worker that could take the item.
    /// assert_eq!(idle.publish(), Wake::Driver);
    /// assert!(driver.wake());
    /// ```
    pub fn driver(&self) -> Driver<'_> {
        // `W` has to be in the words before the driver can sleep. If a worker gives up the last token without seeing
        // `W`, it does so before the driver's fence. So the driver's own look sees all that publishers published until
        // then.
        let widen = || self.groups.widen();
        self.drivers.announced.get_or_init(widen);
        self.drivers.enter();
        Driver {
            idle: self,
            sleep: None,
        }
    }
}

impl Driver<'_> {
    /// Announces the sleep: from now on publishers may call `waker`. Ends with a heavy fence.
    ///
    /// The caller has ended its last sleep by [`wake`](Self::wake). It then looks once more at everything it could be woken for, and calls
    /// `wake` if it sees anything.
    ///
    /// Cost: one lock, one heavy fence, a clone of the waker.
    ///
    /// # Panics
    /// If the waker does when it is cloned; nothing has changed then. A panic of an older waker's destructor is contained.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::task::{Wake as _, Waker};
    /// # use terrace_sync::Arc;
    /// # use terrace_sync::atomic::{AtomicUsize, Ordering::SeqCst};
    /// # #[derive(Default)]
    /// # struct Calls(AtomicUsize);
    /// # impl std::task::Wake for Calls {
    /// #     fn wake(self: Arc<Self>) { self.0.fetch_add(1, SeqCst); }
    /// # }
    /// use terrace_park::Idle;
    ///
    /// let (idle, calls) = (Idle::new(0), Arc::new(Calls::default()));
    /// let mut driver = idle.driver();
    /// driver.sleep(&Waker::from(calls.clone()));
    /// // The driver looks once more here. It sees nothing, and its future returns `Pending`.
    /// idle.publish();
    /// assert_eq!(calls.0.load(SeqCst), 1);
    /// ```
    pub fn sleep(&mut self, waker: &Waker) {
        let waker = waker.clone();
        // A caller has ended its last sleep. One that has not may have been notified since: the look after this serves that.
        let _ = self.wake();
        self.sleep = Some(self.idle.drivers.put_to_sleep(waker));
        // Fence pair: `light` in publish. Either the publisher sees that a driver is asleep, or the driver sees its item.
        unless_weakened!("park-driver-fence", heavy());
    }

    /// Calls `look`, which asks again and again for a short time whether anything is there. Until it returns, no
    /// publisher notifies a driver. Returns whether it called `look`: the driver then owes a look at everything, and a
    /// publish if it leaves something behind.
    ///
    /// `look` must not run users' code, which might not return. At most half of the drivers search at once; drivers
    /// that are no longer polled count, too. A driver that is alone never searches: it would spare no other a wake.
    ///
    /// Cost: two read-modify-writes beside what `look` does.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::task::Waker;
    /// use terrace_park::{Idle, Wake};
    ///
    /// let idle = Idle::new(0);
    /// let (mut one, two) = (idle.driver(), idle.driver());
    /// one.sleep(Waker::noop());
    /// let searched = two.search(|| {
    ///     // The driver that searches will find the item, so the publish wakes no other.
    ///     assert_eq!(idle.publish(), Wake::Covered);
    /// });
    /// assert!(searched);
    /// assert!(!one.wake());
    /// ```
    pub fn search(&self, look: impl FnOnce()) -> bool {
        let drivers = &self.idle.drivers;
        let Some(searching) = drivers.try_search() else {
            return false;
        };
        look();
        drop(searching);
        true
    }

    /// Ends the sleep. The future calls it whenever it is polled. Returns whether a publisher had notified this driver: it
    /// then owes a look at everything, and a publish if it leaves something behind.
    ///
    /// Cost: nothing if it did not sleep; else one lock, and one read-modify-write if it was notified.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::task::Waker;
    /// use terrace_park::Idle;
    ///
    /// let idle = Idle::new(0);
    /// let mut driver = idle.driver();
    /// driver.sleep(Waker::noop());
    /// assert!(!driver.wake(), "no publish has called its waker");
    /// driver.sleep(Waker::noop());
    /// idle.publish();
    /// assert!(driver.wake());
    /// ```
    pub fn wake(&mut self) -> bool {
        let Some(sleep) = self.sleep.take() else {
            return false;
        };
        // The waker is dropped with the lock released.
        let waker = self.idle.drivers.get_up(sleep);
        let notified = waker.is_none();
        discard(waker);
        if notified {
            unless_weakened!("park-driver-answer", self.idle.drivers.answer());
        }
        notified
    }
}

impl Drop for Driver<'_> {
    fn drop(&mut self) {
        let notified = self.wake();
        self.idle.drivers.leave();
        if notified && !weakened!("park-driver-pass-on") {
            self.idle.publish();
        }
    }
}
