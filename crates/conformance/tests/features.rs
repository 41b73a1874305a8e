//! Each "yes" and "part" of Terrace in `docs/features.md` names a test that there is, and so does each guarantee in
//! `docs/guarantees.md`.

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

/// The tests that a page of guarantees names, each as its file and its function. The file is named from the root, or below the tests of the
/// crate whose section it is.
fn named_by_guarantees(page: &str) -> Vec<(String, &str)> {
    let mut found = Vec::new();
    for section in page.split("\n## terrace-").skip(1) {
        let name = section.lines().next().expect("a heading");
        let paragraphs = section.split("\n\n");
        for paragraph in paragraphs.filter(|text| text.starts_with("Tests: ")) {
            let quoted = paragraph.split('`').skip(1).step_by(2);
            for (file, test) in quoted.filter_map(|quoted| quoted.split_once("::")) {
                let file = match file.ends_with(".rs") {
                    true => file.to_owned(),
                    false => format!("crates/{name}/tests/{file}.rs"),
                };
                found.push((file, test));
            }
        }
    }
    found
}

#[test]
fn each_guarantee_has_its_tests() {
    let _watchdog = watchdog();
    let read = |file: &str| std::fs::read_to_string(Path::new(ROOT).join(file)).ok();
    let page = read("docs/guarantees.md").expect("the page is there");
    let named = named_by_guarantees(&page);
    assert!(named.len() >= 50, "the tests are found: {named:?}");
    let is_gone = |(file, test): &&(String, &str)| {
        read(file).is_none_or(|text| !text.contains(&format!("fn {test}(")))
    };
    let gone: Vec<_> = named.iter().filter(is_gone).collect();
    assert!(gone.is_empty(), "{gone:#?}");
}

#[test]
fn tests_of_guarantees_are_found_by_section() {
    let page = "# G\n\n## terrace-a\n\nTests: `f::one`; `f.rs`, `crates/b/tests/g.rs::two`.\n\n`no::test`\n";
    let found = named_by_guarantees(page);
    let wanted = [
        ("crates/a/tests/f.rs", "one"),
        ("crates/b/tests/g.rs", "two"),
    ];
    assert_eq!(found, wanted.map(|(file, test)| (file.to_owned(), test)));
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

/// How an item begins, and names.
type Item = (&'static str, &'static [&'static str]);

/// What a page says is not there: how its item begins, and names that no public interface may have then.
const ABSENT: [(&str, &[Item]); 4] = [
    (
        "README.md",
        &[
            (
                "IO and timers.",
                &[
                    "TcpStream",
                    "UdpSocket",
                    "sleep_until",
                    "timeout",
                    "interval",
                ],
            ),
            ("A pool of its own for blocking calls.", &["BlockingPool"]),
            (
                "Parallel iterators as in rayon.",
                &["IntoParallelIterator", "par_iter_mut"],
            ),
        ],
    ),
    (
        "docs/architecture.md",
        &[
            (
                "Timers and IO.",
                &[
                    "TcpStream",
                    "UdpSocket",
                    "sleep_until",
                    "timeout",
                    "interval",
                ],
            ),
            ("Threads for blocking calls.", &["BlockingPool"]),
            (
                "Parallel iterators as in rayon.",
                &["IntoParallelIterator", "par_iter_mut"],
            ),
        ],
    ),
    (
        "crates/executor/README.md",
        &[
            // `crates/executor/tests/counting` and `waiters.rs` count what a waiting thread runs.
            ("Workers out of waiting threads.", &["become_worker"]),
            ("Joins without threads.", &[]),
            (
                "Threads of its own for calls that block.",
                &["BlockingPool"],
            ),
            (
                "Timers and IO.",
                &[
                    "TcpStream",
                    "UdpSocket",
                    "sleep_until",
                    "timeout",
                    "interval",
                ],
            ),
            ("A remedy for drivers that are left alone.", &[]),
        ],
    ),
    (
        "crates/local/README.md",
        &[
            (
                "Work stealing, priorities and timers.",
                &["sleep_until", "timeout", "interval"],
            ),
            ("A limit for tasks that wake themselves", &[]),
            ("Blocking.", &[]),
        ],
    ),
];

/// The items of a page's list of what is not there, without their marks.
fn absent(page: &str) -> Vec<&str> {
    let is_heading =
        |line: &&str| ["## What is not here", "## What is deliberately absent"].contains(line);
    let list = page.lines().skip_while(|line| !is_heading(line)).skip(1);
    let list = list.take_while(|line| !line.starts_with("## "));
    list.filter_map(|line| line.strip_prefix("- ")).collect()
}

/// Whether an interface has an item of this name.
fn has(interface: &str, name: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    interface
        .lines()
        .any(|line| line.split(|c| !is_name(c)).any(|word| word == name))
}

/// Each item of such a list is known here, so that an item which is no longer true fails with the interface that has it.
#[test]
fn what_is_not_here_is_not_here() {
    let _watchdog = watchdog();
    let read = |file: &str| std::fs::read_to_string(Path::new(ROOT).join(file)).expect("a page");
    let interfaces = std::fs::read_dir(Path::new(ROOT).join("docs/api"))
        .expect("the lists of `cargo xtask api`");
    // `terrace-sync` re-exports the standard library's primitives.
    let interfaces = interfaces.map(|entry| entry.expect("a list").path());
    let interfaces: Vec<_> = interfaces
        .filter(|path| !path.ends_with("terrace-sync.txt"))
        .collect();
    assert!(interfaces.len() >= 8, "{interfaces:?}");
    let all: String = interfaces
        .iter()
        .map(|path| std::fs::read_to_string(path).expect("a list"))
        .collect();
    assert!(has(&all, "spawn_blocking") && !has(&all, "spawn_block"));
    for (page, items) in ABSENT {
        let text = read(page);
        let said: Vec<&str> = absent(&text);
        assert_eq!(said.len(), items.len(), "{page}: {said:?}");
        for (begins, names) in items {
            let begins = format!("**{begins}");
            assert!(
                said.iter().any(|item| item.starts_with(&begins)),
                "{page}: no item {begins}"
            );
            for name in *names {
                assert!(!has(&all, name), "{page} says that there is no {name}");
            }
        }
    }
}
