//! Restricted waits: a worker sleeps in the middle of a job, for its own work only.

use terrace_sync::atomic::Ordering;
use terrace_sync::{heavy, ordering, thread, weakened};

use crate::idle::{Idle, Work};
use crate::outcome::Restricted;
use crate::word;

impl Idle {
    /// Sleeps until [`wake_worker`](Self::wake_worker), or until this worker is needed as a last resort.
    ///
    /// The worker owns no token. It waits for `ready` and [`Work::has_private_work`]: a thread that makes either true calls
    /// `wake_worker` afterwards. The caller loops: every outcome means to look again.
    ///
    /// Cost: one read-modify-write, one heavy fence, one scan, one thread park.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_park::{Idle, Restricted};
    ///
    /// # struct Nothing;
    /// # impl terrace_park::Work for Nothing {
    /// #     fn takeable(&self) -> bool { false }
    /// #     fn has_private_work(&self, _: usize) -> bool { false }
    /// # }
    /// let idle = Idle::new(1);
    /// let token = idle.enter(0);
    /// idle.stop_search(token, &Nothing);
    /// // What it waits for is there.
    /// assert_eq!(idle.wait_restricted(0, &Nothing, || true), Restricted::Ready);
    /// idle.leave(0, None, &Nothing);
    /// ```
    pub fn wait_restricted(
        &self,
        worker: usize,
        work: &impl Work,
        ready: impl Fn() -> bool,
    ) -> Restricted {
        let (group, place) = self.groups.place(worker);
        debug_assert!(
            group.live() & (1 << place.bit) != 0,
            "a worker waits that is not live: publishers would not count it among those that can help"
        );
        // Ordering: AcqRel as for every change of the word; the fence orders it before what follows.
        let after = group.add(word::restricted_bit(place.bit), Ordering::AcqRel);
        debug_assert!(after.is_restricted(place.bit), "a worker waits twice");
        // Fence pair: `light` in wake_worker and publish: either they see our bit, or we see what they
        // wrote. And `heavy` here: of two workers that go to wait, one sees the other's bit.
        let early = weakened!("park-wait-early-load") && !self.all_restricted();
        unless_weakened!("park-wait-fence", heavy());
        let rescans = !weakened!("park-wait-rescan");
        let found = if rescans && (ready() || work.has_private_work(worker)) {
            Restricted::Ready
        } else if !early && self.last_resort(work) {
            Restricted::LastResort
        } else {
            // Ordering: Acquire pairs with the Release of the thread that cleared the bit.
            while group
                .load(ordering!("park-wait-acquire", Acquire))
                .is_restricted(place.bit)
            {
                thread::park();
            }
            return Restricted::Woken;
        };
        // Another thread may have cleared the bit first. This worker is up either way, and no token goes with an R bit.
        // Ordering: Acquire pairs with the Release of the thread that was faster.
        group.clear_restricted(place.bit, Ordering::AcqRel);
        found
    }

    /// Ends the restricted wait of another worker, or of the holder of another place ([`hold`](Self::hold)). The woken thread looks
    /// whether it is the last resort. Returns whether there was one.
    ///
    /// A worker or holder that is the last resort and cannot help calls this with the number of its place. It waits itself then:
    /// otherwise the other one would see a thread awake, and sleep on. The turn goes to the next place in the order of numbers, so it
    /// reaches all of them.
    ///
    /// Cost: one compare-and-swap or lock, and the wake.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_park::{Idle, Restricted};
    ///
    /// # struct Nothing;
    /// # impl terrace_park::Work for Nothing {
    /// #     fn takeable(&self) -> bool { false }
    /// #     fn has_private_work(&self, _: usize) -> bool { false }
    /// # }
    /// let idle = Idle::new(2);
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| {
    ///         let token = idle.enter(1);
    ///         idle.stop_search(token, &Nothing);
    ///         assert_eq!(idle.wait_restricted(1, &Nothing, || false), Restricted::Woken);
    ///         idle.leave(1, None, &Nothing);
    ///     });
    ///     while !idle.any_restricted() {
    ///         std::thread::yield_now();
    ///     }
    ///     assert!(idle.release_other(0));
    /// });
    /// ```
    pub fn release_other(&self, worker: usize) -> bool {
        let (_, place) = self.groups.place(worker);
        let above = !((2 << place.bit) - 1);
        let below = (1 << place.bit) - 1;
        let groups = self.groups.iter().count();
        (0..=groups).any(|step| {
            let group = self.groups.get((place.group + step) % groups);
            let allowed = match step {
                0 => above,
                _ if step == groups => below,
                _ => u32::MAX,
            };
            group.end_one_wait(allowed).is_some()
        })
    }

    /// Whether work is visible while every worker that could take it waits, this one included.
    pub(crate) fn last_resort(&self, work: &impl Work) -> bool {
        !weakened!("park-last-resort") && self.all_restricted() && work.takeable()
    }
}
