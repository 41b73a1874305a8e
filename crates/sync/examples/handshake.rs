//! The handshake on which every sleep in Terrace relies, many times over.
//!
//! ```sh
//! cargo run -p terrace-sync --example handshake
//! ```
//!
//! The publisher raises `work`, fences, and looks whether the sleeper sleeps. The sleeper raises `asleep`, fences, and looks
//! whether there is work. Of two fences one comes first, so at least one side sees the other: no wake is lost. Without the
//! fences both can miss, also on x86.

use terrace_sync::atomic::{AtomicU32, Ordering};
use terrace_sync::{Arc, fence_kind, heavy, hint, light, thread};

/// How often the two threads meet.
const ROUNDS: u32 = 20_000;

/// Each word holds the number of the last round in which it was raised.
#[derive(Default)]
struct Words {
    work: AtomicU32,
    asleep: AtomicU32,
    /// Rounds that each side has finished: they begin a round together.
    finished: [AtomicU32; 2],
}

impl Words {
    /// Waits until the other side has finished the round before `round`. Then it waits for a moment that differs from
    /// round to round, so that either side comes first.
    fn meet(&self, side: usize, round: u32) {
        let mut looks = 0_u32;
        while self.finished[1 - side].load(Ordering::Acquire) + 1 < round {
            looks += 1;
            match looks % 200 {
                0 => thread::yield_now(),
                _ => hint::spin_loop(),
            }
        }
        (0..round % [5, 7][side]).for_each(|_| hint::spin_loop());
    }
}

/// Plays one side; for each round, whether it saw the other side's word raised.
fn play(
    words: &Words,
    side: usize,
    mine: &AtomicU32,
    others: &AtomicU32,
    fence: fn(),
) -> Vec<bool> {
    (1..=ROUNDS)
        .map(|round| {
            words.meet(side, round);
            mine.store(round, Ordering::Relaxed);
            fence();
            let saw = others.load(Ordering::Relaxed) >= round;
            words.finished[side].store(round, Ordering::Release);
            saw
        })
        .collect()
}

fn main() {
    let words = Arc::new(Words::default());
    let sleeper = thread::spawn({
        let words = Arc::clone(&words);
        move || play(&words, 1, &words.asleep, &words.work, heavy)
    });
    let publisher = play(&words, 0, &words.work, &words.asleep, light);
    let sleeper = sleeper.join().expect("the sleeper does not panic");

    let count = |seen: (bool, bool)| {
        let rounds = publisher.iter().zip(&sleeper);
        rounds.filter(|(p, s)| (**p, **s) == seen).count()
    };
    println!("{ROUNDS} rounds, fences {:?}", fence_kind());
    println!("both saw the other:      {}", count((true, true)));
    println!("only the publisher saw:  {}", count((true, false)));
    println!("only the sleeper saw:    {}", count((false, true)));
    println!("neither, a lost wake:    {}", count((false, false)));
    assert_eq!(count((false, false)), 0);
}
