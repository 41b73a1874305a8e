//! The tables of benches, one for each layer.

use maud::{Markup, html};

use super::scale::Scale;
use super::{drift, forest, id, ids, scroller};
use crate::report::model::{Bench, Comparison, Estimate, LayerMean, Metric};
use crate::report::units::{NONE, change, counted, interval, is_finite, percent, ratio, values};
use crate::report::words::{short, verdicts, worst};

/// The sections of the layers; `number` counts rows through the page, for ids.
pub(super) fn sections(comparison: &Comparison, scale: &Scale) -> Markup {
    let mut number = 0..;
    let layers = crate::report::table::layers(&comparison.benches);
    html! {
        @for (index, layer) in layers.iter().enumerate() {
            @let labelled_by = format!("layer-{index}");
            @let of_layer = comparison.benches.iter().filter(|b| b.layer == *layer);
            @let (identical, timed): (Vec<_>, Vec<_>) = of_layer.partition(|b| b.identical);
            section.layer {
                h3 id=(labelled_by) { (layer) }
                @if !timed.is_empty() {
                    @let rows = html! {
                        @for (bench, number) in timed.iter().zip(&mut number) {
                            (row(comparison, scale, bench, number))
                        }
                    };
                    @let name = format!("Benches of {layer}");
                    (table("benches", &labelled_by, &name, scale, &header(comparison, scale), &rows))
                }
                @if !identical.is_empty() {
                    details {
                        summary {
                            (counted(identical.len(), "bench", "benches")) " with identical executables, not timed"
                        }
                        (ids(identical.iter().map(|b| (b.id.as_str(), None))))
                    }
                }
            }
        }
    }
}

fn header(comparison: &Comparison, scale: &Scale) -> Markup {
    html! {
        (head("", "bench"))
        (head("number", "base"))
        (head("number", "head"))
        (head("number", of(lead(comparison))))
        (plot(scale))
        (head("number", "A/A floor"))
        @for metric in others(comparison) { (head("number", of(*metric))) }
        (head("drifts", "rounds"))
        (head("verdict", "verdict"))
    }
}

fn row(comparison: &Comparison, scale: &Scale, bench: &Bench, number: usize) -> Markup {
    let lead = lead(comparison);
    let threads = || match bench.threads {
        Some(threads) => counted(threads, "thread", "threads"),
        None => "too many threads".to_owned(),
    };
    let ratio = bench.result(lead).map(|result| result.ratio.value);
    let ratio = ratio.filter(|ratio| ratio.is_finite());
    html! {
        tr role="row" data-id=(bench.id.to_lowercase())
            data-verdict=(worst(bench).map_or(String::new(), |v| v.to_string()))
            data-ratio=[ratio] class=[(!bench.gated).then_some("ungated")]
        {
            th scope="row" role="rowheader" {
                (id(&bench.id))
                @if !bench.gated { " " span.tag { (threads()) ", not counted" } }
            }
            @if let Some(result) = bench.result(lead) {
                @let [base, head] = values(lead, [result.base, result.head]);
                (cell("number", "base", &base))
                (cell("number", "head", &head))
                (figures(&of(lead), None, &result.ratio))
                (cell("plot", "ratio", forest::row(scale, bench, number)))
                (cell("number", "A/A floor", percent(result.floor)))
            } @else {
                @for label in ["base", "head", "ratio", "plot", "A/A floor"] { (empty(label)) }
            }
            @for other in others(comparison) {
                @if let Some(result) = bench.result(*other) {
                    @let sides = values(*other, [result.base, result.head]).join(" → ");
                    (figures(&of(*other), Some(&sides), &result.ratio))
                } @else {
                    (empty(&of(*other)))
                }
            }
            @match bench.results.first() {
                Some(result) => (cell("plot", "rounds", drift::row(bench, result, number))),
                None => (empty("rounds")),
            }
            (verdict(bench))
        }
    }
}

/// The ratio, below it the interval.
fn figures(label: &str, title: Option<&str>, of: &Estimate) -> Markup {
    html! {
        td.number role="cell" data-label=(label) title=[title] {
            b { (ratio(of.value)) }
            @if is_finite(of) { " " small { (interval(of)) } }
        }
    }
}

fn verdict(bench: &Bench) -> Markup {
    let worst = worst(bench);
    let class = worst.map_or("verdict".to_owned(), |worst| format!("verdict {worst}"));
    let content = html! {
        @if let Some(worst) = worst { (forest::icon(worst, 5.0)) }
        div {
            @for (words, ratio) in verdicts(bench) {
                div {
                    (words)
                    @if ratio.is_finite() { " " small { (change(ratio)) } }
                }
            }
        }
    };
    cell(&class, "verdict", content)
}

fn cell(class: &str, label: &str, content: impl maud::Render) -> Markup {
    html! { td class=(class) role="cell" data-label=(label) { (content) } }
}

fn empty(label: &str) -> Markup {
    cell("number", label, NONE)
}

fn lead(comparison: &Comparison) -> Metric {
    let metrics = &comparison.settings.metrics;
    metrics.first().copied().unwrap_or(Metric::Wall)
}

fn others(comparison: &Comparison) -> &[Metric] {
    comparison.settings.metrics.get(1..).unwrap_or_default()
}

/// The geometric means, a row for each layer; `None` if there are none.
pub(super) fn means(comparison: &Comparison) -> Option<Markup> {
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
    let metrics = &comparison.settings.metrics;
    let header = html! {
        (head("", "layer"))
        (head("number", "benches"))
        @for metric in metrics { (head("number", of(*metric))) }
        (plot(&scale))
    };
    let rows = html! {
        @for (index, (layer, means)) in layers.iter().enumerate() {
            tr role="row" {
                th scope="row" role="rowheader" { (layer) }
                (cell("number", "benches", means.iter().map(|mean| mean.benches).max().unwrap_or(0)))
                @for metric in metrics {
                    @match means.iter().find(|mean| mean.metric == *metric) {
                        Some(mean) => (figures(&of(*metric), None, &mean.mean)),
                        None => (empty(&of(*metric))),
                    }
                }
                (cell("plot", "ratio", forest::means(&scale, layer, means, index)))
            }
        }
    };
    Some(table(
        "benches means",
        "means",
        "Geometric means",
        &scale,
        &header,
        &rows,
    ))
}

/// A table with an axis above it where its own head does not show. Roles are spelt out because a
/// narrow screen shows the rows as blocks, which drops the built-in ones.
fn table(
    class: &str,
    labelled_by: &str,
    label: &str,
    scale: &Scale,
    header: &Markup,
    rows: &Markup,
) -> Markup {
    let table = html! {
        table class=(class) role="table" aria-labelledby=(labelled_by) {
            thead role="rowgroup" { tr role="row" { (header) } }
            tbody role="rowgroup" { (rows) }
        }
    };
    html! {
        div {
            div.axis-above { (forest::axis(scale)) }
            (scroller(label, &table))
        }
    }
}

fn head(class: &str, content: impl maud::Render) -> Markup {
    html! { th scope="col" role="columnheader" class=[(!class.is_empty()).then_some(class)] { (content) } }
}

fn plot(scale: &Scale) -> Markup {
    head(
        "plot",
        html! { "faster ◂ ratio ▸ slower" (forest::axis(scale)) },
    )
}

/// The name of a metric's ratio.
fn of(metric: Metric) -> String {
    format!("{} head/base", short(metric))
}
