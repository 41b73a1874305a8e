//! The forest plot: a bench's ratio with its interval, against the threshold and the A/A floor.

use maud::{Markup, html};

use super::scale::Scale;
use crate::report::model::{Bench, Comparison, Estimate, LayerMean, MetricResult, Verdict};
use crate::report::units::{estimate, percent, ratio};

/// Units of the drawing; one is about a pixel.
pub(super) const WIDTH: f64 = 240.0;
/// A line for each metric.
const LINE: f64 = 13.0;
/// Beside the axis, for markers and arrows at its ends.
const MARGIN: f64 = 8.0;
/// The middle of the first metric's line.
const FIRST: f64 = 11.0;
/// Ticks are this far apart, so that their labels do not touch.
const TICK_GAP: f64 = 32.0;

/// The axis that suits all benches.
pub(super) fn scale(comparison: &Comparison) -> Scale {
    let results = comparison.benches.iter().flat_map(|bench| &bench.results);
    Scale::around(WIDTH, results.map(|result| &result.ratio))
}

fn view(height: f64) -> String {
    format!("{} 0 {} {height}", -MARGIN, WIDTH + 2.0 * MARGIN)
}

/// The numbers of the axis, for the head of a table.
pub(super) fn axis(scale: &Scale) -> Markup {
    let ticks = scale.ticks(TICK_GAP).into_iter();
    let ticks = ticks.filter_map(|tick| Some((tick, px(scale.place(tick)?.0))));
    let label = |tick: f64| {
        let label = format!("{tick:.2}");
        label.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    html! {
        svg.axis viewBox=(view(20.0)) aria-hidden="true" {
            @for (tick, x) in ticks {
                text x=(x) y="10" { (label(tick)) }
                line.tick x1=(x) y1="14" x2=(x) y2="19" {}
            }
        }
    }
}

/// One row; `number` makes its ids unique.
pub(super) fn row(scale: &Scale, bench: &Bench, number: usize) -> Markup {
    let (title, desc) = (format!("ft{number}"), format!("fd{number}"));
    let height = height(bench.results.len());
    let lead = bench.results.first();
    let bands = lead.map(|lead| {
        [
            ("band", lead.threshold, 2.0, height - 4.0),
            ("floor", lead.floor, FIRST - 6.0, 12.0),
        ]
    });
    html! {
        svg.forest viewBox=(view(height)) role="img" aria-labelledby={ (title) " " (desc) } {
            title id=(title) { "Ratio of " (bench.id) }
            desc id=(desc) { (described(bench)) }
            @for (class, fraction, top, height) in bands.into_iter().flatten() {
                @if let Some((left, right)) = scale.band(fraction) {
                    rect class=(class) x=(px(left)) y=(top) width=(px(right - left)) height=(height) {}
                }
            }
            (one(scale, height))
            @for (index, result) in bench.results.iter().enumerate() {
                (line_of(scale, &result.ratio, index, result.verdict))
            }
        }
    }
}

/// A layer's means, one line for each metric.
pub(super) fn means(scale: &Scale, layer: &str, means: &[&LayerMean], number: usize) -> Markup {
    let title = format!("m{number}");
    let words = |mean: &&LayerMean| format!("{} {}", mean.metric.name(), estimate(&mean.mean));
    let words: Vec<String> = means.iter().map(words).collect();
    let height = height(means.len());
    html! {
        svg.forest viewBox=(view(height)) role="img" aria-labelledby=(title) {
            title id=(title) { (layer) ": " (words.join(", ")) }
            (one(scale, height))
            @for (index, mean) in means.iter().enumerate() {
                (line_of(scale, &mean.mean, index, Verdict::Same))
            }
        }
    }
}

/// Where nothing changes.
fn one(scale: &Scale, height: f64) -> Markup {
    let (middle, _) = scale.place(1.0).expect("one is a ratio");
    html! { line.one x1=(px(middle)) y1="0" x2=(px(middle)) y2=(height) {} }
}

/// The whisker of a row's `index`th metric.
fn line_of(scale: &Scale, of: &Estimate, index: usize, verdict: Verdict) -> Markup {
    let y = FIRST + LINE * index as f64;
    let (place, size) = if index == 0 {
        ("lead", 4.0)
    } else {
        ("other", 3.0)
    };
    whisker(scale, of, y, size, &format!("{place} {verdict}"), verdict)
}

/// Of a row with so many metrics.
fn height(metrics: usize) -> f64 {
    FIRST + LINE * (metrics.max(1) as f64 - 1.0) + FIRST
}

/// An interval with its marker; an arrow where it leaves the axis, a double one if all of it is
/// beyond.
fn whisker(
    scale: &Scale,
    of: &Estimate,
    y: f64,
    size: f64,
    class: &str,
    verdict: Verdict,
) -> Markup {
    let mut marked = true;
    let ends = scale.place(of.low).zip(scale.place(of.high));
    let path = ends.map(|((low, low_beyond), (high, high_beyond))| {
        let arrow = |x: f64| {
            let inward = if x > WIDTH / 2.0 { -size } else { size };
            let (back, x, top, bottom) = (px(x + inward), px(x), y - size, y + size);
            format!("M{back} {top}L{x} {y}L{back} {bottom}")
        };
        let cap = |x: f64| format!("M{} {}V{}", px(x), y - size, y + size);
        let end = |x: f64, beyond: bool| if beyond { arrow(x) } else { cap(x) };
        if low_beyond && high_beyond && low == high {
            marked = false;
            let inward = if low > 0.0 { -size } else { size };
            arrow(low) + &arrow(low + inward)
        } else {
            let line = format!("M{} {y}H{}", px(low), px(high));
            line + &end(low, low_beyond) + &end(high, high_beyond)
        }
    });
    let marker = scale.place(of.value).filter(|_| marked);
    html! {
        @if let Some(path) = path {
            path class={ "whisker " (class) } d=(path) {}
        }
        @if let Some((x, _)) = marker {
            path class={ "marker " (class) } d=(shape(verdict, x, y, size + 0.5)) {}
        }
    }
}

/// A marker beside text.
pub(super) fn icon(verdict: Verdict, size: f64) -> Markup {
    html! {
        svg.icon viewBox="0 0 14 14" aria-hidden="true" { path d=(shape(verdict, 7.0, 7.0, size)) {} }
    }
}

/// A triangle towards slower or faster, a diamond for unstable, a disc for the rest.
fn shape(verdict: Verdict, x: f64, y: f64, size: f64) -> String {
    let (left, right, top, bottom) = (px(x - size), px(x + size), px(y - size), px(y + size));
    let (x, y) = (px(x), px(y));
    match verdict {
        Verdict::Slower => format!("M{left} {top}L{right} {y}L{left} {bottom}Z"),
        Verdict::Faster => format!("M{right} {top}L{left} {y}L{right} {bottom}Z"),
        Verdict::Unstable => format!("M{x} {top}L{right} {y}L{x} {bottom}L{left} {y}Z"),
        Verdict::Same => {
            // Rounded first: the two arcs are halves of a circle only if they span it exactly.
            let radius = (size * 7.5).round() / 10.0;
            let (radius, across) = (px(radius), px(radius * 2.0));
            let arc = format!("a{radius} {radius} 0 1 0");
            format!("M{x} {y}m-{radius} 0{arc} {across} 0{arc} -{across} 0Z")
        }
    }
}

/// The row in words.
fn described(bench: &Bench) -> String {
    let words = |result: &MetricResult| {
        format!(
            "{}: head/base {}, {}; A/A floor {}, threshold {}.",
            result.metric.name(),
            estimate(&result.ratio),
            result.verdict,
            percent(result.floor),
            percent(result.threshold)
        )
    };
    let words: Vec<String> = bench.results.iter().map(words).collect();
    if words.is_empty() {
        return format!("Not timed: head/base {}.", ratio(1.0));
    }
    words.join(" ")
}

/// A coordinate, to a tenth.
pub(super) fn px(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}
