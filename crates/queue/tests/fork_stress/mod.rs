//! One owner, several thieves, random programs: each job is run exactly once, by a thread that sees its frame.
//!
//! The owner runs random trees of forks, deep and flat, with random paces. Thieves ask, force, poll for a random time, and look at
//! gifts. A job is a frame on the heap with an id. Its content is written before the push and read by the thread that runs it, so
//! a thread that gets an old job finds a wrong id, and ThreadSanitizer a race.

use std::cell::{Cell, UnsafeCell};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use terrace_queue::fork::{Considered, ForkDeque, Offer, Owner, Pace, Popped};
use terrace_sync::FenceKind;
use terrace_testing::Watchdog;

/// Forks of a run.
const JOBS: u64 = if cfg!(terrace_tsan) { 40_000 } else { 400_000 };
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

/// A generator of random numbers (xorshift64*).
struct Random(Cell<u64>);

impl Random {
    fn new(seed: u64) -> Self {
        Self(Cell::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1))
    }

    fn below(&self, limit: u64) -> u64 {
        let mut state = self.0.get();
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        self.0.set(state);
        (state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % limit
    }
}

/// The state that owner and thieves share.
struct Shared {
    runs: Vec<AtomicU8>,
    over: AtomicBool,
    start: Barrier,
    stolen: AtomicU64,
}

impl Shared {
    /// Runs the job of a frame.
    fn run(&self, frame: &Frame) {
        // SAFETY: this thread got the job, so the owner writes `id` only after this.
        let id = unsafe { *frame.id.get() };
        // Ordering: Relaxed, it observes and orders nothing.
        let before = self.runs[id as usize].fetch_add(1, Ordering::Relaxed);
        assert_eq!(before, 0, "job {id} ran twice");
    }
}

/// The owner's program.
struct Program<'a> {
    me: Owner<'a, &'a Frame>,
    frames: &'a [Frame],
    random: &'a Random,
    shared: &'a Shared,
    /// The id of the next job.
    next: Cell<u64>,
}

impl Program<'_> {
    fn pace(&self) -> Pace {
        let offers = [Offer::Open, Offer::Open, Offer::Open, Offer::Quiet];
        Pace {
            pushes: 1 << self.random.below(6),
            offer: offers[self.random.below(4) as usize],
        }
    }

    /// A random tree of forks below `depth`, up to `most` levels further.
    fn fork(&self, depth: usize, most: u64) {
        let id = self.next.get();
        if id == JOBS || most == 0 {
            return;
        }
        self.next.set(id + 1);
        let frame = &self.frames[depth];
        // Ordering: Relaxed, published with the push.
        frame.done.store(false, Ordering::Relaxed);
        // SAFETY: the last job of this frame was popped or is done, so no thread reads it.
        unsafe { *frame.id.get() = id };
        let pushed = self.me.push(frame, |_: Considered| self.pace());
        let at = pushed.expect("trees are not that deep");
        // The inline half.
        match self.random.below(8) {
            0 => {
                for _ in 0..self.random.below(200) {
                    std::hint::spin_loop();
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
                // Ordering: Acquire pairs with the Release of the thief: it has read the frame.
                while !frame.done.load(Ordering::Acquire) {
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

fn thieve(deque: &ForkDeque<&Frame>, shared: &Shared, random: &Random) {
    shared.start.wait();
    // Ordering: Relaxed, the owner ends it when no job is left.
    while !shared.over.load(Ordering::Relaxed) {
        let least = [Offer::Quiet, Offer::Open][random.below(2) as usize];
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
            Some(frame) => {
                shared.run(frame);
                // Ordering: Relaxed, a count.
                shared.stolen.fetch_add(1, Ordering::Relaxed);
                // Ordering: Release pairs with the owner's Acquire: the frame was read.
                frame.done.store(true, Ordering::Release);
            }
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
    let frames: Vec<Frame> = (0..400)
        .map(|_| Frame {
            id: UnsafeCell::new(u64::MAX),
            done: AtomicBool::new(false),
        })
        .collect();
    let deque = ForkDeque::boxed_with(form);
    let shared = Shared {
        runs: (0..JOBS).map(|_| AtomicU8::new(0)).collect(),
        over: AtomicBool::new(false),
        start: Barrier::new(THIEVES as usize + 1),
        stolen: AtomicU64::new(0),
    };
    thread::scope(|scope| {
        for thief in 1..=THIEVES {
            let (deque, shared) = (&deque, &shared);
            scope.spawn(move || thieve(deque, shared, &Random::new(seed + 1_000 * thief)));
        }
        let random = Random::new(seed);
        let program = Program {
            // SAFETY: the only handle, on this thread.
            me: unsafe { deque.owner() },
            frames: &frames,
            random: &random,
            shared: &shared,
            next: Cell::new(0),
        };
        shared.start.wait();
        while program.next.get() < JOBS {
            program.fork(0, random.below(100));
        }
        shared.over.store(true, Ordering::Relaxed);
    });
    let stolen = shared.stolen.load(Ordering::Relaxed);
    println!("{JOBS} jobs, {stolen} of them stolen");
    assert!(stolen > 0, "the thieves took nothing");
    for (id, runs) in shared.runs.iter().enumerate() {
        assert_eq!(runs.load(Ordering::Relaxed), 1, "job {id}");
    }
    assert!(deque.is_empty() && !deque.has_jobs(Offer::None));
}
