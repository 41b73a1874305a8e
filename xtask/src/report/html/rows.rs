//! The tables of benches, one for each layer.

use super::forest;
use super::markup::{Element, el};
use super::scale::Scale;
use super::{drift, scroller};
use crate::report::model::{Bench, Comparison, Metric, MetricResult, Verdict};
use crate::report::units::{
    change, counted, estimate, interval, is_finite, percent, ratio, values,
};
use crate::report::words::{short, verdicts, worst};

/// The sections of the layers; `number` counts rows through the page, for ids.
pub(super) fn sections(comparison: &Comparison, scale: &Scale) -> Vec<Element> {
    let mut number = 0;
    let mut sections = Vec::new();
    for (index, layer) in crate::report::table::layers(&comparison.benches)
        .iter()
        .enumerate()
    {
        let of_layer = comparison.benches.iter().filter(|b| b.layer == *layer);
        let (identical, timed): (Vec<_>, Vec<_>) = of_layer.partition(|b| b.identical);
        let mut section = el("section").class("layer").child(
            el("h3")
                .attr("id", format_args!("layer-{index}"))
                .text(layer),
        );
        if !timed.is_empty() {
            let rows: Vec<Element> = timed
                .iter()
                .map(|bench| {
                    number += 1;
                    row(comparison, scale, bench, number)
                })
                .collect();
            section = section.child(table(comparison, scale, rows, index));
        }
        if !identical.is_empty() {
            let ids = identical
                .iter()
                .map(|b| el("li").child(el("code").text(&b.id)));
            let what = counted(identical.len(), "bench", "benches");
            section = section.child(
                el("details")
                    .child(
                        el("summary").text(format!("{what} with identical executables, not timed")),
                    )
                    .child(el("ul").class("ids").children(ids)),
            );
        }
        sections.push(section);
    }
    sections
}

/// Roles are spelt out because a narrow screen shows the rows as blocks, which drops the built-in ones.
fn table(comparison: &Comparison, scale: &Scale, rows: Vec<Element>, index: usize) -> Element {
    let lead = lead(comparison);
    let head = |text: &str| {
        el("th")
            .attr("scope", "col")
            .attr("role", "columnheader")
            .text(text)
    };
    let mut header = vec![
        head("bench"),
        head("base").class("number"),
        head("head").class("number"),
        head(&format!("{} head/base", short(lead))).class("number"),
        head("faster ◂ ratio ▸ slower")
            .class("plot")
            .child(forest::axis(scale)),
        head("A/A floor").class("number"),
    ];
    let others = others(comparison).iter();
    header.extend(others.map(|m| head(&format!("{} head/base", short(*m))).class("number")));
    header.extend([head("rounds").class("plot"), head("verdict")]);
    let table = el("table")
        .class("benches")
        .attr("role", "table")
        .attr("aria-labelledby", format_args!("layer-{index}"))
        .child(
            el("thead")
                .attr("role", "rowgroup")
                .child(el("tr").attr("role", "row").children(header)),
        )
        .child(el("tbody").attr("role", "rowgroup").children(rows));
    scroller("Benches of a layer", table)
}

fn row(comparison: &Comparison, scale: &Scale, bench: &Bench, number: usize) -> Element {
    let lead = lead(comparison);
    let mut id = el("th")
        .attr("scope", "row")
        .attr("role", "rowheader")
        .child(el("code").text(&bench.id));
    if !bench.gated {
        let threads = match bench.threads {
            Some(threads) => counted(threads, "thread", "threads"),
            None => "too many threads".to_owned(),
        };
        id = id.child(
            el("span")
                .class("tag")
                .text(format!("{threads}, not counted")),
        );
    }
    let mut cells = vec![id];
    match bench.result(lead) {
        Some(result) => {
            let [base, head] = values(lead, [result.base, result.head]);
            cells.extend([
                cell("base").class("number").text(base),
                cell("head").class("number").text(head),
                figures(&format!("{} head/base", short(lead)), result),
                cell("ratio")
                    .class("plot")
                    .child(forest::row(scale, bench, number)),
                cell("A/A floor")
                    .class("number")
                    .text(percent(result.floor)),
            ]);
        }
        None => cells.extend(["base", "head", "ratio", "plot", "A/A floor"].map(empty)),
    }
    for other in others(comparison) {
        let label = format!("{} head/base", short(*other));
        cells.push(match bench.result(*other) {
            Some(result) => {
                let [base, head] = values(*other, [result.base, result.head]);
                figures(&label, result).attr("title", format_args!("{base} → {head}"))
            }
            None => empty(&label),
        });
    }
    cells.push(match bench.results.first() {
        Some(result) => cell("rounds")
            .class("plot")
            .child(drift::row(bench, result, number)),
        None => empty("rounds"),
    });
    cells.push(verdict(bench));
    let change = bench.result(lead).map_or(f64::NAN, |r| r.ratio.value);
    let mut row = el("tr")
        .attr("role", "row")
        .attr("data-id", bench.id.to_lowercase())
        .attr(
            "data-verdict",
            worst(bench).map_or(String::new(), |v| v.to_string()),
        );
    if change.is_finite() {
        row = row.attr("data-ratio", change);
    }
    if !bench.gated {
        row = row.class("ungated");
    }
    row.children(cells)
}

/// The ratio, below it the interval.
fn figures(label: &str, result: &MetricResult) -> Element {
    let mut cell = cell(label)
        .class("number")
        .child(el("b").text(ratio(result.ratio.value)));
    if is_finite(&result.ratio) {
        cell = cell
            .text(" ")
            .child(el("small").text(interval(&result.ratio)));
    }
    cell
}

fn verdict(bench: &Bench) -> Element {
    let worst = worst(bench).unwrap_or(Verdict::Same);
    let icon = el("svg")
        .class("icon")
        .attr("viewBox", "0 0 14 14")
        .attr("aria-hidden", "true")
        .child(el("path").attr("d", forest::shape(worst, 7.0, 7.0, 5.0)));
    let mut words = el("span").text(verdicts(bench).join(", "));
    if let Some(result) = bench.results.iter().find(|r| r.verdict == worst)
        && worst != Verdict::Same
        && result.ratio.value.is_finite()
    {
        words = words
            .text(" ")
            .child(el("small").text(change(result.ratio.value)));
    }
    cell("verdict")
        .class(&format!("verdict {worst}"))
        .child(icon)
        .child(words)
}

fn cell(label: &str) -> Element {
    el("td").attr("role", "cell").attr("data-label", label)
}

fn empty(label: &str) -> Element {
    cell(label).class("number").text(crate::report::units::NONE)
}

fn lead(comparison: &Comparison) -> Metric {
    let metrics = &comparison.settings.metrics;
    metrics.first().copied().unwrap_or(Metric::Wall)
}

fn others(comparison: &Comparison) -> &[Metric] {
    comparison.settings.metrics.get(1..).unwrap_or_default()
}

/// The geometric means; `None` if there are none.
pub(super) fn means(comparison: &Comparison) -> Option<Element> {
    if comparison.layers.is_empty() {
        return None;
    }
    let scale = Scale::around(forest::WIDTH, comparison.layers.iter().map(|m| &m.mean));
    let head = |text: &str| {
        el("th")
            .attr("scope", "col")
            .attr("role", "columnheader")
            .text(text)
    };
    let rows = comparison.layers.iter().enumerate().map(|(index, mean)| {
        let name = format!("{} {}", mean.layer, mean.metric.name());
        el("tr").attr("role", "row").children([
            el("th")
                .attr("scope", "row")
                .attr("role", "rowheader")
                .text(&mean.layer),
            cell("metric").text(mean.metric.name()),
            cell("benches")
                .class("number")
                .text(mean.benches.to_string()),
            cell("head/base").class("number").text(estimate(&mean.mean)),
            cell("ratio")
                .class("plot")
                .child(forest::mean(&scale, &mean.mean, &name, index)),
        ])
    });
    let header = [
        head("layer"),
        head("metric"),
        head("benches").class("number"),
        head("head/base").class("number"),
        head("faster ◂ ratio ▸ slower")
            .class("plot")
            .child(forest::axis(&scale)),
    ];
    let table = el("table")
        .class("benches means")
        .attr("role", "table")
        .attr("aria-labelledby", "means")
        .child(
            el("thead")
                .attr("role", "rowgroup")
                .child(el("tr").attr("role", "row").children(header)),
        )
        .child(el("tbody").attr("role", "rowgroup").children(rows));
    Some(scroller("Geometric means", table))
}
