//! The pairs of fences, in the forms that this process has: `TERRACE_FENCE` and `TERRACE_STEAL_FENCE` choose them.

use std::hint::{black_box, spin_loop};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Between two heavy fences of a busy pool, say.
const PERIOD: Duration = Duration::from_micros(10);
/// Additions of the work that is interrupted.
const ADDITIONS: u64 = 10_000;

/// The two halves of a handshake.
pub trait Fences: 'static {
    /// Its name in rows.
    const NAME: &'static str;

    /// Chooses the form, where there is a choice.
    fn choose() {}

    /// The half of the frequent side.
    fn light();

    /// The half of the rare side.
    fn heavy();
}

/// Ours.
pub struct Terrace;

impl Fences for Terrace {
    const NAME: &'static str = "terrace";

    fn choose() {
        terrace_sync::fence_kind();
    }

    #[inline]
    fn light() {
        terrace_sync::light();
    }

    #[inline]
    fn heavy() {
        terrace_sync::heavy();
    }
}

/// Ours between owners of deques and thieves.
pub struct Steal;

impl Fences for Steal {
    const NAME: &'static str = "steal";

    fn choose() {
        terrace_sync::steal::fence_kind();
    }

    #[inline]
    fn light() {
        terrace_sync::steal::light();
    }

    #[inline]
    fn heavy() {
        terrace_sync::steal::heavy();
    }
}

/// A full fence on both sides.
pub struct Std;

impl Fences for Std {
    const NAME: &'static str = "std";

    #[inline]
    fn light() {
        fence(Ordering::SeqCst);
    }

    #[inline]
    fn heavy() {
        fence(Ordering::SeqCst);
    }
}

/// Threads that do something until dropped.
struct Beside {
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Beside {
    fn new(threads: usize, work: fn(&AtomicBool)) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let start = |_| {
            let over = Arc::clone(&over);
            thread::spawn(move || work(&over))
        };
        Self {
            threads: (0..threads).map(start).collect(),
            over,
        }
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            thread.join().expect("a bench thread panicked");
        }
    }
}

/// A store, the light fence that orders it, and a load.
pub fn light<F: Fences>() -> impl FnMut() {
    F::choose();
    let word = AtomicU64::new(0);
    move || {
        word.store(black_box(1), Ordering::Relaxed);
        F::light();
        black_box(word.load(Ordering::Relaxed));
    }
}

/// The heavy fence of one thread while `threads` - 1 others compute: a barrier interrupts each that runs.
pub fn heavy<F: Fences>(threads: usize) -> impl FnMut() {
    F::choose();
    let others = Beside::new(threads - 1, |over| {
        while !over.load(Ordering::Relaxed) {
            spin_loop();
        }
    });
    move || {
        // They compute as long as the row lasts.
        let _ = &others;
        F::heavy();
    }
}

/// The loss of the other threads: a fixed piece of work, while one other thread fences every ten microseconds.
pub fn interrupted<F: Fences>() -> impl FnMut() {
    F::choose();
    let fencing = Beside::new(1, |over| {
        let mut next = Instant::now();
        while !over.load(Ordering::Relaxed) {
            F::heavy();
            next += PERIOD;
            while Instant::now() < next {
                spin_loop();
            }
        }
    });
    move || {
        // It fences as long as the row lasts.
        let _ = &fencing;
        black_box((0..ADDITIONS).fold(0, |sum, number| black_box(sum) + number));
    }
}
