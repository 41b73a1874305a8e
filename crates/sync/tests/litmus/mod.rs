//! The handshake that the pair of fences is for, as a stress test: store buffering.

use std::time::Duration;

use terrace_sync::atomic::{AtomicU32, Ordering};
use terrace_sync::hint::spin_loop;
use terrace_sync::{Arc, CachePadded, heavy, light, steal, thread};
use terrace_testing::Watchdog;

/// How often the handshake is tried.
const ROUNDS: u32 = 30_000;
/// How long that may take. The two threads wait for each other actively, so on busy processors it takes half a minute.
const LIMIT: Duration = Duration::from_secs(600);

/// A pair of fences: the frequent side's, the rare side's.
#[derive(Clone, Copy)]
struct Pair(fn(), fn());

#[derive(Default)]
struct Shared {
    x: CachePadded<AtomicU32>,
    y: CachePadded<AtomicU32>,
    /// How many of the two threads have come to a round, over all rounds.
    arrived: CachePadded<AtomicU32>,
    /// What each of the two read in this round.
    seen: [CachePadded<AtomicU32>; 2],
}

impl Shared {
    /// Waits for the other thread; `times` is how often each has waited, this one included.
    fn meet(&self, times: u32) {
        self.arrived.fetch_add(1, Ordering::AcqRel);
        let mut spins = 0_u32;
        while self.arrived.load(Ordering::Acquire) < 2 * times {
            spins += 1;
            if spins % 1_024 == 0 {
                thread::yield_now();
            }
            spin_loop();
        }
    }

    fn play(&self, side: usize, Pair(light, heavy): Pair) {
        let (mine, others) = if side == 0 {
            (&self.x, &self.y)
        } else {
            (&self.y, &self.x)
        };
        for round in 1..=ROUNDS {
            self.meet(2 * round - 1);
            // A little jitter, so that each comes first now and then.
            for _ in 0..(round * (side as u32 + 3)) % 7 {
                spin_loop();
            }
            mine.store(round, Ordering::Relaxed);
            // The heavy side is rarer in life; here one of the two is it in each round.
            if (round as usize + side) % 2 == 0 {
                light();
            } else {
                heavy();
            }
            self.seen[side].store(others.load(Ordering::Relaxed), Ordering::Relaxed);
            self.meet(2 * round);
            let seen = [0, 1].map(|side: usize| self.seen[side].load(Ordering::Relaxed));
            assert!(
                seen.contains(&round),
                "round {round}: neither saw the other's write: {seen:?}"
            );
        }
    }
}

/// Asserts that of two threads that write, fence and read, at least one sees the other's write; for each pair of fences. The
/// watchdog's thread starts here, so a test may change the environment before.
pub(crate) fn one_of_two_sees_the_other() {
    let _watchdog = Watchdog::within(LIMIT);
    for pair in [Pair(light, heavy), Pair(steal::light, steal::heavy)] {
        let shared = Arc::new(Shared::default());
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || other.play(1, pair));
        shared.play(0, pair);
        thread.join().expect("the other side saw no fault");
    }
}
