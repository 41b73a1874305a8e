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

    use super::judge;
    use crate::measure::rounds::next_look;
    use crate::report::model::Verdict;
    use xtask_stats::SplitMix64;

    const ROUNDS: usize = 10;
    /// What a budget suffices for.
    const MOST: usize = 53;
    const THRESHOLD: f64 = 0.05;

    /// A machine on which runs take the time they should, times noise.
    #[derive(Clone, Copy, Default)]
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
            let mut random = SplitMix64::new(seed);
            let mut now = 0.0;
            let mut run = |time: f64| {
                now += self.drift;
                // The sum of twelve uniform numbers is close to normal.
                let normal = (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
                let mut burst = 0.0;
                if random.unit() < self.bursts.0 {
                    burst = self.bursts.1 * random.unit();
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

        /// How many of `n` comparisons end with one of the verdicts, on a budget that suffices for `most` rounds.
        fn count(self, n: u64, change: f64, most: usize, verdicts: &[Verdict]) -> usize {
            let compare = |seed| {
                let (rounds, aa) = self.rounds(seed, change, most);
                let look = |n: &usize| (next_look(*n as u32) as usize).min(most);
                let looks = successors(Some(ROUNDS), |n| (*n < most).then(|| look(n)));
                let mut verdicts = looks.map(|n| judge(&rounds[..n], &aa[..n], THRESHOLD).verdict);
                let decided = verdicts.find(|verdict| *verdict != Verdict::Unstable);
                decided.unwrap_or(Verdict::Unstable)
            };
            (0..n)
                .filter(|seed| verdicts.contains(&compare(*seed)))
                .count()
        }
    }

    const FLAGGED: [Verdict; 2] = [Verdict::Slower, Verdict::Faster];

    fn noisy(noise: f64) -> Machine {
        Machine {
            noise,
            ..Machine::default()
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

    #[test]
    fn noise_alone_is_flagged_in_less_than_two_of_a_hundred() {
        let bad = Machine {
            bursts: (0.15, 0.8),
            drift: 0.003,
            first: 0.08,
            ..noisy(0.02)
        };
        for machine in [noisy(0.02), noisy(0.05), noisy(0.20), bad] {
            let found = machine.count(200, 1.0, ROUNDS, &FLAGGED);
            assert!(found < 4, "{found} of 200 at noise {}", machine.noise);
        }
    }

    #[test]
    fn a_fifth_more_is_found_in_nineteen_of_twenty() {
        for machine in [busy(0.01), busy(0.03)] {
            let slower = machine.count(100, 1.2, ROUNDS, &[Verdict::Slower]);
            let faster = machine.count(100, 1.0 / 1.2, ROUNDS, &[Verdict::Faster]);
            assert!(slower >= 95 && faster >= 95, "{slower}, {faster} of 100");
        }
    }

    #[test]
    fn a_quiet_machine_says_same_and_a_loud_one_does_not() {
        let same = noisy(0.01).count(100, 1.0, ROUNDS, &[Verdict::Same]);
        assert!(same >= 98, "{same} of 100");
        let unstable = noisy(0.25).count(100, 1.0, ROUNDS, &[Verdict::Unstable]);
        assert!(unstable >= 95, "{unstable} of 100");
    }

    #[test]
    fn further_rounds_decide_and_flag_no_noise() {
        for noise in [0.06, 0.20] {
            let found = busy(noise).count(50, 1.0, MOST, &FLAGGED);
            assert!(found < 1, "{found} of 50 at noise {noise}");
        }
        let same = busy(0.05).count(50, 1.0, MOST, &[Verdict::Same]);
        let slower = busy(0.05).count(50, 1.2, MOST, &[Verdict::Slower]);
        assert!(same >= 48 && slower >= 48, "{same}, {slower} of 50");
    }

    #[test]
    fn a_wide_interval_is_unstable() {
        let rounds = [0.8, 0.9, 1.0, 1.1, 1.2, 0.85, 0.95, 1.05, 1.15];
        assert_eq!(
            judge(&rounds, &[1.0; 9], THRESHOLD).verdict,
            Verdict::Unstable
        );
    }

    #[test]
    fn a_change_below_the_floor_is_not_flagged() {
        let rounds = [1.10, 1.11, 1.09, 1.10, 1.12, 1.10, 1.10, 1.09, 1.11];
        let quiet = judge(&rounds, &[1.0; 9], THRESHOLD);
        assert_eq!(quiet.verdict, Verdict::Slower);
        assert_eq!(quiet.threshold, THRESHOLD);
        // BASE against itself shows as much, in the same direction each time.
        let judgement = judge(&rounds, &[1.25; 9], THRESHOLD);
        assert_eq!(judgement.verdict, Verdict::Unstable);
        assert!(judgement.floor > 0.15 && judgement.threshold == judgement.floor);
    }

    #[test]
    fn one_round_of_exact_counts_is_enough() {
        assert_eq!(judge(&[1.02], &[1.0], 0.01).verdict, Verdict::Slower);
        assert_eq!(judge(&[0.97], &[1.0], 0.01).verdict, Verdict::Faster);
        assert_eq!(judge(&[1.005], &[1.0], 0.01).verdict, Verdict::Same);
    }
}
