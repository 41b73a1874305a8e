//! `cargo xtask tidy`: the house rules that compilers do not check.
//!
//! Each rule is a function from the files to findings, in a module with the rules of its kind. `tests/planted.txt` breaks each.

mod dependencies;
mod features;
mod floors;
mod layout;
mod mutants;
mod sync_only;
#[cfg(test)]
mod tests;
mod text;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use crate::source::Source;
use crate::workspace::Workspace;
use dependencies::Dependency;

/// The texts of all files, by their paths below the root; what is no text is empty.
type Files = BTreeMap<PathBuf, String>;

/// One place that breaks a rule; the line is counted from 1, or 0 for the file as a whole.
fn error(path: impl AsRef<Path>, line: usize, what: &str) -> String {
    match (path.as_ref().display(), line) {
        (path, 0) => format!("error: {path}: {what}"),
        (path, line) => format!("error: {path}:{line}: {what}"),
    }
}

/// Checks every file that git tracks or would track.
pub(crate) fn run(ws: &Workspace) -> Result<()> {
    let files = ws.files()?.into_iter().map(|path| {
        let text = fs_err::read_to_string(ws.root.join(&path));
        (path, text.unwrap_or_default())
    });
    let files: Files = files.collect();
    let findings = check(&files, &dependencies::all(ws))?;
    for finding in &findings {
        println!("{finding}");
    }
    let (errors, warnings): (Vec<_>, Vec<_>) = findings
        .iter()
        .partition(|found| found.starts_with("error"));
    let (all, errors, warnings) = (files.len(), errors.len(), warnings.len());
    println!("tidy: {all} files, {errors} errors, {warnings} warnings");
    ensure!(errors == 0, "{errors} places break the house rules");
    Ok(())
}

fn check(files: &Files, dependencies: &[Dependency]) -> Result<Vec<String>> {
    let mut findings = layout::check(files);
    let mut sources = Vec::new();
    for (path, text) in files {
        findings.extend(text::check(path, text));
        if path.extension().is_some_and(|e| e == "rs") {
            match Source::new(path, text) {
                Ok(source) => sources.push(source),
                Err(why) => findings.push(error(path, 0, &why.to_string())),
            }
        }
    }
    findings.extend(sources.iter().flat_map(sync_only::check));
    findings.extend(dependencies::check(dependencies, &sources));
    findings.extend(mutants::check(files, &sources)?);
    findings.extend(floors::check(files, &sources));
    findings.extend(features::check(files)?);
    Ok(findings)
}
