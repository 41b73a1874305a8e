//! Models of `fork::ForkDeque`: the owner or one thief gets each job, and sees what it refers to.
//!
//! Both halves of the pair of fences are full fences here: the models search where they stand. A job is a box whose content the
//! pusher writes, so that loom reports a taker that does not see it.

use terrace_loom_tests::assert_each_once;
use terrace_queue::fork::{Considered, Depth, ForkDeque, Gives, Offer, Owner, Pace, Popped, Word};
use terrace_sync::atomic::{AtomicU32, Ordering};
use terrace_sync::cell::UnsafeCell;
use terrace_sync::{Arc, FenceKind, model, thread};

/// A frame: what a job refers to.
struct Frame(UnsafeCell<u32>);

/// A job is the index of its frame.
type Deque = ForkDeque<usize>;

/// A deque, and the frames of its jobs.
struct Shared {
    deque: Box<Deque>,
    frames: [Frame; 4],
}

// SAFETY: the owner writes a frame before it pushes the job, and the thread that gets the job reads it. loom checks this.
unsafe impl Sync for Shared {}
// SAFETY: it holds numbers.
unsafe impl Send for Shared {}

impl Shared {
    fn new(form: FenceKind) -> Arc<Self> {
        Arc::new(Self {
            deque: Deque::boxed_with(form),
            frames: std::array::from_fn(|_| Frame(UnsafeCell::new(u32::MAX))),
        })
    }

    fn owner(&self) -> Owner<'_, usize> {
        // SAFETY: the body of each model makes the only handle, on its own thread.
        unsafe { self.deque.owner() }
    }

    /// Writes the frame of a job, and pushes it. The owner considers every time, and offers openly.
    fn fork(&self, job: u32) -> Depth {
        self.fork_at(job, 1, Offer::Open)
    }

    /// The same without considering, but in a first push.
    fn fork_without_gift(&self, job: u32) -> Depth {
        self.fork_at(job, 4, Offer::Quiet)
    }

    /// The same in a push that gives the job away, unless one is given already.
    fn give(&self, job: u32) -> Depth {
        self.fork_by(
            job,
            Pace {
                pushes: 1,
                offer: Offer::Quiet,
                gives: Gives::Unasked,
            },
        )
    }

    fn fork_at(&self, job: u32, pushes: u32, offer: Offer) -> Depth {
        self.fork_by(
            job,
            Pace {
                pushes,
                offer,
                gives: Gives::Asked,
            },
        )
    }

    fn fork_by(&self, job: u32, pace: Pace) -> Depth {
        self.write(job);
        let pace = |_: Considered| pace;
        let pushed = self.owner().push(job as usize, pace);
        pushed.expect("there is room")
    }

    fn write(&self, job: u32) {
        self.frames[job as usize].0.with_mut(|frame| {
            // SAFETY: the job is not pushed yet, or was popped.
            unsafe { *frame = job }
        });
    }

    /// The number in the frame of a job that the caller has got.
    fn run(&self, job: usize) -> u32 {
        self.frames[job].0.with(|frame| {
            // SAFETY: the caller got the job, so the owner has written the frame.
            unsafe { *frame }
        })
    }

    /// Pops the last job, `job` itself if it was not stolen.
    fn join(&self, at: Depth, job: u32) -> Option<u32> {
        // SAFETY: the models pop in the reverse order of their pushes.
        match unsafe { self.owner().pop(at) } {
            Popped::Mine => Some(self.run(job as usize)),
            Popped::Stolen => None,
        }
    }
}

/// A thief of the deque: does something to it, and returns the jobs that it got.
fn thief(
    shared: &Arc<Shared>,
    act: impl Fn(&Deque) -> Vec<usize> + Send + 'static,
) -> thread::JoinHandle<Vec<u32>> {
    let shared = Arc::clone(shared);
    thread::spawn(move || {
        let jobs = act(&shared.deque);
        jobs.into_iter().map(|job| shared.run(job)).collect()
    })
}

fn forced(deque: &Deque) -> Vec<usize> {
    deque.force().into_iter().collect()
}

/// The owner pops two jobs while two thieves take by force.
fn two_pops_and_two_thieves(form: FenceKind) {
    model(move || {
        let shared = Shared::new(form);
        let outer = shared.fork_without_gift(0);
        let inner = shared.fork_without_gift(1);
        let thieves = [thief(&shared, forced), thief(&shared, forced)];
        let mut taken = Vec::new();
        taken.extend(shared.join(inner, 1));
        taken.extend(shared.join(outer, 0));
        for thief in thieves {
            taken.extend(thief.join().expect("ends"));
        }
        assert_each_once(taken, 2);
        assert!(shared.deque.is_empty());
    });
}

/// The owner pops twice while two thieves steal: each job goes to one of the three.
///
/// Fails under `sync-steal-heavy-removed`, `sync-steal-light-removed`, `queue-fork-heavy-early`, `queue-fork-heavy-late` and
/// `queue-fork-last-unchecked`.
#[test]
fn fork_two_pops_and_two_thieves() {
    two_pops_and_two_thieves(FenceKind::Asymmetric);
}

/// The same where the owner's own fence is a full one, which the mark of `top` asks for. The other one is none then.
///
/// Fails under `queue-fork-mark-ignored`.
#[test]
fn fork_two_pops_and_two_thieves_marked() {
    two_pops_and_two_thieves(FenceKind::Symmetric);
}

/// A thief sees the frame of a job that was pushed after it started.
///
/// Fails under `queue-fork-push-relaxed`.
#[test]
fn fork_push_and_force() {
    model(|| {
        let shared = Shared::new(FenceKind::Asymmetric);
        let thief = thief(&shared, forced);
        let at = shared.fork_without_gift(0);
        let mut taken = thief.join().expect("ends");
        taken.extend(shared.join(at, 0));
        assert_each_once(taken, 1);
    });
}

/// A thief sees the frame of the job that it takes, also if an older one was there when it looked first, and if a pop wrote the
/// `bottom` that it sees.
///
/// Fails under `queue-fork-bottom-relaxed` and `queue-fork-pop-relaxed`.
#[test]
fn fork_force_behind_a_gift() {
    model(|| {
        let shared = Shared::new(FenceKind::Asymmetric);
        assert!(shared.deque.ask());
        let outer = shared.fork_at(0, 1, Offer::Quiet);
        let thief = thief(&shared, forced);
        // Job 0 is given away: now 1 is the oldest.
        let middle = shared.fork(1);
        let inner = shared.fork(2);
        let mut taken: Vec<u32> = shared.join(inner, 2).into_iter().collect();
        taken.extend(thief.join().expect("ends"));
        taken.extend(shared.join(middle, 1));
        taken.extend(shared.join(outer, 0));
        assert_each_once(taken, 3);
    });
}

/// The owner takes its last job and pushes another one into the same slot, while a thief is between its look and its claim.
///
/// Fails under `queue-fork-last-epoch` and `queue-fork-slot-late`.
#[test]
fn fork_slot_is_used_again_after_the_last_pop() {
    model(|| {
        let shared = Shared::new(FenceKind::Asymmetric);
        let first = shared.fork_without_gift(0);
        let thief = thief(&shared, forced);
        let mut taken: Vec<u32> = shared.join(first, 0).into_iter().collect();
        let second = shared.fork_without_gift(1);
        taken.extend(shared.join(second, 1));
        taken.extend(thief.join().expect("ends"));
        assert_each_once(taken, 2);
    });
}

/// The owner finds its job stolen and pushes another one into the same slot, while another thief is between its look and its claim.
///
/// Fails under `queue-fork-stolen-epoch`.
#[test]
fn fork_slot_is_used_again_after_a_theft() {
    model(|| {
        let shared = Shared::new(FenceKind::Asymmetric);
        let first = shared.fork_without_gift(0);
        let thieves = [thief(&shared, forced), thief(&shared, forced)];
        let mut taken: Vec<u32> = shared.join(first, 0).into_iter().collect();
        let second = shared.fork_without_gift(1);
        taken.extend(shared.join(second, 1));
        for thief in thieves {
            taken.extend(thief.join().expect("ends"));
        }
        assert_each_once(taken, 2);
    });
}

/// The owner pops a job and pushes another one into the same slot in the same epoch, while thieves come down to that slot.
///
/// Fails under `sync-steal-heavy-removed`, `sync-steal-light-removed`, `queue-fork-heavy-early` and `queue-fork-heavy-late`.
#[test]
fn fork_slot_is_used_again_in_one_epoch() {
    model(|| {
        let shared = Shared::new(FenceKind::Asymmetric);
        let outer = shared.fork_without_gift(0);
        let first = shared.fork_without_gift(1);
        let thieves = [thief(&shared, forced), thief(&shared, forced)];
        let mut taken: Vec<u32> = shared.join(first, 1).into_iter().collect();
        let second = shared.fork_without_gift(2);
        taken.extend(shared.join(second, 2));
        taken.extend(shared.join(outer, 0));
        for thief in thieves {
            taken.extend(thief.join().expect("ends"));
        }
        assert_each_once(taken, 3);
    });
}

/// A thief sees the frame of a job of a push in which the owner does not consider.
///
/// Fails under `queue-fork-push-relaxed`.
#[test]
fn fork_push_without_considering_and_force() {
    model(|| {
        let shared = Shared::new(FenceKind::Asymmetric);
        let outer = shared.fork_without_gift(0);
        let thief = thief(&shared, |deque| {
            deque.force().into_iter().chain(deque.force()).collect()
        });
        let inner = shared.fork_without_gift(1);
        let mut taken = thief.join().expect("ends");
        taken.extend(shared.join(inner, 1));
        taken.extend(shared.join(outer, 0));
        assert_each_once(taken, 2);
    });
}

/// A thief asks, and takes what it is given, while the owner pushes and pops: the gift goes to the thief or back.
///
/// Fails under `queue-fork-give-relaxed`, `queue-fork-take-relaxed` and `queue-fork-back-unchecked`.
#[test]
fn fork_gift_goes_back_or_is_taken() {
    model(|| {
        let shared = Shared::new(FenceKind::Asymmetric);
        assert!(shared.deque.ask());
        let thief = thief(&shared, |deque| deque.take_gift().into_iter().collect());
        let at = shared.fork(0);
        let mut taken: Vec<u32> = shared.join(at, 0).into_iter().collect();
        taken.extend(thief.join().expect("ends"));
        assert_each_once(taken, 1);
    });
}

/// One thief takes by force while the owner gives to another.
///
/// Fails under `queue-fork-give-early`.
#[test]
fn fork_gift_and_force() {
    model(|| {
        let shared = Shared::new(FenceKind::Asymmetric);
        assert!(shared.deque.ask());
        let forcing = thief(&shared, forced);
        let asking = thief(&shared, |deque| deque.take_gift().into_iter().collect());
        let outer = shared.fork(0);
        let inner = shared.fork(1);
        let mut taken: Vec<u32> = shared.join(inner, 1).into_iter().collect();
        taken.extend(shared.join(outer, 0));
        taken.extend(forcing.join().expect("ends"));
        taken.extend(asking.join().expect("ends"));
        assert_each_once(taken, 2);
    });
}

/// A thread asks while a gift lies there.
///
/// Fails under `queue-fork-ask-unchecked`.
#[test]
fn fork_request_keeps_a_gift() {
    model(|| {
        let shared = Shared::new(FenceKind::Asymmetric);
        assert!(shared.deque.ask());
        let asking = thief(&shared, |deque| {
            deque.ask();
            Vec::new()
        });
        let at = shared.fork(0);
        asking.join().expect("ends");
        let mut taken: Vec<usize> = shared.deque.take_gift().into_iter().collect();
        taken.extend(shared.join(at, 0).map(|job| job as usize));
        assert_eq!(taken, [0], "the job is the owner's, or given");
    });
}

/// The owner takes a gift back and gives another job of the same index, while a thief is between its look and its claim.
///
/// Fails under `queue-fork-gift-uncounted`.
#[test]
fn fork_gift_of_the_same_index() {
    model(|| {
        let shared = Shared::new(FenceKind::Asymmetric);
        assert!(shared.deque.ask());
        let first = shared.fork(0);
        let thief = thief(&shared, |deque| deque.take_gift().into_iter().collect());
        let mut taken: Vec<u32> = shared.join(first, 0).into_iter().collect();
        shared.deque.ask();
        let second = shared.fork(1);
        taken.extend(shared.join(second, 1));
        taken.extend(thief.join().expect("ends"));
        assert_each_once(taken, 2);
    });
}

/// The owner gives unasked, twice, while a thief asks and takes: a gift that no thread has taken stays.
///
/// Fails under `queue-fork-give-over`.
#[test]
fn fork_unasked_gifts_come_one_by_one() {
    model(|| {
        let shared = Shared::new(FenceKind::Asymmetric);
        let thief = thief(&shared, |deque| {
            deque.ask();
            deque.take_gift().into_iter().collect()
        });
        let outer = shared.give(0);
        let inner = shared.give(1);
        let mut taken: Vec<u32> = shared.join(inner, 1).into_iter().collect();
        taken.extend(shared.join(outer, 0));
        taken.extend(thief.join().expect("ends"));
        assert_each_once(taken, 2);
    });
}

/// The owner gives unasked at one index again and again, while one thief takes a gift and another one a job by force.
#[test]
fn fork_unasked_gift_and_force() {
    model(|| {
        let shared = Shared::new(FenceKind::Asymmetric);
        let forcing = thief(&shared, forced);
        let taking = thief(&shared, |deque| deque.take_gift().into_iter().collect());
        let first = shared.give(0);
        let mut taken: Vec<u32> = shared.join(first, 0).into_iter().collect();
        let second = shared.give(1);
        taken.extend(shared.join(second, 1));
        taken.extend(forcing.join().expect("ends"));
        taken.extend(taking.join().expect("ends"));
        assert_each_once(taken, 2);
    });
}

/// A thief asks and polls and then forces, as searchers do; the owner answers in its second push.
#[test]
fn fork_steal_asks_then_forces() {
    model(|| {
        let shared = Shared::new(FenceKind::Asymmetric);
        let polls = AtomicU32::new(0);
        let outer = shared.fork(0);
        let thief = thief(&shared, move |deque| {
            // Ordering: Relaxed, the thief's own.
            let waits = || polls.fetch_add(1, Ordering::Relaxed) < 1;
            let stolen = deque.steal(Offer::Open, waits);
            stolen
                .into_iter()
                .map(|stolen| stolen.into_inner())
                .collect()
        });
        let inner = shared.fork(1);
        let mut taken: Vec<u32> = shared.join(inner, 1).into_iter().collect();
        taken.extend(shared.join(outer, 0));
        taken.extend(thief.join().expect("ends"));
        assert_each_once(taken, 2);
    });
}

/// A word comes back as it went in.
#[test]
fn fork_words_keep_their_value() {
    let raw = 7_usize.into_raw();
    // SAFETY: it has just come out of `into_raw`.
    assert_eq!(unsafe { usize::from_raw(raw) }, 7);
}
