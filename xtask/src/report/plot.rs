//! The forest plot: ratios with their intervals on one logarithmic axis, against the threshold and the A/A floor.

use maud::{Markup, html};

use super::document::Row;
use super::model::{Judgement, Verdict};
use super::units::{estimate, percent};

/// Units of the drawing; one is about a pixel.
const WIDTH: f64 = 240.0;
/// Beside the axis, for markers and arrows at its ends.
const MARGIN: f64 = 8.0;
/// A line for each metric.
const LINE: f64 = 13.0;
/// An axis reaches at least so far to both sides, and at most.
const REACH: (f64, f64) = (1.12, 4.0);
/// An axis reaches further than this only for the bulk of the ratios: a few outliers must not squeeze all others.
const FAR: f64 = 1.5;
/// The share of the ratios that is the bulk.
const BULK: f64 = 0.9;

/// From a ratio to a place.
pub(super) struct Axis {
    /// The ratio at the right end; the left end is its reciprocal.
    reach: f64,
}

impl Axis {
    /// An axis that suits all rows.
    pub(super) fn of<'r>(rows: impl Iterator<Item = &'r Row>) -> Self {
        let ratios = rows.flat_map(|row| &row.plot).map(|whisker| whisker.ratio);
        let mut distances: Vec<f64> = ratios
            .flat_map(|ratio| [ratio.low, ratio.value, ratio.high])
            .filter(|ratio| ratio.is_finite() && *ratio > 0.0)
            .map(|ratio| ratio.max(1.0 / ratio))
            .collect();
        distances.sort_unstable_by(f64::total_cmp);
        let last = distances.len().saturating_sub(1);
        let at = |index: usize| distances.get(index).copied().unwrap_or(1.0);
        let bulk = at((last as f64 * BULK) as usize);
        let furthest = at(last).min(bulk.max(FAR));
        Self {
            reach: furthest.clamp(REACH.0, REACH.1),
        }
    }

    /// The place of a ratio, and whether it is beyond the axis; none if it is no ratio.
    fn place(&self, ratio: f64) -> Option<(f64, bool)> {
        if ratio.is_nan() || ratio < 0.0 {
            return None;
        }
        let inside = ratio.clamp(1.0 / self.reach, self.reach);
        let place = (inside.ln() / self.reach.ln() + 1.0) / 2.0 * WIDTH;
        Some((place, inside != ratio))
    }

    /// The numbers of the axis, for the head of a table.
    pub(super) fn head(&self) -> Markup {
        let ticks = [1.0 / self.reach, 1.0, self.reach];
        html! {
            "faster ◂ ratio ▸ slower"
            svg.axis viewBox=(view(20.0)) aria-hidden="true" {
                @for (tick, at) in ticks.into_iter().zip([0.0, WIDTH / 2.0, WIDTH]) {
                    text x=(at) y="10" { (format!("{tick:.2}")) }
                    line.tick x1=(at) y1="14" x2=(at) y2="19" {}
                }
            }
        }
    }

    /// A row's whiskers.
    pub(super) fn row(&self, row: &Row) -> Markup {
        let height = LINE * row.plot.len().max(1) as f64 + 9.0;
        let middle = WIDTH / 2.0;
        html! {
            svg.forest viewBox=(view(height)) role="img" aria-label=(described(&row.plot)) {
                @if let Some(lead) = row.plot.first() {
                    (self.band("band", lead.threshold, height))
                    (self.band("floor", lead.floor, LINE))
                }
                line.one x1=(middle) y1="0" x2=(middle) y2=(height) {}
                @for (index, whisker) in row.plot.iter().enumerate() {
                    (self.whisker(whisker, index))
                }
            }
        }
    }

    /// What lies within a fraction of 1.
    fn band(&self, class: &str, fraction: f64, height: f64) -> Markup {
        let right = self.place(1.0 + fraction).map(|(right, _)| right);
        html! {
            @if let Some(right) = right {
                rect class=(class) x=(px(WIDTH - right)) y="4" width=(px(2.0 * right - WIDTH)) height=(px(height - 4.0)) {}
            }
        }
    }

    /// An interval with its marker; an end is open where it leaves the axis.
    fn whisker(&self, of: &Judgement, index: usize) -> Markup {
        let y = LINE * (index as f64 + 0.8);
        let (place, size) = if index == 0 {
            ("lead", 4.0)
        } else {
            ("other", 3.0)
        };
        let class = format!("{place} {}", of.verdict);
        let [low, value, high] =
            [of.ratio.low, of.ratio.value, of.ratio.high].map(|r| self.place(r));
        html! {
            @if let (Some(low), Some(high)) = (low, high) {
                line class={ "whisker " (class) } x1=(px(low.0)) y1=(px(y)) x2=(px(high.0)) y2=(px(y)) {}
                @for (x, _) in [low, high].into_iter().filter(|(_, beyond)| !beyond) {
                    line class={ "whisker " (class) } x1=(px(x)) y1=(px(y - size)) x2=(px(x)) y2=(px(y + size)) {}
                }
            }
            @if let Some((x, _)) = value {
                text class={ "marker " (class) } x=(px(x)) y=(px(y + size)) { (sign(of.verdict)) }
            }
        }
    }
}

/// What stands for a verdict in a drawing and beside text.
pub(super) fn sign(verdict: Verdict) -> char {
    match verdict {
        Verdict::Slower => '▶',
        Verdict::Faster => '◀',
        Verdict::Unstable => '◆',
        Verdict::Same => '●',
    }
}

/// The row in words.
fn described(whiskers: &[Judgement]) -> String {
    let words = |of: &Judgement| {
        format!(
            "{}, {}; A/A floor {}, threshold {}.",
            estimate(&of.ratio),
            of.verdict,
            percent(of.floor),
            percent(of.threshold)
        )
    };
    let words: Vec<String> = whiskers.iter().map(words).collect();
    words.join(" ")
}

fn view(height: f64) -> String {
    format!("{} 0 {} {height}", -MARGIN, WIDTH + 2.0 * MARGIN)
}

/// A coordinate, to a tenth.
fn px(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::{Axis, Judgement, Row};
    use crate::report::model::{Estimate, Verdict};

    fn axis(ratios: &[f64]) -> Axis {
        let whisker = |&value: &f64| Judgement {
            ratio: Estimate {
                value,
                low: value,
                high: value,
            },
            verdict: Verdict::Same,
            threshold: 0.05,
            floor: 0.01,
        };
        let row = Row {
            plot: ratios.iter().map(whisker).collect(),
            ..Row::default()
        };
        Axis::of([&row].into_iter())
    }

    #[test]
    fn a_few_outliers_are_at_the_edge_and_squeeze_no_row() {
        let mut ratios = vec![1.02; 50];
        ratios.extend([50.0, 0.02, f64::NAN, f64::INFINITY]);
        let axis = axis(&ratios);
        assert!(
            axis.place(1.2)
                .is_some_and(|(x, beyond)| x > 130.0 && !beyond)
        );
        for (ratio, place) in [(50.0, 240.0), (f64::INFINITY, 240.0), (0.0, 0.0)] {
            let (x, beyond) = axis.place(ratio).expect("a ratio");
            assert!((x - place).abs() < 1e-9 && beyond, "{ratio} is at {x}");
        }
        assert_eq!(axis.place(f64::NAN), None);
        assert_eq!(axis.place(1.0), Some((120.0, false)));
    }

    #[test]
    fn the_bulk_fits() {
        let bulk = axis(&[3.0; 50]);
        assert!(bulk.place(3.0).is_some_and(|(_, beyond)| !beyond));
        let (double, half) = (bulk.place(2.0), bulk.place(0.5));
        let sum = double.expect("a ratio").0 + half.expect("a ratio").0;
        assert!((sum - 240.0).abs() < 1e-9);
    }
}
