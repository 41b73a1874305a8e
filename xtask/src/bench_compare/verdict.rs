//! What the rounds of a bench say.
//!
//! Two conditions guard against false alarms. The bootstrap interval over rounds covers noise that is
//! different from round to round. What the interval cannot see, noise that it takes too few rounds to show
//! and effects of the place within a round, shows where BASE is compared with BASE in the same rounds: a
//! change has to be larger than what that comparison finds, too.

use std::f64::consts::FRAC_1_SQRT_2;

use crate::measure::stats::{Estimate, median_of_ratios};
use crate::report::model::Verdict;

/// A result is unstable if a change of this many thresholds could have been missed.
const MISSED_THRESHOLDS: f64 = 2.0;

/// The conclusion, and what it stands on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Judgement {
    /// HEAD/BASE.
    pub(super) ratio: Estimate,
    /// What BASE against BASE shows as a change, as a fraction.
    pub(super) floor: f64,
    /// What the interval had to clear, as a fraction.
    pub(super) threshold: f64,
    pub(super) verdict: Verdict,
}

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
    use super::judge;
    use crate::bench_compare::rounds::next_look;
    use crate::measure::stats::SplitMix64;
    use crate::report::model::Verdict;

    const ROUNDS: usize = 10;
    const THRESHOLD: f64 = 0.05;

    /// A machine on which runs take the time they should, times noise.
    struct Machine {
        random: SplitMix64,
        /// Standard deviation of a run's logarithm.
        noise: f64,
        /// How often a run is disturbed, and what that costs it.
        bursts: (f64, f64),
        /// By how much the machine gets slower from run to run.
        drift: f64,
        /// What the first run of a round costs more.
        first: f64,
        now: f64,
    }

    impl Machine {
        fn new(seed: u64, noise: f64) -> Self {
            Self {
                random: SplitMix64::new(seed),
                noise,
                bursts: (0.0, 0.0),
                drift: 0.0,
                first: 0.0,
                now: 0.0,
            }
        }

        fn run(&mut self, time: f64) -> f64 {
            self.now += self.drift;
            // The sum of twelve uniform numbers is close to normal.
            let normal = (0..12).map(|_| self.random.unit()).sum::<f64>() - 6.0;
            let burst = if self.random.unit() < self.bursts.0 {
                self.bursts.1 * self.random.unit()
            } else {
                0.0
            };
            time * (self.noise * normal + burst + self.now).exp()
        }

        /// The ratios of `n` rounds of a bench that takes `change` times as long on the head side: HEAD/BASE, BASE/BASE.
        fn rounds(&mut self, change: f64, n: usize) -> (Vec<f64>, Vec<f64>) {
            let (mut rounds, mut aa) = (Vec::new(), Vec::new());
            for round in 0..n {
                let mut sides = [1.0, change, change, 1.0];
                let base = if round % 2 == 0 { [0, 3] } else { [1, 2] };
                let head = if round % 2 == 0 { [1, 2] } else { [0, 3] };
                if round % 2 == 1 {
                    sides = [change, 1.0, 1.0, change];
                }
                let mut runs = sides.map(|time| self.run(time));
                runs[0] *= 1.0 + self.first;
                let pair = |[a, b]: [usize; 2]| (runs[a] * runs[b]).sqrt();
                rounds.push(pair(head) / pair(base));
                aa.push(runs[base[1]] / runs[base[0]]);
            }
            (rounds, aa)
        }

        /// A whole comparison.
        fn compare(&mut self, change: f64) -> Verdict {
            let (rounds, aa) = self.rounds(change, ROUNDS);
            judge(&rounds, &aa, THRESHOLD).verdict
        }

        /// One with a budget that suffices for `most` rounds.
        fn compare_on(&mut self, change: f64, most: usize) -> Verdict {
            let (rounds, aa) = self.rounds(change, most);
            let mut looks = std::iter::successors(Some(ROUNDS), |n| {
                (*n < most).then(|| (next_look(*n as u32) as usize).min(most))
            });
            let verdicts = looks
                .by_ref()
                .map(|n| judge(&rounds[..n], &aa[..n], THRESHOLD));
            let mut verdicts = verdicts.map(|judgement| judgement.verdict);
            let decided = verdicts.find(|verdict| *verdict != Verdict::Unstable);
            decided.unwrap_or(Verdict::Unstable)
        }
    }

    /// How many of `n` comparisons end with one of the verdicts.
    fn count(n: u64, change: f64, verdicts: &[Verdict], machine: impl Fn(u64) -> Machine) -> usize {
        (0..n)
            .filter(|seed| verdicts.contains(&machine(*seed).compare(change)))
            .count()
    }

    const FLAGGED: [Verdict; 2] = [Verdict::Slower, Verdict::Faster];

    #[test]
    fn noise_alone_is_flagged_in_less_than_two_of_a_hundred() {
        for noise in [0.02, 0.05, 0.20] {
            let found = count(200, 1.0, &FLAGGED, |seed| Machine::new(seed, noise));
            assert!(found < 4, "{found} of 200 at noise {noise}");
        }
    }

    #[test]
    fn bursts_drift_and_slow_first_runs_are_not_flagged() {
        let machine = |seed| Machine {
            bursts: (0.15, 0.8),
            drift: 0.003,
            first: 0.08,
            ..Machine::new(seed, 0.02)
        };
        let found = count(200, 1.0, &FLAGGED, machine);
        assert!(found < 4, "{found} of 200");
    }

    #[test]
    fn a_fifth_more_is_found_in_nineteen_of_twenty() {
        for noise in [0.01, 0.03] {
            let machine = |seed| Machine {
                drift: 0.002,
                bursts: (0.05, 0.5),
                ..Machine::new(seed, noise)
            };
            let slower = count(100, 1.2, &[Verdict::Slower], machine);
            assert!(slower >= 95, "{slower} of 100 at noise {noise}");
            let faster = count(100, 1.0 / 1.2, &[Verdict::Faster], machine);
            assert!(faster >= 95, "{faster} of 100 at noise {noise}");
        }
    }

    #[test]
    fn a_quiet_machine_says_same_and_a_loud_one_does_not() {
        let same = count(100, 1.0, &[Verdict::Same], |seed| Machine::new(seed, 0.01));
        assert!(same >= 98, "{same} of 100");
        let unstable = count(100, 1.0, &[Verdict::Unstable], |seed| {
            Machine::new(seed, 0.25)
        });
        assert!(unstable >= 95, "{unstable} of 100");
    }

    #[test]
    fn further_rounds_decide_and_flag_no_noise() {
        let on = |noise: f64, change: f64, verdicts: &[Verdict]| {
            let machine = |seed| Machine {
                drift: 0.001,
                bursts: (0.05, 0.5),
                ..Machine::new(seed, noise)
            };
            let found = |seed: &u64| verdicts.contains(&machine(*seed).compare_on(change, 53));
            (0..50).filter(found).count()
        };
        for noise in [0.06, 0.20] {
            let found = on(noise, 1.0, &FLAGGED);
            assert!(found < 1, "{found} of 50 at noise {noise}");
        }
        let same = on(0.05, 1.0, &[Verdict::Same]);
        assert!(same >= 48, "{same} of 50");
        let slower = on(0.05, 1.2, &[Verdict::Slower]);
        assert!(slower >= 48, "{slower} of 50");
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
