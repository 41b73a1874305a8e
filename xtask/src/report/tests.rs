//! Every renderer on a usual comparison, and on one with all that can go wrong: hostile names, huge and missing figures,
//! failures. The files in `snapshots` show what they render; `UPDATE_EXPECT=1` writes these anew.

use expect_test::expect_file;

use super::model::{self, Bench, Comparison, Estimate, Metric, Outcome};
use super::{comparison, conclusion, html, markdown, terminal, write_all};

fn usual() -> Comparison {
    serde_json::from_str(include_str!("snapshots/usual.json")).expect("it has the form")
}

fn extreme() -> Comparison {
    let text = include_str!("snapshots/extreme.json");
    let mut comparison: Comparison = serde_json::from_str(text).expect("it has the form");
    // JSON knows neither.
    for (bench, value) in [(5, f64::NAN), (6, f64::INFINITY)] {
        let (low, high) = (value, value);
        comparison.benches[bench].results[0].judgement.ratio = Estimate { value, low, high };
    }
    comparison
}

/// What each renderer makes of a comparison, by the ending of the file.
fn rendered(comparison: &Comparison) -> [(&'static str, String); 3] {
    let document = comparison::document(comparison);
    [
        ("txt", terminal::document(&document, false)),
        ("md", markdown::document(&document)),
        ("html", html::document(&document)),
    ]
}

#[test]
fn reports_are_as_in_the_snapshots_and_have_no_figure_that_is_none() {
    for (name, sample) in [("usual", usual()), ("extreme", extreme())] {
        for (kind, text) in rendered(&sample) {
            // The page has both files whole; the snapshot names them.
            let text = text.replace(html::STYLE, "page.css");
            let text = text.replace(html::SCRIPT, "page.js");
            expect_file![format!("snapshots/{name}.{kind}")].assert_eq(&text);
            let mut words = text.split(|c: char| !c.is_alphanumeric());
            let wrong = words.find(|word| ["NaN", "inf", "infinity"].contains(word));
            assert_eq!(wrong, None, "{name}.{kind}");
        }
    }
    let coloured = terminal::document(&comparison::document(&usual()), true);
    assert!(coloured.contains('\u{1b}'));
}

#[test]
fn every_outcome_has_its_words() {
    let mut comparison = extreme();
    let mut words = String::new();
    let mut says = |comparison: &Comparison| words += &format!("{}\n", conclusion(comparison));
    for outcome in [
        Outcome::Pass,
        Outcome::Regression,
        Outcome::Failed,
        Outcome::TooNoisy,
        Outcome::Missing,
    ] {
        comparison.outcome = outcome;
        says(&comparison);
    }
    comparison.outcome = Outcome::Regression;
    comparison.settings.fail_on = vec![Metric::Cpu];
    comparison.head.name = "it's $x".to_owned();
    says(&comparison);
    comparison.settings.aa = true;
    says(&comparison);
    comparison.benches.retain(|bench| bench.identical);
    comparison.outcome = Outcome::Pass;
    says(&comparison);
    expect_file!["snapshots/outcomes.txt"].assert_eq(&words);
}

#[test]
fn pages_are_well_formed_and_fetch_nothing() {
    // As XML, in which also elements without content are closed.
    let empty = regex_lite::Regex::new("<(meta|wbr|input)([^>]*)>").expect("a pattern");
    for sample in [usual(), extreme()] {
        let [.., (_, text)] = rendered(&sample);
        let text = text.replace("<details open>", "<details>");
        let text = empty.replace_all(&text, "<$1$2/>");
        let options = roxmltree::ParsingOptions {
            allow_dtd: true,
            ..Default::default()
        };
        let page = roxmltree::Document::parse_with_options(&text, options);
        for node in page.expect("the page is well-formed").descendants() {
            for attribute in ["src", "href", "srcset", "style", "onclick", "onload"] {
                assert_eq!(node.attribute(attribute), None);
            }
        }
        for fetch in ["http:", "https:", "url(", "@import", "fetch("] {
            assert!(!text.contains(fetch), "{fetch}");
        }
    }
}

#[test]
fn comments_fit_github_and_names_break_no_table() {
    let mut many = usual();
    let copies = |bench: &Bench| vec![bench.clone(); 200];
    many.benches = many.benches.iter().flat_map(copies).collect();
    for sample in [extreme(), many] {
        let [_, (_, text), _] = rendered(&sample);
        assert!(text.chars().count() < 65_536);
        let is_short = sample.benches.len() < 100;
        assert!(is_short || text.contains("do not fit into a comment"));
        let mut header = None;
        for line in text.lines() {
            let cells = line.replace("\\|", "").matches('|').count();
            if line.starts_with('|') {
                assert_eq!(*header.get_or_insert(cells), cells, "{line}");
            } else {
                header = None;
            }
        }
    }
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
    for theme in html::STYLE.split(":root").skip(1).take(2) {
        let colour = |name: &str| {
            let set = theme.split_once(&format!("--{name}: "));
            luminance(&set.expect("the colour is set").1[..7])
        };
        for (paper, least) in [("page", 4.5), ("card", 4.5), ("band", 3.0), ("floor", 3.0)] {
            for ink in ["text", "slower", "faster", "unstable", "accent"] {
                let (a, b) = (colour(ink), colour(paper));
                let contrast = (a.max(b) + 0.05) / (a.min(b) + 0.05);
                assert!(contrast >= least, "{ink} on {paper}: {contrast:.2}");
            }
        }
    }
}

#[test]
fn files_are_read_again_or_refused() {
    let directory = tempfile::tempdir().expect("a directory for temporary files");
    let paths = write_all(&usual(), &directory.path().join("reports")).expect("there is space");
    let read: Comparison = model::read(&paths[0]).expect("it was just written");
    assert_eq!(read, usual());
    let path = directory.path().join("a.json");
    let refused = |expected: &str| {
        let error = model::read::<Comparison>(&path).expect_err("no comparison");
        assert!(error.to_string().contains(expected), "{error}");
    };
    refused("cannot read");
    for (text, error) in [
        ("{\"schema\": 999}", "has schema 999"),
        ("[]", "is no file of measurements"),
        ("{\"schema\": 1}", "does not have the expected form"),
    ] {
        super::write(&path, text).expect("there is space");
        refused(error);
    }
    let error = write_all(&usual(), &path.join("below")).expect_err("no directory");
    assert!(error.to_string().starts_with("cannot write"));
    assert!(path.is_file(), "it is left as it was");
}
