//! `clean.txt` is a small workspace that breaks no rule. `planted.txt` has files that break one, each put there alone, and what
//! is found then. In both a line `== PATH` begins a file, and `·` is left out: it keeps them from breaking the rules themselves.

use std::path::{Path, PathBuf};

use expect_test::expect_file;

use super::{Files, check, text};

/// The files of a text, each with its path.
fn split(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let files = text.split("== ").skip(1);
    files.map(|file| file.split_once('\n').expect("a path, and what is in it"))
}

/// What is found in the workspace with one other file.
fn found(other: Option<(&str, &str)>) -> Vec<String> {
    let all = split(include_str!("clean.txt")).chain(other);
    let all = all.map(|(path, text)| (PathBuf::from(path), text.replace('·', "")));
    let dependencies = [("slab", false), ("terrace-testing", true)];
    let dependencies = dependencies.map(|(name, dev)| ("crates/fork".into(), name.into(), dev));
    check(&all.collect::<Files>(), &dependencies).expect("the tables are tables")
}

#[test]
fn what_breaks_no_rule_passes() {
    assert_eq!(found(None), [""; 0]);
}

#[test]
fn each_rule_that_is_broken_is_found() {
    let mut shown = String::new();
    for (path, text) in split(include_str!("planted.txt")) {
        let (text, _) = text.split_once("=>").expect("something is found");
        shown += &format!("== {path}\n{text}");
        for finding in found(Some((path, text))) {
            // What was found there would break the rule here.
            let (finding, _) = finding.split_once(": `").unwrap_or((&finding, ""));
            shown += &format!("=> {finding}\n");
        }
    }
    expect_file!["planted.txt"].assert_eq(&shown);
}

#[test]
fn long_files_warn_then_fail() {
    let of = |lines| text::check(Path::new("a.rs"), &"//! A.\n".repeat(lines)).join("");
    let levels = [400, 401, 600, 601].map(|lines| of(lines).split(':').next().map(str::to_owned));
    let wanted = ["", "warning", "warning", "error"];
    assert_eq!(levels, wanted.map(|level| Some(level.to_owned())));
}
