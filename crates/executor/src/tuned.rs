//! The constants on which only speed and fairness depend. No handshake changes with one of them, and no promise but the length of a
//! delay. `docs/pay.md` of the repository has what the rules pay that they belong to.
//!
//! Three kinds: those that were tuned, multiples of these, and limits of memory or depth, where any number of the order does.

use std::time::Duration;

/// What a wake costs in all: a system call of the waker, and the way of the woken thread to its processor.
///
/// Queued work that takes as long is worth a wake (`parts/pacing.rs`). And a thread that expects work soon looks
/// around for as long before it sleeps, so the wait costs at most twice what it would if its length were known before (the rule of
/// renting skis; Karlin, Manasse, McGeoch and Owicki, "Competitive randomized algorithms for nonuniform problems", 1994).
pub(crate) const WAKE: Duration = Duration::from_micros(25);
/// What a wake costs the waker. A thread that knows nothing of the next item looks around for as long before it sleeps. A join below it
/// is tiny. A scope's thread that takes no child for as long is stuck.
pub(crate) const CALL: Duration = Duration::from_micros(5);
/// From this length on, an awake worker takes a child from the thread that drives its scope. An empty child takes less while two cores
/// fight over the list; else the fight itself would make children look long enough.
pub(crate) const WORTH_TAKING: Duration = Duration::from_micros(1);

/// So few tasks in the injector make a small take, and so many turns between two naps are a few (both `parts/processor.rs`). A
/// task takes one turn, and so does a driver's look at the future beside it.
pub(crate) const FEW: usize = 4;
/// So many small takes without a pause are a stream, at first.
pub(crate) const STREAM: u32 = 16;
/// How long a runner lets a stream gather.
pub(crate) const GATHERING: Duration = Duration::from_micros(3);

/// Where reading the clock would cost more than what is timed, one of so many is: tiny joins, turns of a runner.
pub(crate) const TIMED: u32 = 16;

/// For so long a thief of a forked job waits for an answer before it takes one by force.
pub(crate) const ASKING: Duration = Duration::from_micros(2);

/// The first time between two looks of a sentinel at scopes: about what a wake takes to arrive, so that a child found comes as early as
/// one published.
pub(crate) const BEAT: Duration = Duration::from_micros(20);
/// A look in vain makes the beat longer by its own length divided by this.
pub(crate) const GROWTH: u32 = 64;
/// What does not move between two looks so far apart is taken in any case, by the sentinel or by a spare. So it waits at most twice as
/// long (invariant 2).
pub(crate) const PERIOD: Duration = Duration::from_millis(1);
/// The longest time between two looks of the watch, and of a sentinel that waits for a guest to come again.
pub(crate) const LONG_PERIOD: Duration = Duration::from_millis(8);

/// Children that are timed together while they are tiny, to spare clock readings.
pub(crate) const TINY_BATCH: u32 = 8;
/// Scopes, and stolen jobs of joins, in which all threads may be busy after a child or a job was seen to block its thread.
pub(crate) const BLOCKING_SCOPES: u32 = 256;
/// Pushes of jobs until a thread considers again whether to tell others, to begin with; later up to 32 times as many.
pub(crate) const PUSHES: u32 = 32;

/// Fewer turns than these go to a runner's own ring before the injector has one: tasks that keep waking themselves starve no other task.
/// Every so many turns, another source goes before the high lane. So many pinned tasks, and turns of a worker in its reactor, come in a
/// row. A prime.
pub(crate) const GLOBAL_INTERVAL: u32 = 61;
/// So many tasks out of a worker's LIFO slot run in a row before other tasks have a turn.
pub(crate) const IN_A_ROW: u32 = 3;
/// Tasks that one poll of a `run` future runs at most.
pub(crate) const TURNS_A_POLL: usize = 200;
/// A scope's wait runs so many children before a job of a pool without workers has its turn. A prime.
pub(crate) const SCOPES_INTERVAL: u32 = 1021;
/// One visit to the injector moves at most so many single tasks into the taker's ring.
pub(crate) const BATCH: usize = 32;

// Multiples.

/// A child of this length takes eight times what a wake costs. A scope's thread with such children sleeps without a look around, and so
/// does a worker that ran one: awake they may keep another worker off its processor.
pub(crate) const OUTLASTS_WAKES: Duration = WAKE.saturating_mul(8);
/// The way of a woken thread back to its processor, with room to spare. A thread that sleeps again and again for a few tasks each looks
/// around for as long (`parts/processor.rs`).
pub(crate) const NAP: Duration = WAKE.saturating_mul(2);
/// The longest sleep that counts as such a nap.
pub(crate) const SHORT_NAP: Duration = NAP.saturating_mul(2);
/// So much sleep in short naps makes the next look a long one.
pub(crate) const NAPS: Duration = NAP.saturating_mul(8);
/// A runner keeps a contended processor for so long (`parts/processor.rs`). A change of threads costs 1 to 2 µs, so about a fiftieth.
pub(crate) const KEEPS_PROCESSOR: Duration = WAKE.saturating_mul(4);
/// So many tasks are worth the wait of a runner that lets a stream gather.
pub(crate) const MANY_TASKS: usize = 2 * FEW;
/// So many small takes are a stream at the latest, however many waits were in vain.
pub(crate) const RARE_STREAM: u32 = 256 * STREAM;
/// After so many eager children that ended at once the thread expects the next one to do so, too. It then polls that one before it makes
/// a cell. That saves the cell if it ends, and costs up to two allocations more if it does not.
pub(crate) const ENDED_EAGER: u32 = FEW as u32;

// Limits.

/// Kinds of scopes, and call-sites of joins, that are told apart. Two that share a number are both as long as their mean.
pub(crate) const TOLD_APART: usize = 64;
/// So often one poll of a `run` future polls the future beside it again at most.
pub(crate) const OWN_POLLS: u32 = 64;
/// If so many eager children of one turn of a runner were pending, all further ones of the turn are queued. An eager poll pays where it
/// ends the child. Where many are pending, a single turn would start a whole tree of them, and no other thread would find any.
pub(crate) const PENDING_EAGER: u32 = 128;
/// Tasks of a large batch that are made before the first of them are published.
pub(crate) const SPAWN_BATCH: usize = 256;
/// A worker keeps at most so many references to its pool for new tasks; one more makes it give back half of them.
pub(crate) const KEPT_REFERENCES: usize = 256;
/// Places kept for spares beside a pool's first workers; for more, groups are added to its `Idle`. While so many spares wait in their
/// start hooks, no further one is started.
pub(crate) const FEW_SPARES: usize = 16;
/// How deep jobs of others may nest on a waiter's stack where no spare can start.
pub(crate) const NESTED_HELP: u32 = 8;
/// So often a worker that blocks on a task runs it in one wait, before it sleeps and leaves the task to others: a task that yields
/// without end may wait for work that only another thread takes.
pub(crate) const AWAITED_RUNS: u32 = 16;
/// A joiner looks at so many threads that wait for each other, from the thief of its half on.
pub(crate) const CHAIN: usize = 8;

/// A time as pacing's words have it: a `Duration` made of these takes a division.
pub(crate) const fn nanos(time: Duration) -> u32 {
    time.as_nanos() as u32
}
