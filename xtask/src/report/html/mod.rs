//! `report.html`: one file, without network, readable without scripts, in light and dark.

mod drift;
mod forest;
mod markup;
mod noise;
mod rows;
mod scale;

use super::model::{Comparison, Outcome, Side, Verdict};
use super::units::{NONE, counted, percent};
use super::words::{Tally, effort, headline, next_step};
use markup::{Element, el};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Lists that are longer are closed at first.
const OPEN: usize = 10;

/// The whole page.
pub(crate) fn html(comparison: &Comparison) -> String {
    let title = format!("{} → {}", comparison.base.name, comparison.head.name);
    let head = el("head").children([
        el("meta").attr("charset", "utf-8"),
        el("meta")
            .attr("name", "viewport")
            .attr("content", "width=device-width, initial-scale=1"),
        el("meta")
            .attr("name", "color-scheme")
            .attr("content", "light dark"),
        el("title").text(format!("Benches: {title}")),
        el("style").raw(STYLE),
    ]);
    let mut main = el("main").child(banner(comparison));
    main = main.children(warnings(comparison));
    if let Some(means) = rows::means(comparison) {
        main = main.child(section(
            "means",
            "Geometric means",
            [
                el("p")
                    .class("note")
                    .text("Over the counted benches of each layer, with the confidence interval."),
                means,
            ],
        ));
    }
    main = main.child(benches(comparison));
    if let Some(noise) = noise::content(comparison) {
        let note = el("p").class("note").text(
            "What BASE shows as a change against itself, run beside HEAD in the same rounds. A change \
             below it cannot be told from noise.",
        );
        main = main.child(section(
            "noise",
            "Noise: the A/A floor",
            [note].into_iter().chain(noise),
        ));
    }
    main = main.children(differences(comparison));
    main = main.child(section(
        "conditions",
        "Conditions",
        [conditions(comparison)],
    ));
    let body = el("body").children([
        el("header").children([
            el("p").class("kicker").text("Terrace · bench-compare"),
            el("h1").children([
                el("span").text(&comparison.base.name),
                el("span").class("arrow").text(" → "),
                el("span").text(&comparison.head.name),
            ]),
            el("p").class("note").text(effort(comparison)),
        ]),
        main,
        el("script").raw(SCRIPT),
    ]);
    let page = el("html").attr("lang", "en").children([head, body]);
    format!("<!DOCTYPE html>\n{page}\n")
}

fn section(id: &str, title: &str, content: impl IntoIterator<Item = Element>) -> Element {
    el("section")
        .attr("aria-labelledby", id)
        .child(el("h2").attr("id", id).text(title))
        .children(content)
}

/// What may be wider than a phone scrolls alone, also by keyboard.
fn scroller(label: &str, content: Element) -> Element {
    el("div")
        .class("scroll")
        .attr("tabindex", 0)
        .attr("role", "group")
        .attr("aria-label", label)
        .child(content)
}

fn banner(comparison: &Comparison) -> Element {
    let (class, verdict) = match comparison.outcome {
        Outcome::Pass if comparison.benches.is_empty() => ("unstable", Verdict::Unstable),
        Outcome::Pass => ("good", Verdict::Same),
        Outcome::Regression | Outcome::Failed => ("slower", Verdict::Slower),
        Outcome::TooNoisy | Outcome::Missing | Outcome::Interrupted => {
            ("unstable", Verdict::Unstable)
        }
    };
    let icon = el("svg")
        .class("icon")
        .attr("viewBox", "0 0 14 14")
        .attr("aria-hidden", "true")
        .child(el("path").attr("d", forest::shape(verdict, 7.0, 7.0, 6.0)));
    let tally = Tally::new(&comparison.benches);
    let tiles = [
        (tally.slower, "slower"),
        (tally.faster, "faster"),
        (tally.unstable, "unstable"),
        (tally.same, "same"),
        (tally.identical, "identical"),
        (tally.unmeasured, "not measured"),
        (tally.ungated, "not counted"),
    ];
    let always = |(amount, word): &(usize, &str)| *amount > 0 || *word != "not measured";
    let tiles = tiles.into_iter().filter(always).map(|(amount, word)| {
        let class = if amount > 0 { word } else { "zero" };
        el("div")
            .class(&format!("tile {class}"))
            .children([el("dt").text(word), el("dd").text(amount.to_string())])
    });
    el("section").attr("aria-label", "Outcome").children([
        el("div").class(&format!("banner {class}")).children([
            icon,
            el("div").children([
                el("p").class("headline").text(headline(comparison)),
                el("p")
                    .text("Next: ")
                    .child(commands(&next_step(comparison))),
            ]),
        ]),
        el("dl").class("tiles").children(tiles),
    ])
}

/// Text in which what stands between backticks is a command.
fn commands(text: &str) -> Element {
    let parts = text.split('`').enumerate();
    parts.fold(el("span"), |out, (index, part)| {
        if index % 2 == 1 {
            out.child(el("code").text(part))
        } else {
            out.text(part)
        }
    })
}

fn warnings(comparison: &Comparison) -> Option<Element> {
    let mut sentences: Vec<&str> = Vec::new();
    if comparison.harness_changed {
        sentences.push(
            "The benches' own sources differ between the sides: a ratio may be the harness's doing.",
        );
    }
    sentences.extend(comparison.warnings.iter().map(String::as_str));
    (!sentences.is_empty()).then(|| {
        let list = sentences.into_iter().map(|w| el("li").text(w));
        section("warnings", "Warnings", [el("ul").children(list)])
    })
}

fn benches(comparison: &Comparison) -> Element {
    let mut content = vec![legend(comparison)];
    if comparison.benches.is_empty() {
        content = vec![el("p").text("No bench is on both sides.")];
    } else {
        content.push(tools());
        let scale = forest::scale(comparison);
        content.extend(rows::sections(comparison, &scale));
    }
    section("benches", "Benches", content)
}

/// Hidden until the script that serves it runs.
fn tools() -> Element {
    let option = |(value, text): (&str, &str)| el("option").attr("value", value).text(text);
    let choice = |id: &str, label: &str, options: &[(&str, &str)]| {
        let select = el("select").attr("id", id);
        let label = el("label").attr("for", id).text(label);
        let select = select.children(options.iter().copied().map(option));
        el("span").class("tool").children([label, select])
    };
    let filter = el("span").class("tool").children([
        el("label").attr("for", "filter").text("Filter"),
        el("input")
            .attr("id", "filter")
            .attr("type", "search")
            .attr("autocomplete", "off"),
    ]);
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
    el("div")
        .attr("id", "tools")
        .attr("hidden", "hidden")
        .children([
            filter,
            choice("show", "Show", &verdicts),
            choice("order", "Order", &orders),
            el("span").attr("id", "shown").attr("role", "status"),
        ])
}

fn legend(comparison: &Comparison) -> Element {
    let item = |verdict: Verdict, text: &str| {
        let icon = el("svg")
            .class("icon")
            .attr("viewBox", "0 0 14 14")
            .attr("aria-hidden", "true")
            .child(el("path").attr("d", forest::shape(verdict, 7.0, 7.0, 5.0)));
        el("li").class(&verdict.to_string()).child(icon).text(text)
    };
    let swatch = |class: &str, text: &str| {
        let swatch = el("span")
            .class(&format!("swatch {class}"))
            .attr("aria-hidden", "true");
        el("li").child(swatch).text(text)
    };
    let mut items = vec![
        item(Verdict::Slower, "slower: the interval clears the threshold"),
        item(Verdict::Faster, "faster: likewise"),
        item(
            Verdict::Unstable,
            "unstable: the interval is too wide to say",
        ),
        item(Verdict::Same, "same"),
        swatch("band", "the threshold to be cleared"),
        swatch("floor", "the A/A floor"),
    ];
    if let Some(other) = comparison.settings.metrics.get(1) {
        items.push(swatch("thin", &format!("thin, below: {}", other.name())));
    }
    items.push(swatch(
        "dashed",
        "in the rounds: base/base dashed, head/base solid, slower is up",
    ));
    el("ul").class("legend").children(items)
}

fn differences(comparison: &Comparison) -> Option<Element> {
    let list = |what: &str, ids: &[String]| {
        (!ids.is_empty()).then(|| {
            let items = ids.iter().map(|id| el("li").child(markup::id(id)));
            disclosed(what, ids.len(), el("ul").class("ids").children(items))
        })
    };
    let failed = (!comparison.failed.is_empty()).then(|| {
        let items = comparison.failed.iter().map(|failure| {
            el("li")
                .child(markup::id(&failure.id))
                .text(format!(": {}", failure.message))
        });
        let list = el("ul").class("ids").children(items);
        disclosed("could not be measured", comparison.failed.len(), list)
    });
    let content: Vec<Element> = [
        failed,
        list("only in HEAD (added)", &comparison.added),
        list("only in BASE (removed)", &comparison.removed),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!content.is_empty()).then(|| section("differences", "Not compared", content))
}

fn disclosed(what: &str, amount: usize, content: Element) -> Element {
    let summary = format!("{} {what}", counted(amount, "bench", "benches"));
    let mut details = el("details");
    if amount <= OPEN {
        details = details.attr("open", "open");
    }
    details.child(el("summary").text(summary)).child(content)
}

fn conditions(comparison: &Comparison) -> Element {
    let settings = &comparison.settings;
    let machine = &comparison.machine;
    let side = |side: &Side| {
        let changed = if side.dirty {
            ", with changes in no commit"
        } else {
            ""
        };
        let args = if side.args.is_empty() {
            String::new()
        } else {
            format!(", built with {}", side.args.join(" "))
        };
        format!("{} ({}{changed}){args}", side.name, side.commit)
    };
    let load = if machine.load_before.is_finite() {
        format!("{:.2}", machine.load_before)
    } else {
        NONE.to_owned()
    };
    let metrics: Vec<&str> = settings.metrics.iter().map(|m| m.name()).collect();
    let fail_on: Vec<&str> = settings.fail_on.iter().map(|m| m.name()).collect();
    let mut list = vec![
        ("BASE", side(&comparison.base)),
        ("HEAD", side(&comparison.head)),
        ("finished", comparison.created.clone()),
        ("measured", metrics.join(", ")),
        ("fails on", fail_on.join(", ")),
        ("rounds", settings.rounds.to_string()),
        (
            "a run",
            format!(
                "{} ms after {} ms of warm-up",
                settings.time_ms, settings.warm_up_ms
            ),
        ),
        ("threshold", percent(settings.threshold)),
        ("processor", machine.cpu.clone()),
        ("cores", machine.cores.to_string()),
        ("load before", load),
        ("system", machine.os.clone()),
        ("compiler", machine.rustc.clone()),
    ];
    if !settings.layers.is_empty() {
        list.push(("layers", settings.layers.join(", ")));
    }
    if let Some(filter) = &settings.filter {
        list.push(("filter", filter.clone()));
    }
    let flags = [
        (settings.aa, "BASE against itself"),
        (settings.strict, "noise fails"),
        (settings.require_all, "missing benches fail"),
        (comparison.resumed, "resumed"),
    ];
    let flags: Vec<&str> = flags.iter().filter(|f| f.0).map(|f| f.1).collect();
    if !flags.is_empty() {
        list.push(("also", flags.join(", ")));
    }
    let list = list
        .into_iter()
        .map(|(name, value)| el("div").children([el("dt").text(name), el("dd").text(value)]));
    el("dl").class("conditions").children(list)
}
