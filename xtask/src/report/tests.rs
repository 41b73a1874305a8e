//! Every renderer on every sample: well-formed, self-contained, complete, free of NaN.

use std::collections::HashSet;

use super::model::{self, Comparison};
use super::{html, markdown, sample, table, write_all};

/// Names a directory in which the samples' reports are left, to be looked at.
const KEEP: &str = "TERRACE_REPORT_SAMPLES";

/// As XML, in which also elements without content are closed.
fn page(comparison: &Comparison) -> String {
    let empty = regex_lite::Regex::new("<(meta|wbr|input)([^>]*)>").expect("a pattern");
    let text = html::html(comparison);
    empty.replace_all(&text, "<$1$2/>").into_owned()
}

fn parse(text: &str) -> roxmltree::Document<'_> {
    let options = roxmltree::ParsingOptions {
        allow_dtd: true,
        ..Default::default()
    };
    roxmltree::Document::parse_with_options(text, options).expect("the page is well-formed")
}

#[test]
fn pages_are_well_formed_and_whole() {
    for (name, comparison) in sample::all() {
        let text = page(&comparison);
        let page = parse(&text);
        assert!(text.starts_with("<!DOCTYPE html>"));
        let root = page.root_element();
        assert_eq!(root.attribute("lang"), Some("en"), "{name}");
        let count = |tag: &str| root.descendants().filter(|n| n.has_tag_name(tag)).count();
        assert_eq!(
            (count("h1"), count("main"), count("script")),
            (1, 1, 1),
            "{name}"
        );
        let metas = || root.descendants().filter(|n| n.has_tag_name("meta"));
        assert!(
            metas().any(|n| n.attribute("name") == Some("viewport")),
            "{name}"
        );
        let rows = root
            .descendants()
            .filter(|n| n.attribute("data-id").is_some());
        let timed = comparison.benches.iter().filter(|b| !b.identical).count();
        assert_eq!(rows.count(), timed, "{name}");
        for bench in &comparison.benches {
            // A control character is replaced.
            let id: String = bench.id.replace('\u{7}', "\u{fffd}");
            let codes = root.descendants().filter(|n| n.has_tag_name("code"));
            let whole =
                |n: roxmltree::Node<'_, '_>| n.children().filter_map(|n| n.text()).collect();
            let shown = codes.map(whole).filter(|text: &String| *text == id);
            assert!(shown.count() >= 1, "{name}: {id}");
        }
    }
}

#[test]
fn ids_are_unique_and_references_hit() {
    for (name, comparison) in sample::all() {
        let text = page(&comparison);
        let page = parse(&text);
        let mut ids = HashSet::new();
        for node in page.descendants() {
            if let Some(id) = node.attribute("id") {
                assert!(ids.insert(id), "{name}: {id} twice");
            }
        }
        for node in page.descendants() {
            for reference in ["aria-labelledby", "for"] {
                for id in node.attribute(reference).unwrap_or("").split_whitespace() {
                    assert!(ids.contains(id), "{name}: {reference} {id}");
                }
            }
            let labelled = node.attribute("aria-labelledby").is_some();
            let drawing = node.has_tag_name("svg");
            let hidden = node.attribute("aria-hidden") == Some("true");
            assert!(
                !drawing || labelled || hidden,
                "{name}: a drawing without a name"
            );
        }
    }
}

#[test]
fn pages_fetch_nothing() {
    for (name, comparison) in sample::all() {
        let text = html::html(&comparison);
        for fetch in [
            "http:", "https:", "url(", "@import", "fetch(", "<link", "<img", "<iframe",
        ] {
            assert!(!text.contains(fetch), "{name}: {fetch}");
        }
        let text = page(&comparison);
        let page = parse(&text);
        for node in page.descendants() {
            for attribute in ["src", "href", "srcset", "style", "onclick", "onload"] {
                assert_eq!(node.attribute(attribute), None, "{name}");
            }
        }
    }
}

#[test]
fn no_figure_is_nan_or_infinite() {
    for (name, comparison) in sample::all() {
        let reports = [
            html::html(&comparison),
            markdown::markdown(&comparison),
            table::text(&comparison, false),
        ];
        for text in reports {
            for word in text.split(|c: char| !c.is_alphanumeric()) {
                assert!(
                    !["NaN", "inf", "infinity"].contains(&word),
                    "{name}: {word}"
                );
            }
        }
    }
}

#[test]
fn coordinates_stay_in_the_drawing() {
    for (name, comparison) in sample::all() {
        let text = page(&comparison);
        let page = parse(&text);
        for node in page.descendants().filter(|n| n.has_tag_name("rect")) {
            for side in ["width", "height"] {
                let value: f64 = node
                    .attribute(side)
                    .and_then(|v| v.parse().ok())
                    .expect("a number");
                assert!((0.0..=1000.0).contains(&value), "{name}: {side} {value}");
            }
        }
    }
}

/// The relative luminance of `#rrggbb`, after WCAG 2.
fn luminance(colour: &str) -> f64 {
    let part = |from: usize| {
        let byte = u8::from_str_radix(&colour[from..from + 2], 16).expect("hexadecimal");
        let value = f64::from(byte) / 255.0;
        if value <= 0.04045 {
            value / 12.92
        } else {
            ((value + 0.055) / 1.055).powf(2.4)
        }
    };
    0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
}

#[test]
fn both_themes_have_contrast() {
    let style = include_str!("html/page.css");
    let themes: Vec<&str> = style.split(":root").skip(1).take(2).collect();
    assert_eq!(themes.len(), 2);
    for theme in themes {
        let colour = |name: &str| {
            let (_, rest) = theme
                .split_once(&format!("--{name}: "))
                .expect("the colour is set");
            luminance(&rest[..7])
        };
        let contrast = |a: &str, b: &str| {
            let (a, b) = (colour(a), colour(b));
            (a.max(b) + 0.05) / (a.min(b) + 0.05)
        };
        for paper in ["page", "card"] {
            for ink in ["text", "muted", "slower", "faster", "unstable", "accent"] {
                let contrast = contrast(ink, paper);
                assert!(contrast >= 4.5, "{ink} on {paper}: {contrast:.2}");
            }
        }
        for paper in ["band", "floor"] {
            for ink in ["text", "slower", "faster", "unstable", "accent"] {
                let contrast = contrast(ink, paper);
                assert!(contrast >= 3.0, "{ink} on {paper}: {contrast:.2}");
            }
        }
    }
}

#[test]
fn tables_fit_a_terminal_and_end_in_words() {
    for (name, comparison) in sample::all() {
        let text = table::text(&comparison, false);
        assert!(
            !text.contains('\u{1b}'),
            "{name}: colours where none are wanted"
        );
        let last = text.trim_end().lines().rev();
        assert!(
            last.take(8).any(|line| line.starts_with("Next: ")),
            "{name}"
        );
        for line in text.lines() {
            // A name alone on its line and a command to be copied are not broken.
            let whole = line.split_whitespace().count() == 1 || line.contains('`');
            assert!(line.chars().count() <= 100 || whole, "{name}: {line}");
        }
    }
    assert!(table::text(&sample::comparison(42), true).contains('\u{1b}'));
}

/// The text without its code spans: from a run of backticks to the next run of that length.
fn without_code(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('`') {
        out.push_str(&rest[..at]);
        let run = |text: &str| text.len() - text.trim_start_matches('`').len();
        let fence = run(&rest[at..]);
        let mut end = at + fence;
        loop {
            end += rest[end..].find('`').expect("every code span is closed");
            let length = run(&rest[end..]);
            end += length;
            if length == fence {
                break;
            }
        }
        rest = &rest[end..];
    }
    out + rest
}

#[test]
fn comments_fit_github_and_names_break_nothing() {
    for (name, comparison) in sample::all() {
        let text = markdown::markdown(&comparison);
        assert!(text.chars().count() < 65_536, "{name}");
        let mut header = None;
        for line in text.lines() {
            let cells = line.replace("\\|", "").matches('|').count();
            if line.starts_with('|') {
                assert_eq!(*header.get_or_insert(cells), cells, "{name}: {line}");
            } else {
                header = None;
            }
        }
        let plain = without_code(&text);
        assert!(
            !plain.contains("<b>") && !plain.contains("<script"),
            "{name}"
        );
        let opened = text.matches("<details>").count();
        assert_eq!(opened, text.matches("</details>").count(), "{name}");
    }
    let many = markdown::markdown(&sample::comparison(2000));
    assert!(many.chars().count() < 65_536);
    assert!(many.contains("do not fit into a comment"));
}

/// NaN differs from itself, hence by way of the text.
fn json(comparison: &Comparison) -> String {
    serde_json::to_string(comparison).expect("plain data")
}

#[test]
fn saved_comparisons_are_read_again() {
    for (name, before) in sample::all() {
        let directory = tempfile::tempdir().expect("a directory for temporary files");
        let out = directory.path().join("new/reports");
        let paths = write_all(&before, &out).expect("there is space");
        assert!(paths.iter().all(|path| path.is_file()), "{name}");
        let after: Comparison = model::read(&paths[0]).expect("it was just written");
        assert_eq!(json(&after), json(&before), "{name}");
        assert_eq!(
            html::html(&after),
            html::html(&model::read(&paths[0]).expect("again"))
        );
        if let Some(keep) = std::env::var_os(KEEP) {
            let keep = std::path::Path::new(&keep).join(name);
            write_all(&before, &keep).expect("there is space");
            let text = table::text(&before, false);
            super::write(&keep.join("table.txt"), &text).expect("there is space");
        }
    }
}

#[test]
fn other_versions_and_other_files_are_refused() {
    let directory = tempfile::tempdir().expect("a directory for temporary files");
    let path = directory.path().join("a.json");
    let message = |text: &str| {
        super::write(&path, text).expect("there is space");
        format!(
            "{:#}",
            model::read::<Comparison>(&path).expect_err("no comparison")
        )
    };
    assert!(message("{\"schema\": 999}").contains("has schema 999"));
    assert!(message("[]").contains("is no file of measurements"));
    assert!(message("{\"schema\": 1}").contains("does not have the expected form"));
    let missing = model::read::<Comparison>(&directory.path().join("b.json"));
    assert!(format!("{:#}", missing.expect_err("no file")).contains("cannot read"));
}

#[test]
fn what_cannot_be_written_is_named_and_leaves_the_old() {
    let directory = tempfile::tempdir().expect("a directory for temporary files");
    let file = directory.path().join("file");
    super::write(&file, "old").expect("there is space");
    let error = write_all(&sample::comparison(1), &file.join("below")).expect_err("no directory");
    assert!(error.to_string().starts_with("cannot write"));
    assert_eq!(std::fs::read_to_string(&file).expect("it is there"), "old");
}
