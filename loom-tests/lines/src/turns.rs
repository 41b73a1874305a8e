//! Whose turn it is: one thread of the program runs at a time, and the state of the model is that thread's.

use std::cell::{Cell, UnsafeCell};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::directory::{Directory, THREADS, Thread};
use crate::kernel;

/// How long a step takes that one thread makes alone, in picoseconds.
const STEP: u64 = 10_000;
/// Steps of a program, after which it counts as one that does not end.
const STEPS: u64 = 100_000_000;

/// Why a thread does not run.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Reason {
    /// The word of a futex.
    Futex(usize),
    /// It sleeps or computes.
    Time,
    /// The end of that thread.
    End(Thread),
    /// So many notes in all.
    Notes(u64),
}

/// Where a thread is.
#[derive(Clone, Copy, PartialEq)]
enum State {
    Runnable,
    Blocked(Reason),
    Ended,
}

/// Totals, while counting is on.
#[derive(Clone, Copy, Default)]
pub(crate) struct Totals {
    pub(crate) rmws: u64,
    pub(crate) lines: u64,
    pub(crate) wakes: u64,
    pub(crate) barriers: u64,
}

/// The state of the model.
pub(crate) struct World {
    states: Vec<State>,
    runnable: Vec<Thread>,
    /// The blocked threads, the longest first, with their time-outs.
    blocked: Vec<(Thread, u64)>,
    random: u64,
    steps: u64,
    /// The time, in picoseconds.
    now: u64,
    /// The earliest time-out.
    next: u64,
    pub(crate) notes: u64,
    pub(crate) is_counting: bool,
    pub(crate) totals: Totals,
    pub(crate) directory: Directory,
}

/// No time-out.
const NEVER: u64 = u64::MAX;

struct Shared {
    world: UnsafeCell<World>,
    /// 1: this thread has the turn.
    turn: [AtomicU32; THREADS],
}

// SAFETY: the world is accessed by the thread that has the turn only, and turns are handed over by Release and Acquire.
unsafe impl Sync for Shared {}

static SHARED: OnceLock<Shared> = OnceLock::new();

/// The number of a thread that the model does not know.
const UNKNOWN: Thread = usize::MAX;

thread_local! {
    static SELF: Cell<Thread> = const { Cell::new(UNKNOWN) };
}

fn shared() -> &'static Shared {
    SHARED.get_or_init(|| {
        let seed = std::env::var("LINES_SEED")
            .ok()
            .and_then(|seed| seed.parse().ok());
        let seed = seed.unwrap_or(0_u64);
        kernel::pin(seed);
        let world = World {
            states: vec![State::Runnable],
            runnable: vec![0],
            blocked: Vec::new(),
            random: (seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
            steps: 0,
            now: 0,
            next: NEVER,
            notes: 0,
            is_counting: false,
            totals: Totals::default(),
            directory: Directory::default(),
        };
        // The program's first thread is the first that comes here.
        SELF.set(0);
        Shared {
            world: UnsafeCell::new(world),
            turn: [const { AtomicU32::new(0) }; THREADS],
        }
    })
}

/// Runs `f` on the world and the number of the calling thread; nothing on a thread that has ended.
pub(crate) fn with<R>(f: impl FnOnce(&mut World, Thread) -> R) -> Option<R> {
    let shared = shared();
    let me = SELF.get();
    if me == UNKNOWN {
        return None;
    }
    // SAFETY: a thread with a number runs only while it has the turn, and `f` calls nothing of this module.
    Some(f(unsafe { &mut *shared.world.get() }, me))
}

/// Computes for some time.
pub(crate) fn pause(steps: u64) {
    let until = with(|world, _| world.now + steps * STEP);
    block(Reason::Time, until);
}

/// Lets the next thread run, perhaps the caller.
pub(crate) fn step() {
    let next = with(|world, me| (world.draw(), me));
    hand(next);
}

/// Blocks until another thread unblocks the caller, or at the time `until` (picoseconds). True if that was no time-out.
pub(crate) fn block(reason: Reason, until: Option<u64>) -> bool {
    let until = until.unwrap_or(NEVER);
    let next = with(|world, me| {
        world.states[me] = State::Blocked(reason);
        world.runnable.retain(|thread| *thread != me);
        world.blocked.push((me, until));
        world.next = world.next.min(until);
        (world.draw(), me)
    });
    hand(next);
    with(|world, _| world.now < until).unwrap_or(true)
}

/// Gives the turn away, if the pair names another thread than the caller, and waits for it.
fn hand(pair: Option<(Thread, Thread)>) {
    let Some((next, me)) = pair.filter(|(next, me)| next != me) else {
        return;
    };
    give(next);
    wait_for_turn(me);
}

fn give(next: Thread) {
    let word = &shared().turn[next];
    // Ordering: Release pairs with the Acquire of the thread that gets the turn.
    word.store(1, Ordering::Release);
    kernel::wake(word);
}

fn wait_for_turn(me: Thread) {
    let word = &shared().turn[me];
    // Ordering: Acquire pairs with the Release in `give`.
    while word.swap(0, Ordering::Acquire) == 0 {
        kernel::sleep(word, 0);
    }
}

/// A new thread, which the caller is about to start.
pub(crate) fn announce() -> Option<Thread> {
    with(|world, _| {
        let thread = world.states.len();
        if thread == THREADS {
            kernel::die("too many threads");
        }
        world.states.push(State::Runnable);
        world.runnable.push(thread);
        thread
    })
}

/// Begins as a thread that was announced.
pub(crate) fn begin(me: Thread) {
    wait_for_turn(me);
    SELF.set(me);
}

/// Ends the calling thread's part in the program.
pub(crate) fn end() {
    let next = with(|world, me| {
        world.states[me] = State::Ended;
        world.runnable.retain(|thread| *thread != me);
        world.unblock(THREADS, |reason| reason == Reason::End(me));
        world.draw()
    });
    SELF.set(UNKNOWN);
    next.into_iter().for_each(give);
}

impl World {
    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    pub(crate) fn has_ended(&self, thread: Thread) -> bool {
        self.states[thread] == State::Ended
    }

    /// Whether all threads but the calling one wait for another thread, perhaps with a time-out.
    pub(crate) fn is_alone(&self) -> bool {
        let pauses =
            |(thread, _): &(Thread, u64)| self.states[*thread] == State::Blocked(Reason::Time);
        self.runnable.len() == 1 && !self.blocked.iter().any(pauses)
    }

    /// Makes at most `count` threads runnable whose reason fits, the longest waiting first; returns how many.
    pub(crate) fn unblock(&mut self, count: usize, fits: impl Fn(Reason) -> bool) -> usize {
        let mut found = 0;
        let (states, runnable) = (&mut self.states, &mut self.runnable);
        self.blocked.retain(|&(thread, _)| {
            let State::Blocked(reason) = states[thread] else {
                return false;
            };
            let chosen = found < count && fits(reason);
            if chosen {
                found += 1;
                states[thread] = State::Runnable;
                runnable.push(thread);
            }
            !chosen
        });
        found
    }

    /// Lets time pass, and draws the thread whose turn is next.
    fn draw(&mut self) -> Thread {
        self.steps += 1;
        if self.steps > STEPS {
            kernel::die("the program does not end");
        }
        if self.runnable.is_empty() {
            let times = self.blocked.iter().map(|(_, until)| *until);
            self.now = self.now.max(times.min().unwrap_or(NEVER));
            if self.now == NEVER {
                kernel::die("a deadlock: no thread can run, and none sleeps for a time");
            }
        } else {
            self.now += STEP / self.runnable.len() as u64;
        }
        if self.next <= self.now {
            self.time_out();
        }
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let drawn = (self.random >> 11) as usize % self.runnable.len();
        self.runnable[drawn]
    }

    fn time_out(&mut self) {
        let (now, states, runnable) = (self.now, &mut self.states, &mut self.runnable);
        self.next = NEVER;
        let next = &mut self.next;
        self.blocked.retain(|&(thread, until)| {
            if until <= now {
                states[thread] = State::Runnable;
                runnable.push(thread);
            } else {
                *next = until.min(*next);
            }
            until > now
        });
    }
}
