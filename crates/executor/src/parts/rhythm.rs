//! After how many tiny scopes a long one comes.
//!
//! A program with frames opens the same scopes in the same order in each of them. So a long scope often comes after as many tiny ones as
//! in the frame before. A scope is long if its wait and its children are: `pacing.rs` says how long. A *run* is the tiny scopes between two long ones. The run to come is guessed from those that were:
//!
//! | the run that has just ended            | the guess for the next one          |
//! |----------------------------------------|-------------------------------------|
//! | was as long as one of the last [`PAST`] | the run that followed on the latest of these |
//! | is a new one                           | none                                |
//!
//! After [`SURE`] right guesses in a row the next one counts: when the run is as long as guessed, a long scope is *due*. If that scope turns
//! out tiny, none is due before as many right guesses again. So at most one guess in `SURE` and one costs a wake in vain.

use terrace_sync::Mutex;
use terrace_sync::atomic::{AtomicU32, Ordering};

/// Runs that are remembered. Frames of up to so many long scopes are foreseen.
const PAST: usize = 8;
/// Right guesses in a row, from which on the next one counts.
const SURE: u32 = 2;
/// No long scope is due, however long the run.
const NEVER: u32 = u32::MAX;

/// The runs of one kind of scopes. Scopes of one kind on several threads at once make a hash of them; then none is due.
pub(crate) struct Rhythm {
    /// Tiny scopes since the last long one.
    run: AtomicU32,
    /// The run after which a long scope is due, or [`NEVER`].
    due: AtomicU32,
    past: Mutex<Past>,
}

struct Past {
    /// The latest one first; [`NEVER`] where there was none.
    runs: [u32; PAST],
    guess: Option<u32>,
    /// Right guesses in a row.
    right: u32,
}

impl Rhythm {
    pub(crate) fn new() -> Self {
        let past = Past {
            runs: [NEVER; PAST],
            guess: None,
            right: 0,
        };
        Self {
            run: AtomicU32::new(0),
            due: AtomicU32::new(NEVER),
            past: Mutex::new(past),
        }
    }

    /// Whether the next scope, or the one that is open, is expected to be long.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        // Ordering: Relaxed, a statistic; so are all accesses in this file.
        self.run.load(Ordering::Relaxed) == self.due.load(Ordering::Relaxed)
    }

    /// A tiny scope has ended.
    pub(crate) fn tiny(&self) {
        let run = self.run.load(Ordering::Relaxed);
        if run == self.due.load(Ordering::Relaxed) {
            self.due.store(NEVER, Ordering::Relaxed);
        }
        self.run.store((run + 1).min(NEVER - 1), Ordering::Relaxed);
    }

    /// A long scope has ended.
    pub(crate) fn long(&self) {
        let run = self.run.load(Ordering::Relaxed);
        self.run.store(0, Ordering::Relaxed);
        // Of two threads at once, one leaves its run out.
        if let Some(mut past) = self.past.try_lock() {
            self.due.store(past.note(run), Ordering::Relaxed);
        }
    }
}

impl Past {
    /// Notes a run. Returns the next one, if the guess counts.
    fn note(&mut self, run: u32) -> u32 {
        self.right = match self.guess {
            Some(guess) if guess == run => self.right + 1,
            _ => 0,
        };
        let follower = self.runs.iter().position(|&before| before == run);
        self.runs.rotate_right(1);
        self.runs[0] = run;
        // The run that stands at this place now came after the one that was there.
        self.guess = follower.map(|place| self.runs[place]);
        match self.guess {
            Some(guess) if self.right >= SURE => guess,
            _ => NEVER,
        }
    }
}

#[cfg(all(test, not(terrace_loom)))]
mod tests {
    use super::*;

    /// Runs of tiny scopes, each with a long one behind it. Returns before which of the long ones, and of the tiny ones, one was due.
    fn frames(rhythm: &Rhythm, runs: impl IntoIterator<Item = u32>) -> (Vec<bool>, usize) {
        let mut in_vain = 0;
        let long = runs.into_iter().map(|run| {
            for _ in 0..run {
                in_vain += usize::from(rhythm.is_due());
                rhythm.tiny();
            }
            let due = rhythm.is_due();
            rhythm.long();
            due
        });
        (long.collect(), in_vain)
    }

    #[test]
    fn frames_that_are_alike_are_foreseen() {
        let rhythm = Rhythm::new();
        let (due, in_vain) = frames(&rhythm, [20; 6]);
        assert_eq!(due, [false, false, false, false, true, true]);
        assert_eq!(in_vain, 0);
    }

    #[test]
    fn frames_of_several_long_scopes_are_foreseen() {
        let rhythm = Rhythm::new();
        let frame = [5, 3, 0, 7];
        let (due, in_vain) = frames(&rhythm, (0..6).flat_map(|_| frame));
        assert!(due[8..].iter().all(|&due| due), "{due:?}");
        assert_eq!(in_vain, 0);
    }

    #[test]
    fn a_scope_that_turns_out_tiny_makes_it_unsure() {
        let rhythm = Rhythm::new();
        frames(&rhythm, [4; 5]);
        let (due, in_vain) = frames(&rhythm, [6, 4, 4, 4, 4]);
        assert_eq!((due, in_vain), (vec![false; 5], 1));
        assert_eq!(frames(&rhythm, [4]), (vec![true], 0));
    }

    #[test]
    fn what_has_no_rhythm_is_hardly_ever_due() {
        let rhythm = Rhythm::new();
        let mut seed = 1_u32;
        let runs = std::iter::from_fn(|| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            Some(seed >> 27)
        });
        let (_, in_vain) = frames(&rhythm, runs.take(10_000));
        assert!(in_vain < 200, "{in_vain}");
    }
}
