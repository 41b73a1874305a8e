//! Rules about features: the README of a published crate, which is its documentation too, has the table of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::{Files, error};

/// The part of a manifest that is looked at.
#[derive(Deserialize)]
struct Manifest {
    #[serde(default)]
    package: BTreeMap<String, toml::Value>,
    #[serde(default)]
    features: BTreeMap<String, Vec<String>>,
}

pub(super) fn check(files: &Files) -> Result<Vec<String>> {
    let mut findings = Vec::new();
    let is_manifest = |path: &Path| path.ends_with("Cargo.toml") && path.iter().count() == 3;
    for (path, text) in files {
        if !path.starts_with("crates") || !is_manifest(path) {
            continue;
        }
        let manifest: Manifest =
            toml::from_str(text).with_context(|| path.display().to_string())?;
        if manifest.package.contains_key("publish") {
            continue;
        }
        let comments = comments(text);
        let bare = manifest.features.keys().filter(|name| {
            let is_said = comments.iter().any(|(said, _)| said == *name);
            *name != "default" && !is_said
        });
        findings.extend(bare.map(|name| {
            let what = format!("feature {name} has no comment `##` that says what it does");
            error(path, 0, &what)
        }));
        let defaults = defaults(&manifest.features);
        let wanted: Vec<String> = comments
            .iter()
            .map(|(name, what)| {
                let default = if defaults.contains(name.as_str()) {
                    "yes"
                } else {
                    "no"
                };
                format!("| `{name}` | {default} | {what} |")
            })
            .collect();
        let readme = path.with_file_name("README.md");
        let page = files.get(&readme).map_or("", String::as_str);
        findings.extend(compare(&readme, page, &wanted));
    }
    Ok(findings)
}

/// The features that have a comment, with its text, in their order.
fn comments(manifest: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut what: Vec<&str> = Vec::new();
    for line in manifest.lines() {
        if let Some(more) = line.strip_prefix("## ") {
            what.push(more.trim());
        } else if what.is_empty() {
            continue;
        } else if let Some((name, _)) = line.split_once(" = ") {
            found.push((name.to_owned(), what.join(" ")));
            what.clear();
        }
    }
    found
}

/// The features that are on by default, by themselves or through others.
fn defaults(features: &BTreeMap<String, Vec<String>>) -> BTreeSet<&str> {
    let mut on = BTreeSet::new();
    let mut left = vec!["default"];
    while let Some(name) = left.pop() {
        if on.insert(name) {
            let more = features.get(name).into_iter().flatten();
            left.extend(more.map(String::as_str));
        }
    }
    on
}

/// What is wrong with the table of a README that should have these rows.
fn compare(readme: &Path, page: &str, wanted: &[String]) -> Vec<String> {
    let section = page.lines().enumerate();
    let section = section
        .skip_while(|(_, line)| *line != "## Features")
        .skip(1);
    let section = section.take_while(|(_, line)| !line.starts_with("## "));
    let rows: Vec<(usize, &str)> = section
        .filter(|(_, line)| line.starts_with("| `"))
        .collect();
    let is_there = |wanted: &&String| rows.iter().any(|(_, row)| row == wanted);
    let missing = wanted.iter().filter(|row| !is_there(row));
    let missing = missing.map(|row| error(readme, 0, &format!("its Features lack a row: `{row}`")));
    let strange = rows
        .iter()
        .filter(|(_, row)| !wanted.iter().any(|wanted| wanted == row));
    let strange = strange.map(|(line, _)| error(readme, line + 1, "Cargo.toml says otherwise"));
    missing.chain(strange).collect()
}
