//! CPU time against time, for the values of a constant: a table, and a plot.

use std::time::Duration;

use maud::{Markup, PreEscaped, html};

use super::model::Estimate;
use super::peers::Origin;
use super::plot::{Axis, px};
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
    let header = "constant,workload,value,time,CPU time,time/shipped,CPU/shipped";
    Sheet {
        origin,
        title: "Constants".to_owned(),
        note: format!(
            "Medians of {rounds} rounds for one iteration; a ratio is to the value that ships, with its 95 % interval. {}",
            constants.join(" ")
        ),
        header: header.split(',').map(str::to_owned).collect(),
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
const STYLE: &str = include_str!("curves.css");

/// The plot: a panel for each constant, with logarithmic axes.
pub(crate) fn svg(panels: &[Panel]) -> String {
    let (columns, lines) = (COLUMNS.min(panels.len()), panels.len().div_ceil(COLUMNS));
    let (width, height) = (PANEL * columns as f64, PANEL * lines as f64);
    let left = |at: usize| PANEL * (at % COLUMNS) as f64 + MARGIN;
    let top = |at: usize| PANEL * (at / COLUMNS) as f64 + MARGIN;
    let drawn = html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox=(format!("0 0 {width} {height}")) width=(width) height=(height) role="img" aria-label="CPU time against time for the values of each constant, as ratios to the value that ships" {
            style { (PreEscaped(STYLE)) }
            @for (at, panel) in panels.iter().enumerate() {
                g transform=(format!("translate({} {})", left(at), top(at))) { (drawn(panel)) }
            }
        }
    };
    drawn.into_string() + "\n"
}

/// An axis that suits all ratios.
fn axis(ratios: impl Iterator<Item = f64>) -> Axis {
    let furthest = Axis::distances(ratios)
        .last()
        .map_or(LEAST, |far| far.max(LEAST));
    Axis {
        reach: furthest * 1.1,
        width: SIDE,
    }
}

fn drawn(panel: &Panel) -> Markup {
    let points = || panel.curves.iter().flat_map(|curve| &curve.points);
    let across = axis(points().map(|point| point.wall.1.value));
    let up = axis(points().map(|point| point.cpu.1.value));
    let x = |ratio: f64| across.place(ratio).unwrap_or_default();
    let y = |ratio: f64| SIDE - up.place(ratio).unwrap_or_default();
    let at = |point: &Point| (x(point.wall.1.value), y(point.cpu.1.value));
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
        @for tick in [1.0 / across.reach, 1.0, across.reach] {
            text x=(px(x(tick))) y=(SIDE + 16.0) text-anchor="middle" { (format!("{tick:.2}")) }
        }
        @for tick in [1.0 / up.reach, 1.0, up.reach] {
            text x="-6" y=(px(y(tick) + 4.0)) text-anchor="end" { (format!("{tick:.2}")) }
        }
        text x=(middle) y=(SIDE + 34.0) text-anchor="middle" { "time ▸" }
        text x="0" y="-6" text-anchor="middle" { "CPU time ▴" }
        @for (nth, curve) in panel.curves.iter().enumerate() {
            @let class = format!("c{}", nth % 2);
            polyline class=(class) points=(path(curve)) {}
            text class=(class) x=(SIDE) y=(14.0 * nth as f64 - 24.0) text-anchor="end" { (curve.workload) }
            @for point in &curve.points {
                @let (x, y) = at(point);
                circle class=(class) cx=(px(x)) cy=(px(y)) r=(if point.is_shipped { "5" } else { "3" }) {}
                text class=(class) x=(px(x + 6.0)) y=(px(y - 6.0)) { (format!("{:?}", point.value)) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Curve, Duration, Estimate, Panel, Point, svg};

    #[test]
    fn the_value_that_ships_is_in_the_middle() {
        let point = |micros, value: f64| {
            let (low, high) = (value, value);
            let both = (1.0, Estimate { value, low, high });
            Point {
                value: Duration::from_micros(micros),
                is_shipped: micros == 25,
                wall: both,
                cpu: both,
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
        roxmltree::Document::parse(&drawn).expect("it is well-formed");
        expect_test::expect_file!["snapshots/curves.svg"].assert_eq(&drawn);
    }
}
