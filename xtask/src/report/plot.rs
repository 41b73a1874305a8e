//! The forest plot: ratios with their intervals on one logarithmic axis, against the threshold and the A/A floor.

use maud::{Markup, html};

use super::document::Row;
use super::model::{Judgement, Verdict};
use super::units::{estimate, percent};

/// Units of the drawing; one is about a pixel.
const WIDTH: f64 = 240.0;
/// Beside the axis, for markers at its ends.
const MARGIN: f64 = 8.0;
/// A line for each metric.
const LINE: f64 = 13.0;
/// An axis reaches at least so far to both sides, and at most.
const REACH: (f64, f64) = (1.12, 4.0);
/// The share of the ratios that an axis suits: a few outliers must not squeeze all others.
const BULK: f64 = 0.9;

/// A logarithmic axis from the reciprocal of `reach` to it.
pub(super) struct Axis {
    pub(super) reach: f64,
    pub(super) width: f64,
}

impl Axis {
    /// The place of a ratio, that of the nearer end if it is beyond; none if it is no ratio.
    pub(super) fn place(&self, ratio: f64) -> Option<f64> {
        let inside = ratio.clamp(1.0 / self.reach, self.reach);
        let place = (inside.ln() / self.reach.ln() + 1.0) / 2.0 * self.width;
        place.is_finite().then_some(place)
    }

    /// How far from 1 the ratios are as factors, in order.
    pub(super) fn distances(ratios: impl Iterator<Item = f64>) -> Vec<f64> {
        let ratios = ratios.filter(|ratio| ratio.is_finite() && *ratio > 0.0);
        let mut all: Vec<f64> = ratios.map(|ratio| ratio.max(1.0 / ratio)).collect();
        all.sort_unstable_by(f64::total_cmp);
        all
    }

    /// An axis that suits most rows.
    pub(super) fn of<'r>(rows: impl Iterator<Item = &'r Row>) -> Self {
        let ratios = rows.flat_map(|row| &row.plot).map(|whisker| whisker.ratio);
        let distances = Self::distances(ratios.flat_map(|of| [of.low, of.value, of.high]));
        let bulk = (distances.len().saturating_sub(1) as f64 * BULK) as usize;
        let reach = distances.get(bulk).copied().unwrap_or(1.0);
        Self {
            reach: reach.clamp(REACH.0, REACH.1),
            width: WIDTH,
        }
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
        let words: Vec<String> = row.plot.iter().map(described).collect();
        html! {
            svg.forest viewBox=(view(height)) role="img" aria-label=(words.join(" ")) {
                @if let Some(lead) = row.plot.first() {
                    (self.band("band", lead.threshold, height))
                    (self.band("floor", lead.floor, LINE))
                }
                line.one x1=(middle) y1="0" x2=(middle) y2=(height) {}
                @for (index, of) in row.plot.iter().enumerate() {
                    (self.whisker(of, index))
                }
            }
        }
    }

    /// What lies within a fraction of 1.
    fn band(&self, class: &str, fraction: f64, height: f64) -> Markup {
        html! {
            @if let Some(right) = self.place(1.0 + fraction) {
                rect class=(class) x=(px(WIDTH - right)) y="4" width=(px(2.0 * right - WIDTH)) height=(px(height - 4.0)) {}
            }
        }
    }

    /// An interval with its marker.
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
                line class={ "whisker " (class) } x1=(px(low)) y1=(px(y)) x2=(px(high)) y2=(px(y)) {}
            }
            @if let Some(x) = value {
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

/// A whisker in words.
fn described(of: &Judgement) -> String {
    let (ratio, floor, threshold) = (
        estimate(&of.ratio),
        percent(of.floor),
        percent(of.threshold),
    );
    format!(
        "{ratio}, {}; A/A floor {floor}, threshold {threshold}.",
        of.verdict
    )
}

fn view(height: f64) -> String {
    format!("{} 0 {} {height}", -MARGIN, WIDTH + 2.0 * MARGIN)
}

/// A coordinate, to a tenth.
pub(super) fn px(value: f64) -> String {
    format!("{value:.1}")
}
