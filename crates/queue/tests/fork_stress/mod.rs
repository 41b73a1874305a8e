//! One owner, several thieves, random programs: each job is run exactly once, by a thread that sees its frame.
//!
//! In the first part the owner runs random trees of forks, deep and flat, with random paces. Thieves ask, force, poll for a random
//! time, and look at gifts. In the second part it forks and joins one or two jobs in a tight loop, and a thief does nothing
//! but force: so pops and claims of the same job meet. A job is a frame on the heap with an id. Its content is written before the
//! push and read by the thread that runs it, so a thread that gets an old job finds a wrong id, and ThreadSanitizer a race.

use std::cell::{Cell, RefCell, UnsafeCell};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use terrace_queue::fork::{Considered, ForkDeque, Gives, Offer, Owner, Pace, Popped};
use terrace_sync::FenceKind;
use terrace_testing::{Random, Watchdog};

/// Forks of a run.
const JOBS: u64 = if cfg!(terrace_tsan) { 40_000 } else { 400_000 };
/// Attempts of the thief of the second part.
const ATTEMPTS: u64 = if cfg!(terrace_tsan) { 2_000 } else { 10_000 };
const THIEVES: u64 = 3;
/// How long a test may take: processors may be shared by many.
const LIMIT: Duration = Duration::from_secs(600);

/// What a job refers to. The owner writes it before each push.
struct Frame {
    id: UnsafeCell<u64>,
    /// Whether the thief that took the job has run it.
    done: AtomicBool,
}

// SAFETY: the owner writes `id` before the push, and after `done` or a pop. The one thread that gets the job reads it in between.
unsafe impl Sync for Frame {}

/// The state that owner and thieves share.
struct Shared {
    runs: Vec<AtomicU8>,
    over: AtomicBool,
    start: Barrier,
    stolen: AtomicU64,
}

impl Shared {
    fn new(jobs: u64, thieves: u64) -> Self {
        Self {
            runs: (0..jobs).map(|_| AtomicU8::new(0)).collect(),
            over: AtomicBool::new(false),
            start: Barrier::new(thieves as usize + 1),
            stolen: AtomicU64::new(0),
        }
    }

    /// Runs the job that a thief got.
    fn run_stolen(&self, frame: &Frame) {
        self.run(frame);
        // Ordering: Relaxed, a count.
        self.stolen.fetch_add(1, Ordering::Relaxed);
        // Ordering: Release pairs with the owner's Acquire: the frame was read.
        frame.done.store(true, Ordering::Release);
    }

    fn assert_each_once(&self) {
        let stolen = self.stolen.load(Ordering::Relaxed);
        println!("{} jobs, {stolen} of them stolen", self.runs.len());
        assert!(stolen > 0, "the thieves took nothing");
        for (id, runs) in self.runs.iter().enumerate() {
            assert_eq!(runs.load(Ordering::Relaxed), 1, "job {id}");
        }
    }

    /// Runs the job of a frame.
    fn run(&self, frame: &Frame) {
        // SAFETY: this thread got the job, so the owner writes `id` only after this.
        let id = unsafe { *frame.id.get() };
        // Ordering: Relaxed, it observes and orders nothing.
        let before = self.runs[id as usize].fetch_add(1, Ordering::Relaxed);
        assert_eq!(before, 0, "job {id} ran twice");
    }
}

/// Frames of jobs, one for each depth.
fn frames(count: usize) -> Vec<Frame> {
    let frame = |_| Frame {
        id: UnsafeCell::new(u64::MAX),
        done: AtomicBool::new(false),
    };
    (0..count).map(frame).collect()
}

impl Frame {
    /// Prepares the frame for a push. Its last job was popped or is done, so no thread reads it.
    fn prepare(&self, id: u64) {
        // Ordering: Relaxed, published with the push.
        self.done.store(false, Ordering::Relaxed);
        // SAFETY: the caller says that no thread reads it.
        unsafe { *self.id.get() = id };
    }

    /// Whether the thief that took the job has run it.
    fn is_done(&self) -> bool {
        // Ordering: Acquire pairs with the Release of the thief: it has read the frame.
        self.done.load(Ordering::Acquire)
    }
}

/// The owner's program.
struct Program<'a, 'f> {
    me: Owner<'a, &'f Frame>,
    frames: &'f [Frame],
    random: RefCell<Random>,
    shared: &'a Shared,
    /// The id of the next job.
    next: Cell<u64>,
}

impl Program<'_, '_> {
    fn below(&self, bound: usize) -> usize {
        self.random.borrow_mut().below(bound)
    }

    fn pace(&self) -> Pace {
        let offers = [Offer::Open, Offer::Open, Offer::Open, Offer::Quiet];
        Pace {
            pushes: 1 << self.below(6),
            offer: offers[self.below(4)],
            gives: [Gives::Asked, Gives::Unasked][self.below(2)],
        }
    }

    /// A random tree of forks below `depth`, up to `most` levels further.
    fn fork(&self, depth: usize, most: usize) {
        let id = self.next.get();
        if id == JOBS || most == 0 {
            return;
        }
        self.next.set(id + 1);
        let frame = &self.frames[depth];
        frame.prepare(id);
        let pushed = self.me.push(frame, |_: Considered| self.pace());
        let at = pushed.expect("trees are not that deep");
        // The inline half.
        match self.below(8) {
            0 => {
                for _ in 0..self.below(200) {
                    std::hint::spin_loop();
                }
                // The thieves may share this core.
                if self.below(32) == 0 {
                    thread::yield_now();
                }
            }
            1..=3 => self.fork(depth + 1, most - 1),
            4 => {
                self.fork(depth + 1, most - 1);
                self.fork(depth + 1, most / 2);
            }
            _ => {}
        }
        // SAFETY: pushes nest as the calls of this function do.
        match unsafe { self.me.pop(at) } {
            Popped::Mine => self.shared.run(frame),
            Popped::Stolen => {
                // A waiter runs other work in between: its pushes begin at this index.
                let mut spins = 0_u32;
                while !frame.is_done() {
                    spins += 1;
                    if spins % 64 == 0 {
                        thread::yield_now();
                    }
                    if spins < 4 {
                        self.fork(depth + 1, most / 2);
                    }
                }
            }
        }
    }
}

fn thieve(deque: &ForkDeque<&Frame>, shared: &Shared, mut random: Random) {
    shared.start.wait();
    // Ordering: Relaxed, the owner ends it when no job is left.
    while !shared.over.load(Ordering::Relaxed) {
        let least = [Offer::Quiet, Offer::Open][random.below(2)];
        let mut polls = random.below(64);
        let got = match random.below(8) {
            0 => deque.take_gift(),
            1 => {
                deque.ask();
                None
            }
            2..=4 => deque.force(),
            _ => {
                let waits = || {
                    std::hint::spin_loop();
                    polls = polls.saturating_sub(1);
                    polls != 0
                };
                deque.steal(least, waits).map(|stolen| stolen.into_inner())
            }
        };
        match got {
            Some(frame) => shared.run_stolen(frame),
            None if random.below(16) == 0 => thread::yield_now(),
            None => {}
        }
    }
}

/// Runs random programs of one owner against thieves. `TERRACE_FORK_SEED` chooses others.
pub(crate) fn each_job_is_run_once(form: FenceKind) {
    let _watchdog = Watchdog::within(LIMIT);
    let seed = std::env::var("TERRACE_FORK_SEED").map_or(1, |seed| seed.parse().expect("a number"));
    println!("TERRACE_FORK_SEED={seed}");
    random_trees(form, seed);
    tight_loop(form, seed);
}

fn random_trees(form: FenceKind, seed: u64) {
    let frames = frames(400);
    let deque = ForkDeque::boxed_with(form);
    let shared = Shared::new(JOBS, THIEVES);
    thread::scope(|scope| {
        for thief in 1..=THIEVES {
            let (deque, shared) = (&deque, &shared);
            scope.spawn(move || thieve(deque, shared, Random::new(seed + 1_000 * thief)));
        }
        let mut random = Random::new(seed);
        let program = Program {
            // SAFETY: the only handle, on this thread.
            me: unsafe { deque.owner() },
            frames: &frames,
            random: RefCell::new(random.split()),
            shared: &shared,
            next: Cell::new(0),
        };
        shared.start.wait();
        while program.next.get() < JOBS {
            program.fork(0, random.below(100));
        }
        shared.over.store(true, Ordering::Relaxed);
    });
    shared.assert_each_once();
    assert!(deque.is_empty() && !deque.has_jobs(Offer::None));
}

/// One of the two jobs of the tight loop.
#[derive(Default)]
struct Tight {
    /// How often it was pushed, and not run.
    due: AtomicU8,
    /// Whether the thief that took it has run it.
    done: AtomicBool,
}

impl Tight {
    fn run(&self) {
        // Ordering: Relaxed, it observes and orders nothing.
        let due = self.due.fetch_sub(1, Ordering::Relaxed);
        assert_eq!(due, 1, "a job ran twice");
    }
}

fn tight_loop(form: FenceKind, seed: u64) {
    let jobs = <[Tight; 2]>::default();
    let deque = ForkDeque::<&Tight>::boxed_with(form);
    let (attempts, stolen) = (AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            while attempts.load(Ordering::Relaxed) < ATTEMPTS {
                if deque.is_empty() {
                    continue;
                }
                attempts.fetch_add(1, Ordering::Relaxed);
                if let Some(job) = deque.force() {
                    stolen.fetch_add(1, Ordering::Relaxed);
                    job.run();
                    // Ordering: Release pairs with the owner's Acquire.
                    job.done.store(true, Ordering::Release);
                }
            }
        });
        // SAFETY: the only handle, on this thread.
        let me = unsafe { deque.owner() };
        let pace = |_: Considered| Pace {
            pushes: 1_000,
            offer: Offer::Open,
            gives: Gives::Asked,
        };
        let push = |depth: usize| {
            let job = &jobs[depth];
            job.done.store(false, Ordering::Relaxed);
            let before = job.due.fetch_add(1, Ordering::Relaxed);
            assert_eq!(before, 0, "a job was lost");
            me.push(job, pace).expect("there is room")
        };
        let join = |depth: usize, at| {
            let job = &jobs[depth];
            // SAFETY: the loop pops in the reverse order of its pushes.
            if unsafe { me.pop(at) } == Popped::Mine {
                return job.run();
            }
            let mut spins = 0_u32;
            // Ordering: Acquire pairs with the Release of the thief.
            while !job.done.load(Ordering::Acquire) {
                spins += 1;
                if spins % 64 == 0 {
                    thread::yield_now();
                }
            }
        };
        let mut random = Random::new(seed);
        while attempts.load(Ordering::Relaxed) < ATTEMPTS {
            let outer = push(0);
            if random.below(2) == 0 {
                let inner = push(1);
                for _ in 0..random.below(4) {
                    std::hint::spin_loop();
                }
                join(1, inner);
            }
            join(0, outer);
        }
    });
    let stolen = stolen.into_inner();
    println!("{ATTEMPTS} attempts, {stolen} of them successful");
    assert!(jobs.iter().all(|job| job.due.load(Ordering::Relaxed) == 0));
}
