//! The A/A floor: how much BASE differs from itself, bench by bench.

use super::forest::px;
use super::markup::{Element, el};
use crate::report::model::Comparison;
use crate::report::units::{counted, percent};
use crate::report::words::short;

const WIDTH: f64 = 640.0;
/// Of one metric's strip.
const STRIP: f64 = 44.0;
/// Left of the axis, for the names.
const LEFT: f64 = 48.0;
const RIGHT: f64 = 16.0;
/// The ends of the axis, as fractions; what is beyond is drawn at the end.
const LEAST: f64 = 0.001;
const MOST: f64 = 1.0;
const TICKS: [f64; 7] = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0];

/// The section's content; none if nothing was measured.
pub(super) fn content(comparison: &Comparison) -> Option<Vec<Element>> {
    let mut strips = Vec::new();
    let mut sentences = Vec::new();
    for metric in &comparison.settings.metrics {
        let results = comparison.benches.iter().filter_map(|b| {
            let floor = b.result(*metric)?.floor;
            floor.is_finite().then_some((floor, b.id.as_str()))
        });
        let mut floors: Vec<_> = results.collect();
        floors.sort_by(|a, b| a.0.total_cmp(&b.0));
        let Some((largest, id)) = floors.last().copied() else {
            continue;
        };
        let threshold = comparison.settings.threshold;
        let above = floors
            .iter()
            .filter(|(floor, _)| *floor > threshold)
            .count();
        sentences.push(format!(
            "{}: half of the benches are below {}, the largest is {} ({id}); {} above the threshold of {}.",
            metric.name(),
            percent(floors[floors.len() / 2].0),
            percent(largest),
            counted(above, "bench is", "benches are"),
            percent(threshold)
        ));
        strips.push((short(*metric), floors));
    }
    if strips.is_empty() {
        return None;
    }
    let height = STRIP * strips.len() as f64 + 22.0;
    let mut drawing = el("svg")
        .class("noise")
        .attr("viewBox", format_args!("0 0 {WIDTH} {height}"))
        .attr("role", "img")
        .attr("aria-labelledby", "noise-title noise-desc")
        .child(
            el("title")
                .attr("id", "noise-title")
                .text("A/A floor of each bench"),
        )
        .child(
            el("desc")
                .attr("id", "noise-desc")
                .text(sentences.join(" ")),
        );
    for tick in TICKS {
        let x = px(place(tick));
        let label = format!("{} %", (tick * 1000.0).round() / 10.0);
        drawing = drawing.children([
            el("line")
                .class("tick")
                .attr("x1", &x)
                .attr("y1", 0)
                .attr("x2", &x)
                .attr("y2", height - 18.0),
            el("text").attr("x", &x).attr("y", height - 4.0).text(label),
        ]);
    }
    let x = px(place(comparison.settings.threshold));
    drawing = drawing.child(
        el("line")
            .class("limit")
            .attr("x1", &x)
            .attr("y1", 0)
            .attr("x2", &x)
            .attr("y2", height - 18.0),
    );
    for (index, (name, floors)) in strips.iter().enumerate() {
        let y = STRIP * (index as f64 + 0.5);
        // Spread up and down by a fixed pattern, so that equal floors do not hide one another.
        let dots: String = floors
            .iter()
            .enumerate()
            .map(|(n, (floor, _))| {
                let aside = ((n * 5) % 11) as f64 - 5.0;
                format!("M{} {}h0", px(place(*floor)), px(y + aside * 2.4))
            })
            .collect();
        drawing = drawing.children([
            el("text")
                .class("name")
                .attr("x", 0)
                .attr("y", px(y + 4.0))
                .text(name),
            el("path").class("dots floor-dots").attr("d", dots),
        ]);
    }
    let sentences = sentences.into_iter().map(|s| el("p").text(s));
    let plot = el("div")
        .class("scroll")
        .attr("tabindex", 0)
        .attr("role", "group")
        .attr("aria-label", "Plot of the A/A floors")
        .child(drawing);
    Some(sentences.chain([plot]).collect())
}

fn place(fraction: f64) -> f64 {
    let inside = fraction.clamp(LEAST, MOST);
    let part = (inside / LEAST).ln() / (MOST / LEAST).ln();
    LEFT + part * (WIDTH - LEFT - RIGHT)
}
