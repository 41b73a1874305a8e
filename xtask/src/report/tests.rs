//! Every renderer on every sample: well-formed, self-contained, complete, free of NaN. The files in `snapshots` show
//! what they render; `UPDATE_EXPECT=1` writes these anew.

use std::collections::HashSet;

use expect_test::expect_file;

use super::document::Document;
use super::model::{self, Comparison};
use super::{comparison, html, markdown, sample, terminal, write_all};

fn documents() -> impl Iterator<Item = (&'static str, Comparison, Document)> {
    let samples = sample::all().into_iter();
    samples.map(|(name, sample)| {
        let document = comparison::document(&sample);
        (name, sample, document)
    })
}

#[test]
fn reports_are_as_in_the_snapshots() {
    let document = comparison::document(&sample::comparison(12));
    expect_file!["snapshots/usual.txt"].assert_eq(&terminal::document(&document, false));
    expect_file!["snapshots/usual.md"].assert_eq(&markdown::document(&document));
    // The page has both files whole; the snapshot names them.
    let page = html::document(&document);
    assert!(page.contains(html::STYLE) && page.contains(html::SCRIPT));
    let page = page.replace(html::STYLE, "page.css");
    let page = page.replace(html::SCRIPT, "page.js");
    expect_file!["snapshots/usual.html"].assert_eq(&page);
    let extreme = comparison::document(&sample::extreme());
    expect_file!["snapshots/extreme.md"].assert_eq(&markdown::document(&extreme));
    assert!(terminal::document(&document, true).contains('\u{1b}'));
}

/// As XML, in which also elements without content are closed.
fn page(document: &Document) -> String {
    let empty = regex_lite::Regex::new("<(meta|wbr|input)([^>]*)>").expect("a pattern");
    let open = html::document(document).replace("<details open>", "<details>");
    empty.replace_all(&open, "<$1$2/>").into_owned()
}

#[test]
fn pages_are_well_formed_and_whole_and_fetch_nothing() {
    for (name, sample, document) in documents() {
        let text = page(&document);
        let options = roxmltree::ParsingOptions {
            allow_dtd: true,
            ..Default::default()
        };
        let page = roxmltree::Document::parse_with_options(&text, options);
        let page = page.expect("the page is well-formed");
        let mut ids = HashSet::new();
        for node in page.descendants() {
            if let Some(id) = node.attribute("id") {
                assert!(ids.insert(id), "{name}: {id} twice");
            }
            for attribute in ["src", "href", "srcset", "style", "onclick", "onload"] {
                assert_eq!(node.attribute(attribute), None, "{name}");
            }
            let named = ["aria-label", "aria-hidden"].iter();
            let named = named.filter(|name| node.attribute(**name).is_some());
            assert!(
                !node.has_tag_name("svg") || named.count() == 1,
                "{name}: a drawing without a name"
            );
            for side in ["width", "height"] {
                let value = node.attribute(side).map(|v| v.parse().expect("a number"));
                let inside = value.is_none_or(|v: f64| (0.0..=1000.0).contains(&v));
                assert!(inside, "{name}: {side} {value:?}");
            }
        }
        for fetch in ["http:", "https:", "url(", "@import", "fetch("] {
            assert!(!text.contains(fetch), "{name}: {fetch}");
        }
        let codes = page.descendants().filter(|n| n.has_tag_name("code"));
        let whole = |n: roxmltree::Node<'_, '_>| n.children().filter_map(|n| n.text()).collect();
        let codes: HashSet<String> = codes.map(whole).collect();
        for bench in &sample.benches {
            // A control character is replaced.
            let id = bench.id.replace('\u{7}', "\u{fffd}");
            let shown = codes.contains(&id) || sample.settings.metrics.is_empty();
            assert!(shown, "{name}: {id}");
        }
    }
}

#[test]
fn no_figure_is_nan_or_infinite() {
    for (name, _, document) in documents() {
        let reports = [
            html::document(&document),
            markdown::document(&document),
            terminal::document(&document, false),
        ];
        for text in reports {
            let mut words = text.split(|c: char| !c.is_alphanumeric());
            let wrong = words.find(|word| ["NaN", "inf", "infinity"].contains(word));
            assert_eq!(wrong, None, "{name}");
        }
    }
}

#[test]
fn texts_for_a_terminal_have_no_colours_and_end_in_the_next_step() {
    for (name, _, document) in documents() {
        let text = terminal::document(&document, false);
        assert!(!text.contains('\u{1b}'), "{name}: no colours are wanted");
        let last = text.lines().next_back().expect("a line");
        assert!(last.starts_with("Next: "), "{name}: {last}");
    }
}

#[test]
fn comments_fit_github_and_names_break_nothing() {
    for (name, _, document) in documents() {
        let text = markdown::document(&document);
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
        let opened = text.matches("<details>").count();
        assert_eq!(opened, text.matches("</details>").count(), "{name}");
    }
    let many = comparison::document(&sample::comparison(2000));
    let many = markdown::document(&many);
    assert!(many.chars().count() < 65_536);
    assert!(many.contains("do not fit into a comment"));
}

#[test]
fn both_themes_have_contrast() {
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
    for theme in include_str!("page.css").split(":root").skip(1).take(2) {
        let colour = |name: &str| {
            let set = theme.split_once(&format!("--{name}: "));
            luminance(&set.expect("the colour is set").1[..7])
        };
        let drawn = ["band", "floor"].map(|paper| (paper, 3.0));
        for (paper, least) in [("page", 4.5), ("card", 4.5)].into_iter().chain(drawn) {
            for ink in ["text", "slower", "faster", "unstable", "accent"] {
                let (a, b) = (colour(ink), colour(paper));
                let contrast = (a.max(b) + 0.05) / (a.min(b) + 0.05);
                assert!(contrast >= least, "{ink} on {paper}: {contrast:.2}");
            }
        }
    }
}

/// NaN differs from itself, hence by way of the text.
fn json(comparison: &Comparison) -> String {
    serde_json::to_string(comparison).expect("plain data")
}

#[test]
fn saved_comparisons_are_read_again() {
    let directory = tempfile::tempdir().expect("a directory for temporary files");
    for (name, before, _) in documents() {
        let out = directory.path().join(name).join("reports");
        let paths = write_all(&before, &out).expect("there is space");
        assert!(paths.iter().all(|path| path.is_file()), "{name}");
        let after: Comparison = model::read(&paths[0]).expect("it was just written");
        assert_eq!(json(&after), json(&before), "{name}");
    }
}

#[test]
fn other_versions_and_other_files_are_refused() {
    let directory = tempfile::tempdir().expect("a directory for temporary files");
    let path = directory.path().join("a.json");
    for (text, error) in [
        ("{\"schema\": 999}", "has schema 999"),
        ("[]", "is no file of measurements"),
        ("{\"schema\": 1}", "does not have the expected form"),
    ] {
        super::write(&path, text).expect("there is space");
        let found = model::read::<Comparison>(&path).expect_err("no comparison");
        assert!(found.to_string().contains(error), "{found}");
    }
    let missing = model::read::<Comparison>(&directory.path().join("b.json"));
    let error = missing.expect_err("no file").to_string();
    assert!(error.contains("cannot read"), "{error}");
}

#[test]
fn what_cannot_be_written_is_named_and_leaves_the_old() {
    let directory = tempfile::tempdir().expect("a directory for temporary files");
    let file = directory.path().join("file");
    super::write(&file, "old").expect("there is space");
    let error = write_all(&sample::comparison(1), &file.join("below")).expect_err("no directory");
    assert!(error.to_string().starts_with("cannot write"));
    assert_eq!(fs_err::read_to_string(&file).expect("it is there"), "old");
}
