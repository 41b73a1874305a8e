//! The A/A floor: how much BASE differs from itself, bench by bench.

use maud::{Markup, html};

use super::forest::px;
use super::scroller;
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
pub(super) fn content(comparison: &Comparison) -> Option<Markup> {
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
    let limit = place(comparison.settings.threshold);
    let vertical = |class: &str, x: f64| {
        html! { line class=(class) x1=(px(x)) y1="0" x2=(px(x)) y2=(height - 18.0) {} }
    };
    let drawing = html! {
        svg.noise viewBox=(format!("0 0 {WIDTH} {height}")) role="img" aria-labelledby="noise-title noise-desc" {
            title #noise-title { "A/A floor of each bench" }
            desc #noise-desc { (sentences.join(" ")) }
            @for tick in TICKS {
                (vertical("tick", place(tick)))
                text x=(px(place(tick))) y=(height - 4.0) { ((tick * 1000.0).round() / 10.0) " %" }
            }
            (vertical("limit", limit))
            @for (index, (name, floors)) in strips.iter().enumerate() {
                @let y = STRIP * (index as f64 + 0.5);
                text.name x="0" y=(px(y + 4.0)) { (name) }
                path class="dots floor-dots" d=(dots(floors, y)) {}
            }
        }
    };
    Some(html! {
        @for sentence in &sentences { p { (sentence) } }
        (scroller("Plot of the A/A floors", &drawing))
    })
}

/// Spread up and down by a fixed pattern, so that equal floors do not hide one another.
fn dots(floors: &[(f64, &str)], y: f64) -> String {
    let dot = |(n, (floor, _)): (usize, &(f64, &str))| {
        let aside = ((n * 5) % 11) as f64 - 5.0;
        format!("M{} {}h0", px(place(*floor)), px(y + aside * 2.4))
    };
    floors.iter().enumerate().map(dot).collect()
}

fn place(fraction: f64) -> f64 {
    let inside = fraction.clamp(LEAST, MOST);
    let part = (inside / LEAST).ln() / (MOST / LEAST).ln();
    LEFT + part * (WIDTH - LEFT - RIGHT)
}
