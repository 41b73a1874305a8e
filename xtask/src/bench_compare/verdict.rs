//! What the rounds of a bench say.
//!
//! Two conditions guard against false alarms. The bootstrap interval over rounds covers noise that is
//! different from round to round. What the interval cannot see, noise that it takes too few rounds to show
//! and effects of the place within a round, shows where BASE is compared with BASE in the same rounds: a
//! change has to be larger than what that comparison finds, too.

use std::f64::consts::FRAC_1_SQRT_2;

use crate::report::model::{Judgement, Verdict};
use xtask_stats::median_of_ratios;

/// A result is unstable if a change of this many thresholds could have been missed.
const MISSED_THRESHOLDS: f64 = 2.0;

/// Judges the rounds' ratios HEAD/BASE and BASE/BASE.
///
/// # Panics
///
/// If there are none.
pub(super) fn judge(rounds: &[f64], aa_rounds: &[f64], threshold: f64) -> Judgement {
    let ratio = median_of_ratios(rounds);
    let floor = floor(aa_rounds);
    let needed = threshold.max(floor);
    let verdict = if ratio.low > 1.0 + needed {
        Verdict::Slower
    } else if ratio.high < 1.0 / (1.0 + needed) {
        Verdict::Faster
    } else {
        let half_width = (ratio.high / ratio.low).ln() / 2.0;
        let missed = needed.ln_1p() + half_width;
        if missed > (MISSED_THRESHOLDS * threshold).ln_1p() {
            Verdict::Unstable
        } else {
            Verdict::Same
        }
    };
    Judgement {
        ratio,
        floor,
        threshold: needed,
        verdict,
    }
}

/// How far the interval of BASE against BASE reaches from 1.
///
/// A round's ratio HEAD/BASE has two runs on each side, BASE/BASE one: its logarithm has twice the variance,
/// which is taken out here.
fn floor(aa_rounds: &[f64]) -> f64 {
    let scaled: Vec<f64> = aa_rounds.iter().map(|r| r.powf(FRAC_1_SQRT_2)).collect();
    let ratio = median_of_ratios(&scaled);
    ratio.high.max(1.0 / ratio.low) - 1.0
}

#[cfg(test)]
mod tests {
    use std::iter::successors;

    use fastrand::Rng;

    use super::judge;
    use crate::measure::rounds::next_look;
    use crate::report::model::Verdict::{self, Faster, Same, Slower, Unstable};

    const ROUNDS: usize = 10;
    /// What a budget suffices for.
    const MOST: usize = 53;
    const THRESHOLD: f64 = 0.05;

    /// A machine on which runs take the time they should, times noise.
    #[derive(Clone, Copy, Debug)]
    struct Machine {
        /// Standard deviation of a run's logarithm.
        noise: f64,
        /// How often a run is disturbed, and what that costs it.
        bursts: (f64, f64),
        /// By how much the machine gets slower from run to run.
        drift: f64,
        /// What the first run of a round costs more.
        first: f64,
    }

    impl Machine {
        /// The ratios of `n` rounds of a bench that takes `change` times as long on the head side: HEAD/BASE, BASE/BASE.
        fn rounds(self, seed: u64, change: f64, n: usize) -> (Vec<f64>, Vec<f64>) {
            let mut random = Rng::with_seed(seed);
            let mut now = 0.0;
            let mut run = |time: f64| {
                now += self.drift;
                // The sum of twelve uniform numbers is close to normal.
                let normal = (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
                let mut burst = 0.0;
                if random.f64() < self.bursts.0 {
                    burst = self.bursts.1 * random.f64();
                }
                time * (self.noise * normal + burst + now).exp()
            };
            let round = |round: usize| {
                let (outer, inner) = ([0, 3], [1, 2]);
                let (base, head) = if round.is_multiple_of(2) {
                    (outer, inner)
                } else {
                    (inner, outer)
                };
                let mut runs =
                    [0, 1, 2, 3].map(|slot| run(if head.contains(&slot) { change } else { 1.0 }));
                runs[0] *= 1.0 + self.first;
                let pair = |[a, b]: [usize; 2]| (runs[a] * runs[b]).sqrt();
                (pair(head) / pair(base), runs[base[1]] / runs[base[0]])
            };
            (0..n).map(round).unzip()
        }

        /// How a comparison ends, on a budget that suffices for `most` rounds.
        fn verdict(self, seed: u64, change: f64, most: usize) -> Verdict {
            let (rounds, aa) = self.rounds(seed, change, most);
            let look = |n: &usize| (next_look(*n as u32) as usize).min(most);
            let looks = successors(Some(ROUNDS), |n| (*n < most).then(|| look(n)));
            let mut verdicts = looks.map(|n| judge(&rounds[..n], &aa[..n], THRESHOLD).verdict);
            verdicts.find(|v| *v != Unstable).unwrap_or(Unstable)
        }
    }

    fn noisy(noise: f64) -> Machine {
        Machine {
            noise,
            bursts: (0.0, 0.0),
            drift: 0.0,
            first: 0.0,
        }
    }

    /// One that also gets slower, and is disturbed at times.
    fn busy(noise: f64) -> Machine {
        Machine {
            drift: 0.002,
            bursts: (0.05, 0.5),
            ..noisy(noise)
        }
    }

    /// Noise alone is flagged in less than two of a hundred, a fifth more is found in nineteen of twenty, and further rounds
    /// decide and flag no noise.
    #[test]
    fn simulated_machines_are_judged_rightly() {
        let bad = Machine {
            bursts: (0.15, 0.8),
            drift: 0.003,
            first: 0.08,
            ..noisy(0.02)
        };
        let flagged = &[Slower, Faster][..];
        // Of so many comparisons at least, and at most so many end with one of the verdicts.
        for (machine, change, rounds, verdicts, of, amount) in [
            (noisy(0.02), 1.0, ROUNDS, flagged, 200, 0..=3),
            (noisy(0.05), 1.0, ROUNDS, flagged, 200, 0..=3),
            (noisy(0.20), 1.0, ROUNDS, flagged, 200, 0..=3),
            (bad, 1.0, ROUNDS, flagged, 200, 0..=3),
            (busy(0.01), 1.2, ROUNDS, &[Slower], 100, 95..=100),
            (busy(0.03), 1.2, ROUNDS, &[Slower], 100, 95..=100),
            (busy(0.01), 1.0 / 1.2, ROUNDS, &[Faster], 100, 95..=100),
            (busy(0.03), 1.0 / 1.2, ROUNDS, &[Faster], 100, 95..=100),
            (noisy(0.01), 1.0, ROUNDS, &[Same], 100, 98..=100),
            (noisy(0.25), 1.0, ROUNDS, &[Unstable], 100, 95..=100),
            (busy(0.06), 1.0, MOST, flagged, 50, 0..=0),
            (busy(0.20), 1.0, MOST, flagged, 50, 0..=0),
            (busy(0.05), 1.0, MOST, &[Same], 50, 48..=50),
            (busy(0.05), 1.2, MOST, &[Slower], 50, 48..=50),
        ] {
            let ends = (0..of).map(|seed| machine.verdict(seed, change, rounds));
            let found = ends.filter(|verdict| verdicts.contains(verdict)).count();
            assert!(
                amount.contains(&found),
                "{found} of {of} are {verdicts:?}: {machine:?}, {change}"
            );
        }
    }

    #[test]
    fn an_interval_clears_the_threshold_and_the_floor() {
        let wide = [0.8, 0.9, 1.0, 1.1, 1.2, 0.85, 0.95, 1.05, 1.15];
        let slower = [1.10, 1.11, 1.09, 1.10, 1.12, 1.10, 1.10, 1.09, 1.11];
        for (rounds, aa, threshold, expected) in [
            (&wide[..], 1.0, THRESHOLD, Unstable),
            (&slower, 1.0, THRESHOLD, Slower),
            // BASE against itself shows as much, in the same direction each time.
            (&slower, 1.25, THRESHOLD, Unstable),
            // One round of exact counts is enough.
            (&[1.02], 1.0, 0.01, Slower),
            (&[0.97], 1.0, 0.01, Faster),
            (&[1.005], 1.0, 0.01, Same),
        ] {
            let found = judge(rounds, &vec![aa; rounds.len()], threshold);
            assert_eq!(found.verdict, expected, "{rounds:?}");
            assert_eq!(found.threshold, found.floor.max(threshold));
            assert_eq!(found.floor > 0.15, aa > 1.0);
        }
    }
}
