//! The order in which idle workers look for work, and how much they take: ours and the two usual ones. All use the same
//! rings, injector and tasks. The switch is here, not in the executor.
//!
//! | order | an idle worker looks at | takes from a peer | a busy one looks at the injector |
//! |---|---|---|---|
//! | [`RoundThenHalf`], ours | injector, peers | half, oldest first | after each round of its ring, 61 turns at most |
//! | [`HalfAfterGlobal`], of Go and tokio | injector, peers | half, oldest first | every 61st turn, for one task |
//! | [`OneBeforeGlobal`], of Chase-Lev deques | peers, injector | the oldest one | the same, so that it does so at all |

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use terrace_queue::{Injector, Owner, Ring};

use super::Item;
use crate::Crew;

/// Tasks that a visit to the injector may bring.
const INJECTOR_BATCH: usize = 32;
/// Turns after which a busy worker looks into the injector.
const INTERVAL: u32 = 61;
/// Dependent multiplications of a task: about a microsecond.
const STEPS: u64 = 500;
/// Tasks of a worker, or of the injector, at the start of a round; half of a ring's capacity.
const FLAT: usize = Ring::<Item>::CAPACITY / 2;
/// The task that queues itself again.
const RESTLESS: Item = Item::MAX;
/// Levels of the tree.
const LEVELS: Item = 9;

/// An order of search.
pub trait Order: 'static {
    /// Its name in rows.
    const NAME: &'static str;
    /// Whether peers come before the injector.
    const PEERS_FIRST: bool;
    /// Whether thieves take half of a queue.
    const HALF: bool;

    /// Turns of a busy worker until it looks into the injector, when its ring has `length` tasks; and how many it takes.
    fn interval(length: usize) -> (u32, usize);
}

/// Ours.
pub struct RoundThenHalf;

impl Order for RoundThenHalf {
    const NAME: &'static str = "ring";
    const PEERS_FIRST: bool = false;
    const HALF: bool = true;

    fn interval(length: usize) -> (u32, usize) {
        (INTERVAL.min(length as u32 + 1), INJECTOR_BATCH)
    }
}

/// That of Go and of tokio.
pub struct HalfAfterGlobal;

impl Order for HalfAfterGlobal {
    const NAME: &'static str = "half_after_global";
    const PEERS_FIRST: bool = false;
    const HALF: bool = true;

    fn interval(_: usize) -> (u32, usize) {
        (INTERVAL, 1)
    }
}

/// That of deques whose thieves take one task.
pub struct OneBeforeGlobal;

impl Order for OneBeforeGlobal {
    const NAME: &'static str = "one_before_global";
    const PEERS_FIRST: bool = true;
    const HALF: bool = false;

    fn interval(_: usize) -> (u32, usize) {
        (INTERVAL, 1)
    }
}

/// Where the tasks of a round lie at its start. A task is the number of levels below it.
#[derive(Clone, Copy)]
pub enum Start {
    /// In the ring of one worker.
    OneRing,
    /// Half there, half in the injector.
    Both,
    /// One task in the injector, the root of a tree.
    Tree,
    /// In the injector, while each worker has a task that queues itself again until they have run.
    Busy,
}

impl Start {
    /// Every one, by its name in rows.
    pub const ALL: [(&'static str, Self); 4] = [
        ("one_ring", Self::OneRing),
        ("both", Self::Both),
        ("tree", Self::Tree),
        ("busy", Self::Busy),
    ];

    /// Tasks of a round.
    fn tasks(self) -> usize {
        match self {
            Self::OneRing | Self::Busy => FLAT,
            Self::Both => 2 * FLAT,
            Self::Tree => (1 << (LEVELS + 1)) - 1,
        }
    }
}

/// The state that the workers share.
struct Pool {
    rings: Vec<Ring<Item>>,
    injector: Injector<Item>,
    /// Tasks that have not run in this round.
    left: AtomicUsize,
}

/// `workers` threads run the tasks of a round, which end up on all of them.
pub fn steal_order<O: Order>(workers: usize, start: Start) -> impl FnMut() {
    let pool = Arc::new(Pool {
        rings: (0..workers).map(|_| Ring::new()).collect(),
        injector: Injector::new(),
        left: AtomicUsize::new(0),
    });
    let crew = Crew::new(workers, {
        let pool = Arc::clone(&pool);
        move |number| pool.work::<O>(number, start)
    });
    move || {
        // Ordering: Relaxed, the crew's barrier orders it.
        pool.left.store(start.tasks(), Ordering::Relaxed);
        match start {
            Start::OneRing => {}
            Start::Both | Start::Busy => pool.injector.push_batch((0..FLAT).map(|_| 0)),
            Start::Tree => pool.injector.push(LEVELS),
        }
        crew.round(|| {});
    }
}

impl Pool {
    fn work<O: Order>(&self, number: usize, start: Start) {
        // SAFETY: each worker of the crew has a number of its own, and makes one handle at a time.
        let own = unsafe { self.rings[number].owner() };
        let first = match start {
            Start::OneRing | Start::Both if number == 0 => (FLAT, 0),
            Start::Busy => (1, RESTLESS),
            _ => (0, 0),
        };
        for _ in 0..first.0 {
            own.push_or_overflow(first.1, &self.injector);
        }
        let mut left = 0;
        while self.left.load(Ordering::Relaxed) != 0 {
            let Some(task) = self.find::<O>(number, &own, &mut left) else {
                // Others may share this core.
                std::thread::yield_now();
                continue;
            };
            if task == RESTLESS {
                own.push_or_overflow(RESTLESS, &self.injector);
                continue;
            }
            black_box(compute(task as u64));
            if task > 0 {
                own.push_or_overflow(task - 1, &self.injector);
                own.push_or_overflow(task - 1, &self.injector);
            }
            self.left.fetch_sub(1, Ordering::Relaxed);
        }
        // Those that would have gone on.
        while own.pop().is_some() {}
    }

    /// The next task of a worker; `left` are the turns until it looks into the injector.
    fn find<O: Order>(&self, number: usize, own: &Owner<'_, Item>, left: &mut u32) -> Option<Item> {
        if *left == 0 {
            let (turns, batch) = O::interval(own.ring().len());
            *left = turns;
            let task = self.injector.pop_batch_into(own, batch);
            if task.is_some() {
                return task;
            }
        }
        *left -= 1;
        let injected = || self.injector.pop_batch_into(own, INJECTOR_BATCH);
        let stolen = || {
            let peers = (1..self.rings.len()).map(|by| (number + by) % self.rings.len());
            peers.map(|peer| &self.rings[peer]).find_map(|ring| {
                if ring.is_empty() {
                    return None;
                }
                if O::HALF {
                    ring.steal_into(own)
                } else {
                    ring.steal_one()
                }
            })
        };
        let task = own.pop();
        if O::PEERS_FIRST {
            task.or_else(stolen).or_else(injected)
        } else {
            task.or_else(injected).or_else(stolen)
        }
    }
}

/// A chain of dependent multiplications.
fn compute(seed: u64) -> u64 {
    (0..STEPS).fold(black_box(seed), |value, step| {
        black_box(value.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ step)
    })
}
