//! The forest plot: a bench's ratio with its interval, against the threshold and the A/A floor.

use super::markup::{Element, el};
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

fn svg(height: f64) -> Element {
    let from = -MARGIN;
    let width = WIDTH + 2.0 * MARGIN;
    el("svg").attr("viewBox", format_args!("{from} 0 {width} {height}"))
}

/// The numbers of the axis, for the head of a table.
pub(super) fn axis(scale: &Scale) -> Element {
    let ticks = scale.ticks(TICK_GAP);
    let labels = ticks.iter().filter_map(|tick| {
        let (x, _) = scale.place(*tick)?;
        let label = format!("{tick:.2}");
        let label = label.trim_end_matches('0').trim_end_matches('.');
        Some([
            el("text").attr("x", px(x)).attr("y", 10).text(label),
            line("tick", x, 14.0, x, 19.0),
        ])
    });
    svg(20.0)
        .class("axis")
        .attr("aria-hidden", "true")
        .children(labels.flatten())
}

/// One row; `number` makes its ids unique.
pub(super) fn row(scale: &Scale, bench: &Bench, number: usize) -> Element {
    let (title, desc) = (format!("ft{number}"), format!("fd{number}"));
    let height = height(bench.results.len());
    let mut drawing = svg(height)
        .class("forest")
        .attr("role", "img")
        .attr("aria-labelledby", format_args!("{title} {desc}"))
        .child(
            el("title")
                .attr("id", title)
                .text(format!("Ratio of {}", bench.id)),
        )
        .child(el("desc").attr("id", desc).text(described(bench)));
    let (middle, _) = scale.place(1.0).expect("one is a ratio");
    if let Some(lead) = bench.results.first() {
        let bands = [
            ("band", lead.threshold, 2.0, height - 4.0),
            ("floor", lead.floor, FIRST - 6.0, 12.0),
        ];
        for (class, fraction, top, height) in bands {
            if let Some((left, right)) = scale.band(fraction) {
                drawing = drawing.child(
                    el("rect")
                        .class(class)
                        .attr("x", px(left))
                        .attr("y", top)
                        .attr("width", px(right - left))
                        .attr("height", height),
                );
            }
        }
    }
    drawing = drawing.child(line("one", middle, 0.0, middle, height));
    for (index, result) in bench.results.iter().enumerate() {
        drawing = drawing.children(line_of(scale, &result.ratio, index, result.verdict));
    }
    drawing
}

/// A layer's means, one line for each metric.
pub(super) fn means(scale: &Scale, layer: &str, means: &[&LayerMean], number: usize) -> Element {
    let title = format!("m{number}");
    let words = |mean: &&LayerMean| format!("{} {}", mean.metric.name(), estimate(&mean.mean));
    let words: Vec<String> = means.iter().map(words).collect();
    let height = height(means.len());
    let (middle, _) = scale.place(1.0).expect("one is a ratio");
    let mut drawing = svg(height)
        .class("forest")
        .attr("role", "img")
        .attr("aria-labelledby", &title)
        .child(
            el("title")
                .attr("id", &title)
                .text(format!("{layer}: {}", words.join(", "))),
        )
        .child(line("one", middle, 0.0, middle, height));
    for (index, mean) in means.iter().enumerate() {
        drawing = drawing.children(line_of(scale, &mean.mean, index, Verdict::Same));
    }
    drawing
}

/// The whisker of a row's `index`th metric.
fn line_of(scale: &Scale, of: &Estimate, index: usize, verdict: Verdict) -> Vec<Element> {
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
) -> Vec<Element> {
    let mut parts = Vec::new();
    let mut marked = true;
    if let (Some((low, low_beyond)), Some((high, high_beyond))) =
        (scale.place(of.low), scale.place(of.high))
    {
        let arrow = |x: f64| {
            let inward = if x > WIDTH / 2.0 { -size } else { size };
            let (back, x, top, bottom) = (px(x + inward), px(x), y - size, y + size);
            format!("M{back} {top}L{x} {y}L{back} {bottom}")
        };
        let cap = |x: f64| format!("M{} {}V{}", px(x), y - size, y + size);
        let end = |x: f64, beyond: bool| if beyond { arrow(x) } else { cap(x) };
        let path = if low_beyond && high_beyond && low == high {
            marked = false;
            let inward = if low > 0.0 { -size } else { size };
            arrow(low) + &arrow(low + inward)
        } else {
            let line = format!("M{} {y}H{}", px(low), px(high));
            line + &end(low, low_beyond) + &end(high, high_beyond)
        };
        parts.push(
            el("path")
                .class(&format!("whisker {class}"))
                .attr("d", path),
        );
    }
    if let Some((x, _)) = scale.place(of.value).filter(|_| marked) {
        let shape = shape(verdict, x, y, size + 0.5);
        parts.push(
            el("path")
                .class(&format!("marker {class}"))
                .attr("d", shape),
        );
    }
    parts
}

/// A triangle towards slower or faster, a diamond for unstable, a disc for the rest.
pub(super) fn shape(verdict: Verdict, x: f64, y: f64, size: f64) -> String {
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

fn line(class: &str, x1: f64, y1: f64, x2: f64, y2: f64) -> Element {
    el("line")
        .class(class)
        .attr("x1", px(x1))
        .attr("y1", y1)
        .attr("x2", px(x2))
        .attr("y2", y2)
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
