//! Each "yes" and "part" of Terrace in `docs/features.md` names a test that there is.

use std::path::Path;

use terrace_testing::watchdog;

/// The root of the repository, from this crate.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// What is wrong with a row of a table, if anything is. `read` returns the text of a file.
fn fault(row: &str, read: impl Fn(&str) -> Option<String>) -> Option<String> {
    let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
    let [feature, ours, .., test] = cells[..] else {
        return Some(format!("{row}: not a row"));
    };
    let named = test.trim_matches('`').split_once("::");
    let there = named.is_some_and(|(file, name)| {
        let text = read(file).unwrap_or_default();
        let start = text.find(&format!("\nfn {name}("));
        // Between the attribute and the function there are further attributes only.
        start.is_some_and(|start| {
            let attributes = text[..=start].rsplit("\n\n").next();
            attributes.is_some_and(|lines| lines.contains("#[test]"))
        })
    });
    match ours {
        "yes" | "part" if !there => Some(format!("{feature}: {test} is no test")),
        "yes" | "part" => None,
        "no" if test.is_empty() => None,
        _ => Some(format!("{feature}: {ours} {test}")),
    }
}

#[test]
fn each_feature_has_its_test() {
    let _watchdog = watchdog();
    let read = |file: &str| std::fs::read_to_string(Path::new(ROOT).join(file)).ok();
    let page = read("docs/features.md").expect("the page is there");
    let is_row = |line: &&str| line.starts_with("| ") && !line.starts_with("| feature |");
    let rows: Vec<&str> = page.lines().filter(is_row).collect();
    assert!(rows.len() >= 20, "the tables are found");
    let faults: Vec<String> = rows.iter().filter_map(|row| fault(row, read)).collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn a_missing_test_is_found() {
    let read = |_: &str| {
        Some(String::from(
            "\n#[test]\nfn there() {}\n\nfn no_test() {}\n",
        ))
    };
    let row = |ours: &str, test: &str| fault(&format!("| a | {ours} | no | {test} |"), read);
    assert_eq!(row("yes", "`f.rs::there`"), None);
    assert_eq!(row("no", ""), None);
    for (ours, test) in [
        ("yes", ""),
        ("yes", "`f.rs::gone`"),
        ("part", "`f.rs::no_test`"),
    ] {
        assert!(row(ours, test).is_some(), "{ours} {test}");
    }
    assert!(row("perhaps", "").is_some());
}
