//! A logarithmic axis of ratios, shared by all rows.

use crate::report::model::Estimate;

/// An axis reaches no further to both sides; what is beyond is drawn at its edge with an arrow.
const FURTHEST: f64 = 4.0;
/// An axis reaches further than this only if the bulk of the ratios does: a few outliers must not
/// squeeze all others.
const FAR: f64 = 1.5;
/// The share of the ratios that is the bulk.
const BULK: f64 = 0.9;
/// An axis of estimates reaches at least so far to both sides.
const NEAREST: f64 = 1.12;
/// No axis is shorter, whatever it shows.
const LEAST: f64 = 1.01;
/// Where a tick may be, beside 1; below 1 the reciprocals.
const TICKS: [f64; 10] = [1.02, 1.05, 1.1, 1.2, 1.35, 1.5, 1.75, 2.0, 2.5, 3.5];

/// From a ratio to a place.
#[derive(Clone, Copy)]
pub(super) struct Scale {
    /// The ratio at the right end; the left end is its reciprocal.
    reach: f64,
    width: f64,
}

impl Scale {
    /// An axis `width` wide that shows all intervals, if that is reasonable.
    pub(super) fn around<'e>(width: f64, estimates: impl Iterator<Item = &'e Estimate>) -> Self {
        let ends = estimates.flat_map(|e| [e.low, e.value, e.high]);
        Self::reaching(width, NEAREST, ends)
    }

    /// An axis `width` wide that shows `nearest` and all other ratios, if that is reasonable.
    pub(super) fn reaching(width: f64, nearest: f64, ratios: impl Iterator<Item = f64>) -> Self {
        let mut distances: Vec<f64> = ratios
            .chain([nearest])
            .filter(|ratio| ratio.is_finite() && *ratio > 0.0)
            .map(|ratio| ratio.max(1.0 / ratio))
            .collect();
        distances.sort_unstable_by(f64::total_cmp);
        let last = distances.len().saturating_sub(1);
        let at = |index: usize| distances.get(index).copied().unwrap_or(nearest);
        let bulk = at((last as f64 * BULK) as usize);
        let furthest = at(last).min(bulk.max(FAR)).max(LEAST);
        Self {
            reach: furthest.powf(1.06).min(FURTHEST),
            width,
        }
    }

    /// The place of a ratio, and whether it is beyond the axis; none if it is no ratio.
    pub(super) fn place(&self, ratio: f64) -> Option<(f64, bool)> {
        if ratio.is_nan() || ratio < 0.0 {
            return None;
        }
        let inside = ratio.clamp(1.0 / self.reach, self.reach);
        let place = (inside.ln() / self.reach.ln() + 1.0) / 2.0 * self.width;
        Some((place, inside != ratio))
    }

    /// The part of the axis within a fraction of 1; none for no fraction.
    pub(super) fn band(&self, fraction: f64) -> Option<(f64, f64)> {
        let (right, _) = self.place(1.0 + fraction)?;
        Some((self.width - right, right))
    }

    /// The ratios to write below the axis, at least `gap` apart.
    pub(super) fn ticks(&self, gap: f64) -> Vec<f64> {
        let mut places = vec![self.width / 2.0];
        let mut ticks = vec![1.0];
        for tick in TICKS {
            let Some((place, false)) = self.place(tick) else {
                continue;
            };
            let free = |p: &f64| (p - place).abs() >= gap;
            if places.iter().all(free) {
                places.push(place);
                ticks.extend([1.0 / tick, tick]);
            }
        }
        ticks.sort_unstable_by(f64::total_cmp);
        ticks
    }
}

#[cfg(test)]
mod tests {
    use super::Scale;

    #[test]
    fn doubling_and_halving_are_as_far_from_the_middle() {
        let scale = Scale::reaching(200.0, super::NEAREST, std::iter::repeat_n(2.0, 9));
        let (double, _) = scale.place(2.0).expect("a ratio");
        let (half, _) = scale.place(0.5).expect("a ratio");
        assert!((double + half - 200.0).abs() < 1e-9);
        assert_eq!(scale.place(1.0), Some((100.0, false)));
    }

    #[test]
    fn outliers_are_at_the_edge() {
        let scale = Scale::reaching(
            200.0,
            super::NEAREST,
            [50.0, f64::NAN, f64::INFINITY, 0.0].into_iter(),
        );
        assert_eq!(scale.place(50.0), Some((200.0, true)));
        assert_eq!(scale.place(0.0), Some((0.0, true)));
        assert_eq!(scale.place(f64::INFINITY), Some((200.0, true)));
        assert_eq!(scale.place(f64::NAN), None);
        assert_eq!(scale.place(-1.0), None);
    }

    #[test]
    fn a_few_outliers_squeeze_nobody() {
        let mut ratios = vec![1.02; 50];
        ratios.extend([50.0, 0.02]);
        let scale = Scale::reaching(200.0, super::NEAREST, ratios.into_iter());
        let (place, beyond) = scale.place(1.2).expect("a ratio");
        assert!(place > 130.0 && !beyond, "{place}");
        let bulk = Scale::reaching(200.0, super::NEAREST, std::iter::repeat_n(3.0, 50));
        assert!(bulk.place(3.0).is_some_and(|(_, beyond)| !beyond));
    }

    #[test]
    fn ticks_keep_their_distance() {
        for furthest in [1.0, 1.3, 2.0, 50.0] {
            let scale = Scale::reaching(200.0, super::NEAREST, std::iter::repeat_n(furthest, 9));
            let ticks = scale.ticks(36.0);
            assert!(ticks.len() >= 3, "{ticks:?}");
            let places: Vec<f64> = ticks
                .iter()
                .filter_map(|t| scale.place(*t).map(|p| p.0))
                .collect();
            assert!(places.windows(2).all(|p| p[1] - p[0] >= 35.9), "{places:?}");
        }
    }
}
