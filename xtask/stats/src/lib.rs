//! Medians, means of ratios, and percentile-bootstrap intervals.
//!
//! The intervals resample a lot. This is a crate of its own so that the development profile optimises it alone.

use fastrand::Rng;
use serde::{Deserialize, Serialize};

/// Resamples of a bootstrap.
const RESAMPLES: usize = 10_000;
/// A fixed one, so that a report can be computed again.
const SEED: u64 = 0x7E44_ACE5;
/// Two-sided confidence of the intervals.
const CONFIDENCE: f64 = 0.95;

/// A figure and its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The figure itself.
    pub value: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// The median; the mean of the two middle values if there is no middle one. Sorts the values.
///
/// # Panics
///
/// If there are none.
pub fn median(values: &mut [f64]) -> f64 {
    assert!(!values.is_empty(), "there is no median of nothing");
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 {
        values[middle]
    } else {
        f64::midpoint(values[middle - 1], values[middle])
    }
}

/// The geometric mean.
fn geometric_mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let amount = values.len() as f64;
    (values.map(f64::ln).sum::<f64>() / amount).exp()
}

/// The median of the rounds' ratios.
pub fn median_of_ratios(ratios: &[f64]) -> Estimate {
    bootstrap(&[ratios.to_vec()], |rows| rows[0])
}

/// The geometric mean over rows, each given by its rounds' ratios, of the rows' medians.
pub fn mean_of_medians(rows: &[Vec<f64>]) -> Estimate {
    bootstrap(rows, |medians| geometric_mean(medians.iter().copied()))
}

/// `statistic` of the rows' medians, with the percentile interval over resampled rounds.
fn bootstrap(rows: &[Vec<f64>], statistic: impl Fn(&[f64]) -> f64) -> Estimate {
    let mut medians: Vec<f64> = rows.iter().map(|row| median(&mut row.clone())).collect();
    let value = statistic(&medians);
    let mut random = Rng::with_seed(SEED);
    let mut drawn = Vec::new();
    let mut resampled: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            for (median_, row) in medians.iter_mut().zip(rows) {
                drawn.clear();
                drawn.extend((0..row.len()).map(|_| row[random.usize(..row.len())]));
                *median_ = median(&mut drawn);
            }
            statistic(&medians)
        })
        .collect();
    resampled.sort_unstable_by(f64::total_cmp);
    let tail = (RESAMPLES as f64 * (1.0 - CONFIDENCE) / 2.0) as usize;
    Estimate {
        value,
        low: resampled[tail],
        high: resampled[RESAMPLES - 1 - tail],
    }
}

#[cfg(test)]
mod tests {
    use super::{geometric_mean, mean_of_medians, median, median_of_ratios};

    #[test]
    fn medians_of_odd_and_even_amounts() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [4.0, 1.0, 3.0, 2.0]), 2.5);
    }

    #[test]
    fn the_interval_encloses_the_median_and_ignores_one_outlier() {
        let ratios = [0.50, 0.51, 0.49, 0.52, 0.48, 0.50, 0.51, 0.49, 9.0];
        let estimate = median_of_ratios(&ratios);
        assert_eq!(estimate.value, 0.50);
        assert!(estimate.low >= 0.48 && estimate.low <= 0.50);
        assert!(estimate.high >= 0.50 && estimate.high < 1.0);
    }

    #[test]
    fn the_mean_over_rows_is_narrower_than_its_rows() {
        let row: Vec<f64> = (0..9).map(|n| 0.8 + 0.05 * f64::from(n)).collect();
        let one = median_of_ratios(&row);
        let many = mean_of_medians(&vec![row; 20]);
        assert!(many.high - many.low < one.high - one.low);
        assert!((many.value - one.value).abs() < 1e-12);
    }

    #[test]
    fn a_doubling_and_a_halving_cancel() {
        let mean = geometric_mean([0.5, 2.0].into_iter());
        assert!((mean - 1.0).abs() < 1e-12);
    }

    #[test]
    fn equal_rounds_have_no_spread() {
        let estimate = median_of_ratios(&[0.7; 9]);
        assert_eq!((estimate.low, estimate.high), (0.7, 0.7));
    }
}
