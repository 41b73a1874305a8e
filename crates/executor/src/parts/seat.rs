//! A seat: what a worker or a driver shows to the others. And the seats of a pool.
//!
//! A worker does not publish the task in its LIFO slot while a sentinel watches (`Idle::park_as_sentinel`): mostly the worker itself takes
//! the task a moment later. The fences of `Idle::publish_paced` and of the sentinel's end cover the task:
//!
//! ```text
//! put:           slot; F; a sentinel watches -> done; else publish
//! sentinel:      time's up and the same task lies there as at its last look -> takes it
//! busy workers:  in some of its turns, likewise
//! sentinel end:  flag down; F; scan (stop_search, park): a slot is full and no sentinel watches -> takeable
//! wait, end:     its worker empties the slot into its ring, and publishes
//! ```
//!
//! Of a `put` and a sentinel's end, the later one sees the other. A worker that finds nothing but full slots becomes the sentinel. A worker
//! empties its slot before it waits inside a poll, waits for the end of the others, or leaves.

use std::time::Duration;

use terrace_local::task::Runnable;
use terrace_queue::{LifoSlot, Owner, Ring, SlotTable};
use terrace_sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use terrace_sync::time::CpuClock;
use terrace_sync::{CachePadded, Mutex};
use terrace_trace::inspect::Since;

use super::Flag;
use super::pacing::Beat;
use crate::protocol::publish::Sight;

/// A place where runnables wait. It belongs to one worker, or to one `run` future, at a time. It lies in a table of the
/// pool, so that thieves may look into it at any time.
#[derive(Default)]
pub(crate) struct Seat {
    /// Runnables of its holder. Every other thread may steal them.
    pub(crate) ring: Ring<Runnable>,
    /// The task that the worker's running task has just woken. Drivers do not use it.
    pub(crate) lifo: LifoSlot<Runnable>,
    /// Tasks that its holders have spawned and finished.
    pub(crate) count: TaskCount,
    /// What its holders have done.
    pub(crate) counts: SeatCounts,
    fate: AtomicU32,
    /// Of a driver: whether it is being polled.
    pub(crate) polling: Flag,
    /// The processor time of the worker that holds it.
    pub(crate) clock: Mutex<Option<CpuClock>>,
    /// When the worker that holds it fell asleep, in its loop or in a wait.
    pub(crate) asleep: Since,
}

/// The holder stays.
const STAYS: u32 = 0;
/// The holder is asked to end; the asker may take that back.
const ASKED: u32 = 1;
/// The holder ends.
const ENDS: u32 = 2;

impl Seat {
    /// A new holder has come.
    pub(crate) fn reset(&self) {
        // Ordering: Relaxed, the starter starts the holder's thread afterwards. So are all accesses to these flags: a
        // reader that must not miss one has fenced before its look.
        self.fate.store(STAYS, Ordering::Relaxed);
    }

    /// The processor time of the worker that holds it, if the system tells. One lock and one system call.
    pub(crate) fn processor_time(&self) -> Option<Duration> {
        let clock = *self.clock.lock();
        clock?.read()
    }

    /// Takes half of the tasks in its ring: returns the oldest, and moves the others into the thief's own ring.
    pub(crate) fn steal_half(&self, own: &Owner<'_, Runnable>) -> Option<Runnable> {
        let task = self.ring.steal_into(own)?;
        terrace_trace::steal(1 + own.ring().len());
        Some(task)
    }

    /// Asks the holder to end when it has finished what it runs.
    pub(crate) fn ask_to_end(&self) -> bool {
        self.change_fate(STAYS, ASKED)
    }

    /// Takes back the request to end; false if the holder ends already.
    pub(crate) fn ask_to_stay(&self) -> bool {
        self.change_fate(ASKED, STAYS)
    }

    /// Whether the holder was asked to end.
    #[inline]
    pub(crate) fn is_asked_to_end(&self) -> bool {
        self.fate.load(Ordering::Relaxed) != STAYS
    }

    /// The holder ends, if it was asked to and the asker has not taken that back.
    pub(crate) fn end(&self) -> bool {
        self.change_fate(ASKED, ENDS)
    }

    fn change_fate(&self, from: u32, to: u32) -> bool {
        self.fate
            .compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    }
}

/// The seats of a pool.
#[derive(Default)]
pub(crate) struct Seats {
    /// Seats of workers and spares. Their indices are the workers' numbers in `terrace_park::Idle`.
    pub(crate) workers: SlotTable<Seat, 1>,
    /// Seats of `run` futures.
    pub(crate) drivers: SlotTable<Seat, 1>,
    /// Tasks that threads without a seat have spawned and finished.
    pub(crate) remote: TaskCount,
    /// How often a sentinel looks at LIFO slots.
    pub(crate) beat: Beat,
    /// Turns of threads without a seat.
    bystander_turns: CachePadded<AtomicUsize>,
}

impl Seats {
    /// How many seats there are at most, in both tables.
    #[inline]
    pub(crate) fn bound(&self) -> usize {
        self.workers.high() + self.drivers.high()
    }

    /// The seats that may hold tasks.
    #[inline]
    pub(crate) fn scan(&self) -> impl Iterator<Item = &Seat> {
        self.workers.scan().chain(self.drivers.scan())
    }

    /// A seat by its number: first those of workers, then those of drivers. A new worker's seat may shift the drivers'.
    pub(crate) fn at(&self, number: usize) -> Option<&Seat> {
        match number.checked_sub(self.workers.high()) {
            None => self.workers.get(number),
            Some(driver) => self.drivers.get(driver),
        }
    }

    /// Whether a task lies in some ring.
    pub(crate) fn has_ringed(&self) -> bool {
        self.scan().any(|seat| !seat.ring.is_empty())
    }

    /// Takes a task out of some ring. The seat at which it begins depends on `turn` by Fibonacci hashing (Knuth, "The Art of Computer
    /// Programming", volume 3, 6.4): turns in any regular distance begin at all of them.
    #[inline]
    pub(crate) fn steal_one(&self, turn: usize) -> Option<Runnable> {
        let bound = self.bound();
        // The pool may never have had a seat.
        if bound == 0 {
            return None;
        }
        let hash = (turn as u32).wrapping_mul(0x9E37_79B9);
        let first = ((u64::from(hash) * bound as u64) >> 32) as usize;
        let (later, earlier) = (self.scan().skip(first), self.scan().take(first));
        later.chain(earlier).find_map(|seat| seat.ring.steal_one())
    }

    /// Counts a turn of a thread without a seat, and returns its number.
    #[inline]
    pub(crate) fn bystander_turn(&self) -> usize {
        // Ordering: Relaxed, and no read-modify-write: two threads that take the same turn look in the same order.
        let turn = self.bystander_turns.load(Ordering::Relaxed);
        self.bystander_turns
            .store(turn.wrapping_add(1), Ordering::Relaxed);
        turn
    }

    /// What a look at the LIFO slots of all workers shows.
    pub(crate) fn slots_sight(&self) -> Sight {
        Sight::covered_if(self.workers.scan().any(|seat| !seat.lifo.is_empty()))
    }

    /// Takes a task out of the LIFO slot of some worker.
    pub(crate) fn take_slotted(&self) -> Option<Runnable> {
        self.workers.scan().find_map(|seat| seat.lifo.take())
    }

    fn task_counts(&self) -> impl Iterator<Item = &TaskCount> {
        // Seats that were given back keep their counts.
        self.workers
            .all()
            .chain(self.drivers.all())
            .map(|seat| &seat.count)
            .chain(std::iter::once(&self.remote))
    }

    /// Tasks that have not ended: at least as many as at some time during the call, and exact while no thread acts. It
    /// reads the ends first, so it counts no end without its spawn.
    pub(crate) fn active(&self) -> usize {
        let ended = self.task_counts().map(|count| count.ended.get());
        let ended = ended.fold(0, usize::wrapping_add);
        self.spawned().wrapping_sub(ended)
    }

    /// Tasks that were spawned so far.
    pub(crate) fn spawned(&self) -> usize {
        let spawned = self.task_counts().map(|count| count.spawned.get());
        spawned.fold(0, usize::wrapping_add)
    }

    /// Processor time of all workers together; zero where the system does not tell.
    pub(crate) fn processor_time(&self) -> Duration {
        self.workers
            .scan()
            .filter_map(|seat| seat.processor_time())
            .sum()
    }

    /// A number that changes whenever a thread takes a task out of a ring or a slot, or a task ends: a hash of hints.
    /// A push does not change it.
    pub(crate) fn progress(&self) -> usize {
        self.scan().fold(0, |hash: usize, seat| {
            let slot = seat.lifo.look().map_or(0, |look| look as usize + 1);
            let part = (seat.ring.taken() as usize)
                .wrapping_add(seat.count.ended.get())
                .wrapping_mul(31)
                .wrapping_add(slot);
            hash.wrapping_mul(1_000_003).wrapping_add(part)
        })
    }
}

/// The counts of one seat, over all its holders.
#[derive(Default)]
pub(crate) struct SeatCounts {
    /// Tasks and children polled in turns of their own.
    pub(crate) polls: Count,
    /// Sleeps between two turns.
    pub(crate) parks: Count,
    /// Tasks that it took out of rings of others.
    pub(crate) steals: Count,
    /// Times that it did so.
    pub(crate) steal_operations: Count,
    /// Times that its ring was full, so that tasks moved into the injector.
    pub(crate) overflows: Count,
}

/// The spawns and ends of tasks that the holders of one seat saw, or all threads without a seat.
#[derive(Default)]
pub(crate) struct TaskCount {
    pub(crate) spawned: Count,
    pub(crate) ended: Count,
}

/// A number that any thread may read.
#[derive(Default)]
pub(crate) struct Count(AtomicUsize);

impl Count {
    /// Adds, where the calling thread alone writes: it holds the seat. No read-modify-write.
    #[inline]
    pub(crate) fn add(&self, count: usize) {
        // Ordering: Relaxed, the thread's own number. The next holder comes after this one by the table of seats.
        let before = self.0.load(Ordering::Relaxed);
        // Ordering: Release, pairs with the Acquire in `get`: a thread that sees the end of a task sees its spawn.
        self.0.store(before.wrapping_add(count), Ordering::Release);
    }

    /// Adds one, on any thread.
    pub(crate) fn rise(&self) {
        // Ordering: Release, as in `add`.
        self.0.fetch_add(1, Ordering::Release);
    }

    pub(crate) fn get(&self) -> usize {
        // Ordering: Acquire, pairs with the Release in `add`.
        self.0.load(Ordering::Acquire)
    }
}
