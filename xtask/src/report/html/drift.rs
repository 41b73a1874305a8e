//! A bench over the rounds: did the ratio wander while it was measured?

use maud::{Markup, html};

use super::forest::px;
use super::scale::Scale;
use crate::report::model::{Bench, MetricResult};
use crate::report::units::ratio;

const WIDTH: f64 = 120.0;
const HEIGHT: f64 = 30.0;
const MARGIN: f64 = 4.0;

/// HEAD/BASE as a line with dots and BASE/BASE as dashes, on an axis of the row's own.
pub(super) fn row(bench: &Bench, result: &MetricResult, number: usize) -> Markup {
    let all = || result.rounds.iter().chain(&result.aa_rounds).copied();
    let scale = Scale::reaching(HEIGHT - 2.0 * MARGIN, 1.0 + result.threshold, all());
    let (title, desc) = (format!("dt{number}"), format!("dd{number}"));
    let middle = px(HEIGHT / 2.0);
    let runs = [("aa", &result.aa_rounds), ("head", &result.rounds)];
    let runs = runs.map(|(class, rounds)| (class, places(&scale, rounds)));
    html! {
        svg.drift viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-labelledby={ (title) " " (desc) } {
            title id=(title) { "Rounds of " (bench.id) }
            desc id=(desc) { (described(result)) }
            @if let Some((low, high)) = scale.band(result.threshold) {
                rect.band x="0" y=(px(MARGIN + low)) width=(WIDTH) height=(px(high - low)) {}
            }
            line.one x1="0" y1=(middle) x2=(WIDTH) y2=(middle) {}
            @for (class, places) in runs.iter().filter(|(_, places)| !places.is_empty()) {
                path class={ "run " (class) } d={ "M" (places.join("L")) } {}
                path class={ "dots " (class) } d={ @for place in places { "M" (place) "h0" } } {}
            }
        }
    }
}

/// Slower is up.
fn places(scale: &Scale, rounds: &[f64]) -> Vec<String> {
    let step = (WIDTH - 2.0 * MARGIN) / rounds.len().saturating_sub(1).max(1) as f64;
    let place = |(index, value): (usize, &f64)| {
        let (up, _) = scale.place(*value)?;
        let (x, y) = (MARGIN + step * index as f64, HEIGHT - MARGIN - up);
        Some(format!("{} {}", px(x), px(y)))
    };
    rounds.iter().enumerate().filter_map(place).collect()
}

fn described(result: &MetricResult) -> String {
    let range = |rounds: &[f64]| {
        let rounds = || rounds.iter().copied().filter(|r| r.is_finite());
        let least = ratio(rounds().fold(f64::INFINITY, f64::min));
        let most = ratio(rounds().fold(f64::NEG_INFINITY, f64::max));
        match rounds().count() {
            0 => "no round".to_owned(),
            1 => format!("1 round at {least}"),
            n => format!("{n} rounds between {least} and {most}"),
        }
    };
    let (head, base) = (range(&result.rounds), range(&result.aa_rounds));
    format!("Head/base: {head}. Base/base: {base}.")
}
