//! `report.html`: one file, without network, readable without scripts, in light and dark.

mod drift;
mod forest;
mod noise;
mod rows;
mod scale;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::conditions;
use super::model::{Comparison, Outcome, Verdict};
use super::units::counted;
use super::words::{Tally, effort, headline, next_step};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Lists that are longer are closed at first.
const OPEN: usize = 10;

/// The whole page.
pub(crate) fn html(comparison: &Comparison) -> String {
    let (base, head) = (&comparison.base.name, &comparison.head.name);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "Benches: " (base) " → " (head) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    p.kicker { "Terrace · bench-compare" }
                    h1 { span { (base) } span.arrow { " → " } span { (head) } }
                    p.note { (effort(comparison)) }
                }
                main { (content(comparison)) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    // Characters that XML forbids, whatever the names are.
    let allowed = |c: char| !c.is_control() && !"\u{fffe}\u{ffff}".contains(c) || c == '\n';
    let text = page.into_string() + "\n";
    text.chars()
        .map(|c| if allowed(c) { c } else { '\u{fffd}' })
        .collect()
}

fn content(comparison: &Comparison) -> Markup {
    html! {
        (banner(comparison))
        (warnings(comparison))
        @if let Some(means) = rows::means(comparison) {
            (section("means", "Geometric means", &html! {
                p.note { "Over the counted benches of each layer, with the confidence interval." }
                (means)
            }))
        }
        (section("benches", "Benches", &benches(comparison)))
        @if let Some(noise) = noise::content(comparison) {
            (section("noise", "Noise: the A/A floor", &html! {
                p.note {
                    "What BASE shows as a change against itself, run beside HEAD in the same rounds. A change "
                    "below it cannot be told from noise."
                }
                (noise)
            }))
        }
        (differences(comparison))
        (section("conditions", "Conditions", &conditions(comparison)))
    }
}

fn section(id: &str, title: &str, content: &Markup) -> Markup {
    html! { section aria-labelledby=(id) { h2 id=(id) { (title) } (content) } }
}

/// What may be wider than a phone scrolls alone, also by keyboard.
fn scroller(label: &str, content: &Markup) -> Markup {
    html! { div.scroll tabindex="0" role="group" aria-label=(label) { (content) } }
}

/// The id of a bench, which may be broken after a slash.
fn id(id: &str) -> Markup {
    html! {
        code {
            @for (index, part) in id.split_inclusive('/').enumerate() {
                @if index > 0 { wbr; }
                (part)
            }
        }
    }
}

/// A list of ids, each with what is said of it.
fn ids<'c>(ids: impl Iterator<Item = (&'c str, Option<&'c str>)>) -> Markup {
    html! {
        ul.ids {
            @for (bench, said) in ids { li { (id(bench)) @if let Some(said) = said { ": " (said) } } }
        }
    }
}

fn banner(comparison: &Comparison) -> Markup {
    let (class, verdict) = match comparison.outcome {
        Outcome::Pass if comparison.benches.is_empty() => ("unstable", Verdict::Unstable),
        Outcome::Pass => ("good", Verdict::Same),
        Outcome::Regression | Outcome::Failed => ("slower", Verdict::Slower),
        Outcome::TooNoisy | Outcome::Missing | Outcome::Interrupted => {
            ("unstable", Verdict::Unstable)
        }
    };
    let tally = Tally::new(&comparison.benches);
    let shown = |(amount, word): &(usize, &str)| *amount > 0 || *word != "not measured";
    html! {
        section aria-label="Outcome" {
            div class={ "banner " (class) } {
                (forest::icon(verdict, 6.0))
                div {
                    p.headline { (headline(comparison)) }
                    p { "Next: " (commands(&next_step(comparison))) }
                }
            }
            dl.tiles {
                @for (amount, word) in tally.parts().into_iter().filter(shown) {
                    div class={ "tile " (if amount > 0 { word } else { "zero" }) } { dt { (word) } dd { (amount) } }
                }
            }
        }
    }
}

/// Text in which what stands between backticks is a command.
fn commands(text: &str) -> Markup {
    html! {
        span {
            @for (index, part) in text.split('`').enumerate() {
                @if index % 2 == 1 { code { (part) } } @else { (part) }
            }
        }
    }
}

fn warnings(comparison: &Comparison) -> Markup {
    let harness =
        "The benches' own sources differ between the sides: a ratio may be the harness's doing.";
    let harness = comparison.harness_changed.then_some(harness);
    let warnings = comparison.warnings.iter().map(String::as_str);
    let all: Vec<&str> = harness.into_iter().chain(warnings).collect();
    let list = html! { ul { @for warning in &all { li { (warning) } } } };
    html! { @if !all.is_empty() { (section("warnings", "Warnings", &list)) } }
}

fn benches(comparison: &Comparison) -> Markup {
    if comparison.benches.is_empty() {
        return html! { p { "No bench is on both sides." } };
    }
    html! {
        (legend(comparison))
        (tools())
        (rows::sections(comparison, &forest::scale(comparison)))
    }
}

/// Hidden until the script that serves it runs.
fn tools() -> Markup {
    let choice = |id: &str, label: &str, options: &[(&str, &str)]| {
        html! {
            span.tool {
                label for=(id) { (label) }
                select id=(id) { @for (value, text) in options { option value=(value) { (text) } } }
            }
        }
    };
    let verdicts = [
        ("", "all"),
        ("slower faster unstable", "what is not the same"),
        ("slower", "slower"),
        ("faster", "faster"),
        ("unstable", "unstable"),
    ];
    let orders = [
        ("id", "by name"),
        ("down", "slowest first"),
        ("up", "fastest first"),
    ];
    html! {
        div #tools hidden="hidden" {
            span.tool {
                label for="filter" { "Filter" }
                input #filter type="search" autocomplete="off";
            }
            (choice("show", "Show", &verdicts))
            (choice("order", "Order", &orders))
            span #shown role="status" {}
        }
    }
}

fn legend(comparison: &Comparison) -> Markup {
    let verdicts = [
        (Verdict::Slower, "slower: the interval clears the threshold"),
        (Verdict::Faster, "faster: likewise"),
        (
            Verdict::Unstable,
            "unstable: the interval is too wide to say",
        ),
        (Verdict::Same, "same"),
    ];
    let thin = comparison.settings.metrics.get(1);
    let thin = thin.map(|other| ("thin", format!("thin, below: {}", other.name())));
    let rounds = "in the rounds: base/base dashed, head/base solid, slower is up";
    let swatches = [
        ("band", "the threshold to be cleared".to_owned()),
        ("floor", "the A/A floor".to_owned()),
    ];
    let swatches = swatches.into_iter().chain(thin);
    let swatches = swatches.chain([("dashed", rounds.to_owned())]);
    html! {
        ul.legend {
            @for (verdict, text) in verdicts {
                li class=(verdict.to_string()) { (forest::icon(verdict, 5.0)) (text) }
            }
            @for (class, text) in swatches {
                li { span class={ "swatch " (class) } aria-hidden="true" {} (text) }
            }
        }
    }
}

fn differences(comparison: &Comparison) -> Markup {
    let failed = comparison.failed.iter();
    let failed = failed.map(|f| (f.id.as_str(), Some(f.message.as_str())));
    let only = |ids: &'_ [String]| -> Vec<_> { ids.iter().map(|id| (id.clone(), None)).collect() };
    let failed: Vec<_> = failed.map(|(id, said)| (id.to_owned(), said)).collect();
    let lists = [
        ("could not be measured", failed),
        ("only in HEAD (added)", only(&comparison.added)),
        ("only in BASE (removed)", only(&comparison.removed)),
    ];
    let content = html! {
        @for (what, list) in lists.iter().filter(|(_, list)| !list.is_empty()) {
            details open=[(list.len() <= OPEN).then_some("open")] {
                summary { (counted(list.len(), "bench", "benches")) " " (what) }
                (ids(list.iter().map(|(id, said)| (id.as_str(), *said))))
            }
        }
    };
    let any = lists.iter().any(|(_, list)| !list.is_empty());
    html! { @if any { (section("differences", "Not compared", &content)) } }
}

fn conditions(comparison: &Comparison) -> Markup {
    html! {
        dl.conditions {
            @for (name, value) in conditions::conditions(comparison) { div { dt { (name) } dd { (value) } } }
        }
    }
}
