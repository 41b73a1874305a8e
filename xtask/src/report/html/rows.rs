//! The tables of benches, one for each layer.

use super::forest;
use super::markup::{self, Element, el};
use super::scale::Scale;
use super::{drift, scroller};
use crate::report::model::{Bench, Comparison, Estimate, LayerMean, Metric};
use crate::report::units::{change, counted, interval, is_finite, percent, ratio, values};
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
            section = section.child(table(comparison, layer, scale, rows, index));
        }
        if !identical.is_empty() {
            let ids = identical.iter().map(|b| el("li").child(markup::id(&b.id)));
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

fn table(
    comparison: &Comparison,
    layer: &str,
    scale: &Scale,
    rows: Vec<Element>,
    index: usize,
) -> Element {
    let mut header = vec![
        head("bench"),
        head("base").class("number"),
        head("head").class("number"),
        head(&of(lead(comparison))).class("number"),
        plot(scale),
        head("A/A floor").class("number"),
    ];
    let others = others(comparison).iter();
    header.extend(others.map(|metric| head(&of(*metric)).class("number")));
    header.extend([
        head("rounds").class("drifts"),
        head("verdict").class("verdict"),
    ]);
    let labelled_by = format!("layer-{index}");
    assembled(
        &labelled_by,
        &format!("Benches of {layer}"),
        scale,
        header,
        rows,
    )
}

fn row(comparison: &Comparison, scale: &Scale, bench: &Bench, number: usize) -> Element {
    let lead = lead(comparison);
    let mut id = el("th")
        .attr("scope", "row")
        .attr("role", "rowheader")
        .child(markup::id(&bench.id));
    if !bench.gated {
        let threads = match bench.threads {
            Some(threads) => counted(threads, "thread", "threads"),
            None => "too many threads".to_owned(),
        };
        id = id.text(" ").child(
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
                figures(&of(lead), &result.ratio),
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
        let label = of(*other);
        cells.push(match bench.result(*other) {
            Some(result) => {
                let [base, head] = values(*other, [result.base, result.head]);
                figures(&label, &result.ratio).attr("title", format_args!("{base} → {head}"))
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
fn figures(label: &str, of: &Estimate) -> Element {
    let value = el("b").text(ratio(of.value));
    let cell = cell(label).class("number").child(value);
    if is_finite(of) {
        cell.text(" ").child(el("small").text(interval(of)))
    } else {
        cell
    }
}

fn verdict(bench: &Bench) -> Element {
    let worst = worst(bench);
    let icon = worst.map(|worst| {
        let shape = forest::shape(worst, 7.0, 7.0, 5.0);
        el("svg")
            .class("icon")
            .attr("viewBox", "0 0 14 14")
            .attr("aria-hidden", "true")
            .child(el("path").attr("d", shape))
    });
    let lines = verdicts(bench).into_iter().map(|(words, ratio)| {
        let line = el("div").text(&words);
        if ratio.is_finite() {
            line.text(" ").child(el("small").text(change(ratio)))
        } else {
            line
        }
    });
    let words = el("div").children(lines);
    cell("verdict")
        .class(&match worst {
            Some(worst) => format!("verdict {worst}"),
            None => "verdict".to_owned(),
        })
        .children(icon)
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

/// The geometric means, a row for each layer; `None` if there are none.
pub(super) fn means(comparison: &Comparison) -> Option<Element> {
    let mut layers: Vec<(&str, Vec<&LayerMean>)> = Vec::new();
    for mean in &comparison.layers {
        match layers.iter_mut().find(|(layer, _)| *layer == mean.layer) {
            Some((_, means)) => means.push(mean),
            None => layers.push((&mean.layer, vec![mean])),
        }
    }
    if layers.is_empty() {
        return None;
    }
    let scale = Scale::around(forest::WIDTH, comparison.layers.iter().map(|m| &m.mean));
    let mut header = vec![head("layer"), head("benches").class("number")];
    let metrics = &comparison.settings.metrics;
    header.extend(metrics.iter().map(|m| head(&of(*m)).class("number")));
    header.push(plot(&scale));
    let rows = layers.iter().enumerate().map(|(index, (layer, means))| {
        let counted = means.iter().map(|mean| mean.benches).max().unwrap_or(0);
        let mut cells = vec![
            el("th")
                .attr("scope", "row")
                .attr("role", "rowheader")
                .text(layer),
            cell("benches").class("number").text(counted.to_string()),
        ];
        cells.extend(metrics.iter().map(|metric| {
            let mean = means.iter().find(|mean| mean.metric == *metric);
            match mean {
                Some(mean) => figures(&of(*metric), &mean.mean),
                None => empty(&of(*metric)),
            }
        }));
        let drawing = forest::means(&scale, layer, means, index);
        cells.push(cell("ratio").class("plot").child(drawing));
        el("tr").attr("role", "row").children(cells)
    });
    Some(assembled("means", "Geometric means", &scale, header, rows))
}

/// A table with an axis above it where its own head does not show. Roles are spelt out because a
/// narrow screen shows the rows as blocks, which drops the built-in ones.
fn assembled(
    labelled_by: &str,
    label: &str,
    scale: &Scale,
    header: Vec<Element>,
    rows: impl IntoIterator<Item = Element>,
) -> Element {
    let class = if labelled_by == "means" {
        "benches means"
    } else {
        "benches"
    };
    let row = el("tr").attr("role", "row").children(header);
    let table = el("table")
        .class(class)
        .attr("role", "table")
        .attr("aria-labelledby", labelled_by)
        .child(el("thead").attr("role", "rowgroup").child(row))
        .child(el("tbody").attr("role", "rowgroup").children(rows));
    let axis = el("div").class("axis-above").child(forest::axis(scale));
    el("div").child(axis).child(scroller(label, table))
}

fn head(text: &str) -> Element {
    el("th")
        .attr("scope", "col")
        .attr("role", "columnheader")
        .text(text)
}

fn plot(scale: &Scale) -> Element {
    head("faster ◂ ratio ▸ slower")
        .class("plot")
        .child(forest::axis(scale))
}

/// The name of a metric's ratio.
fn of(metric: Metric) -> String {
    format!("{} head/base", short(metric))
}
