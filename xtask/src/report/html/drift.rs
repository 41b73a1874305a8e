//! A bench over the rounds: did the ratio wander while it was measured?

use super::forest::px;
use super::markup::{Element, el};
use super::scale::Scale;
use crate::report::model::{Bench, MetricResult};
use crate::report::units::ratio;

const WIDTH: f64 = 120.0;
const HEIGHT: f64 = 30.0;
const MARGIN: f64 = 4.0;

/// HEAD/BASE as a line with dots and BASE/BASE as dashes, on an axis of the row's own.
pub(super) fn row(bench: &Bench, result: &MetricResult, number: usize) -> Element {
    let all = || result.rounds.iter().chain(&result.aa_rounds).copied();
    let scale = Scale::reaching(HEIGHT - 2.0 * MARGIN, 1.0 + result.threshold, all());
    let (title, desc) = (format!("dt{number}"), format!("dd{number}"));
    let mut drawing = el("svg")
        .class("drift")
        .attr("viewBox", format_args!("0 0 {WIDTH} {HEIGHT}"))
        .attr("role", "img")
        .attr("aria-labelledby", format_args!("{title} {desc}"))
        .child(
            el("title")
                .attr("id", title)
                .text(format!("Rounds of {}", bench.id)),
        )
        .child(el("desc").attr("id", desc).text(described(result)));
    if let Some((low, high)) = scale.band(result.threshold) {
        drawing = drawing.child(
            el("rect")
                .class("band")
                .attr("x", 0)
                .attr("y", px(MARGIN + low))
                .attr("width", WIDTH)
                .attr("height", px(high - low)),
        );
    }
    let middle = px(HEIGHT / 2.0);
    drawing = drawing.child(
        el("line")
            .class("one")
            .attr("x1", 0)
            .attr("y1", &middle)
            .attr("x2", WIDTH)
            .attr("y2", &middle),
    );
    for (class, rounds) in [("aa", &result.aa_rounds), ("head", &result.rounds)] {
        let places = places(&scale, rounds);
        if places.is_empty() {
            continue;
        }
        let joined: Vec<String> = places.iter().map(|(x, y)| format!("{x} {y}")).collect();
        let dots: String = joined.iter().map(|place| format!("M{place}h0")).collect();
        drawing = drawing.children([
            el("path")
                .class(&format!("run {class}"))
                .attr("d", format!("M{}", joined.join("L"))),
            el("path").class(&format!("dots {class}")).attr("d", dots),
        ]);
    }
    drawing
}

/// Slower is up.
fn places(scale: &Scale, rounds: &[f64]) -> Vec<(String, String)> {
    let step = (WIDTH - 2.0 * MARGIN) / rounds.len().saturating_sub(1).max(1) as f64;
    rounds
        .iter()
        .enumerate()
        .filter_map(|(index, value)| {
            let (up, _) = scale.place(*value)?;
            Some((px(MARGIN + step * index as f64), px(HEIGHT - MARGIN - up)))
        })
        .collect()
}

fn described(result: &MetricResult) -> String {
    let range = |rounds: &[f64]| {
        let rounds = || rounds.iter().copied().filter(|r| r.is_finite());
        match rounds().count() {
            0 => "no round".to_owned(),
            1 => format!(
                "1 round at {}",
                ratio(rounds().fold(f64::INFINITY, f64::min))
            ),
            n => format!(
                "{n} rounds between {} and {}",
                ratio(rounds().fold(f64::INFINITY, f64::min)),
                ratio(rounds().fold(f64::NEG_INFINITY, f64::max))
            ),
        }
    };
    format!(
        "Head/base: {}. Base/base: {}.",
        range(&result.rounds),
        range(&result.aa_rounds)
    )
}
