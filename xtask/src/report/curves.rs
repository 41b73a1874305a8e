//! CPU time against time, for the values of a constant: a table, and a plot.

use std::time::Duration;

use maud::{Markup, html};

use super::model::Estimate;
use super::peers::Origin;
use super::sheet::{Cell, Sheet};
use super::units::estimate;

/// What one value of a constant costs.
pub(crate) struct Point {
    pub(crate) value: Duration,
    /// Whether it is the one that ships.
    pub(crate) is_shipped: bool,
    /// Nanoseconds an iteration, and the ratio to those of the value that ships.
    pub(crate) wall: (f64, Estimate),
    /// The same of the processors' time.
    pub(crate) cpu: (f64, Estimate),
}

/// The points of a workload.
pub(crate) struct Curve {
    pub(crate) workload: String,
    pub(crate) points: Vec<Point>,
}

/// The curves of a constant.
pub(crate) struct Panel {
    pub(crate) name: String,
    /// Its name in the source, and where that is, as Markdown.
    pub(crate) constant: String,
    pub(crate) curves: Vec<Curve>,
}

/// The table.
pub(crate) fn sheet(panels: &[Panel], origin: Origin, rounds: u32) -> Sheet {
    let mut rows = Vec::new();
    for panel in panels {
        for curve in &panel.curves {
            for point in &curve.points {
                let shipped = if point.is_shipped { ", ships" } else { "" };
                rows.push(vec![
                    Cell::Text(panel.name.clone()),
                    Cell::Text(curve.workload.clone()),
                    Cell::Text(format!("{:?}{shipped}", point.value)),
                    Cell::Nanoseconds(point.wall.0),
                    Cell::Nanoseconds(point.cpu.0),
                    Cell::Text(estimate(&point.wall.1)),
                    Cell::Text(estimate(&point.cpu.1)),
                ]);
            }
        }
    }
    let constants: Vec<String> = (panels.iter())
        .map(|panel| format!("{}: {}.", panel.name, panel.constant))
        .collect();
    let header = [
        "constant",
        "workload",
        "value",
        "time",
        "CPU time",
        "time/shipped",
        "CPU/shipped",
    ];
    Sheet {
        origin,
        title: "Constants".to_owned(),
        note: format!(
            "Medians of {rounds} rounds for one iteration; a ratio is to the value that ships, with its 95 % interval. {}",
            constants.join(" ")
        ),
        header: header.map(str::to_owned).into(),
        rows,
    }
}

/// The side of a panel's square, and what is around it.
const SIDE: f64 = 260.0;
const MARGIN: f64 = 46.0;
const PANEL: f64 = SIDE + 2.0 * MARGIN;
/// Panels beside each other.
const COLUMNS: usize = 2;
/// An axis reaches at least so far to both sides of 1.
const LEAST: f64 = 1.25;
const STYLE: &str = "text { font: 12px system-ui, sans-serif; fill: #222; } .head { font-weight: 600; } \
    line, polyline { stroke: #999; fill: none; } .c0 { stroke: #0b62a8; fill: #0b62a8; } .c1 { stroke: #b4500b; fill: #b4500b; } \
    polyline.c0, polyline.c1 { fill: none; stroke-width: 1.5; } text.c0, text.c1 { stroke: none; } \
    @media (prefers-color-scheme: dark) { text { fill: #ddd; } .c0 { stroke: #6db3ee; fill: #6db3ee; } .c1 { stroke: #f0a060; fill: #f0a060; } }";

/// The plot: a panel for each constant, with logarithmic axes.
pub(crate) fn svg(panels: &[Panel]) -> String {
    let columns = COLUMNS.min(panels.len());
    let lines = panels.len().div_ceil(COLUMNS);
    let (width, height) = (PANEL * columns as f64, PANEL * lines as f64);
    let drawn = html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox=(format!("0 0 {width} {height}")) width=(width) height=(height) role="img" aria-label="CPU time against time for the values of each constant, as ratios to the value that ships" {
            style { (maud::PreEscaped(STYLE)) }
            @for (at, panel) in panels.iter().enumerate() {
                g transform=(format!("translate({} {})", PANEL * (at % COLUMNS) as f64 + MARGIN, PANEL * (at / COLUMNS) as f64 + MARGIN)) {
                    (drawn(panel))
                }
            }
        }
    };
    drawn.into_string() + "\n"
}

/// A place on an axis that reaches from the reciprocal of `reach` to it.
fn place(ratio: f64, reach: f64) -> f64 {
    (ratio.ln() / reach.ln() + 1.0) / 2.0 * SIDE
}

/// How far an axis reaches.
fn reach(ratios: impl Iterator<Item = f64>) -> f64 {
    let away = ratios.filter(|ratio| ratio.is_finite() && *ratio > 0.0);
    let away = away.map(|ratio| ratio.max(1.0 / ratio));
    away.fold(LEAST, f64::max) * 1.1
}

fn drawn(panel: &Panel) -> Markup {
    let points = || panel.curves.iter().flat_map(|curve| &curve.points);
    let (right, top) = (
        reach(points().map(|point| point.wall.1.value)),
        reach(points().map(|point| point.cpu.1.value)),
    );
    let at = |point: &Point| {
        let (x, y) = (point.wall.1.value, point.cpu.1.value);
        (place(x, right), SIDE - place(y, top))
    };
    let path = |curve: &Curve| {
        let places = curve.points.iter().map(at);
        let places: Vec<String> = places.map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        places.join(" ")
    };
    let middle = SIDE / 2.0;
    html! {
        text.head x="0" y="-24" { (panel.name) }
        line x1="0" y1=(SIDE) x2=(SIDE) y2=(SIDE) {}
        line x1="0" y1="0" x2="0" y2=(SIDE) {}
        line x1=(middle) y1="0" x2=(middle) y2=(SIDE) stroke-dasharray="2 4" {}
        line x1="0" y1=(middle) x2=(SIDE) y2=(middle) stroke-dasharray="2 4" {}
        @for tick in [1.0 / right, 1.0, right] {
            text x=(format!("{:.1}", place(tick, right))) y=(SIDE + 16.0) text-anchor="middle" { (format!("{tick:.2}")) }
        }
        @for tick in [1.0 / top, 1.0, top] {
            text x="-6" y=(format!("{:.1}", SIDE - place(tick, top) + 4.0)) text-anchor="end" { (format!("{tick:.2}")) }
        }
        text x=(middle) y=(SIDE + 34.0) text-anchor="middle" { "time ▸" }
        text x="0" y="-6" text-anchor="middle" { "CPU time ▴" }
        @for (nth, curve) in panel.curves.iter().enumerate() {
            @let class = format!("c{}", nth % 2);
            polyline class=(class) points=(path(curve)) {}
            text class=(class) x=(SIDE) y=(14.0 * nth as f64 - 24.0) text-anchor="end" { (curve.workload) }
            @for point in &curve.points {
                @let (x, y) = at(point);
                circle class=(class) cx=(format!("{x:.1}")) cy=(format!("{y:.1}")) r=(if point.is_shipped { "5" } else { "3" }) {}
                text class=(class) x=(format!("{:.1}", x + 6.0)) y=(format!("{:.1}", y - 6.0)) { (format!("{:?}", point.value)) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Curve, Duration, Estimate, Panel, Point, svg};

    #[test]
    fn the_value_that_ships_is_in_the_middle() {
        let point = |micros, ratio: f64| {
            let both = Estimate {
                value: ratio,
                low: ratio,
                high: ratio,
            };
            Point {
                value: Duration::from_micros(micros),
                is_shipped: micros == 25,
                wall: (1.0, both),
                cpu: (1.0, both),
            }
        };
        let panel = Panel {
            name: "beat".to_owned(),
            constant: "BEAT".to_owned(),
            curves: vec![Curve {
                workload: "burst".to_owned(),
                points: vec![point(5, 0.5), point(25, 1.0), point(100, 3.0)],
            }],
        };
        let drawn = svg(&[panel]);
        let parsed = roxmltree::Document::parse(&drawn).expect("it is well-formed");
        let circles = parsed
            .descendants()
            .filter(|node| node.has_tag_name("circle"));
        let of = |node: roxmltree::Node<'_, '_>, name| -> f64 {
            let text = node.attribute(name).expect("a circle has it");
            text.parse().expect("a number")
        };
        let places: Vec<_> = circles
            .map(|c| (of(c, "cx"), of(c, "cy"), of(c, "r")))
            .collect();
        assert_eq!(places[1], (130.0, 130.0, 5.0));
        assert!(places[0].0 < 130.0 && places[0].1 > 130.0);
        assert!(places[2].0 > places[1].0 && places[2].0 < 260.0 && places[2].1 > 0.0);
    }
}
