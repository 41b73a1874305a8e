//! `cargo xtask tidy`: the house rules that compilers do not check.
//!
//! Each rule is a function from what it looks at to findings, in a module with the rules of its
//! kind, with a case that passes and one that fails beside it.

mod dependencies;
mod floors;
mod layout;
mod mutants;
mod sync_only;
mod text;

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::source::Source;
use crate::workspace::Workspace;

/// Whether a finding fails the command.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Level {
    Warning,
    Error,
}

/// One place that breaks a rule.
#[derive(Debug, PartialEq)]
struct Finding {
    level: Level,
    path: PathBuf,
    /// Counted from 1; 0 for the file as a whole.
    line: usize,
    what: String,
}

impl Finding {
    fn error(path: impl AsRef<Path>, line: usize, what: impl Into<String>) -> Self {
        Self {
            level: Level::Error,
            path: path.as_ref().to_owned(),
            line,
            what: what.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.level {
            Level::Warning => "warning",
            Level::Error => "error",
        };
        write!(f, "{level}: {}", self.path.display())?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        write!(f, ": {}", self.what)
    }
}

/// Checks every file that git tracks or would track.
pub(crate) fn run(ws: &Workspace) -> Result<()> {
    let paths = ws.files()?;
    let mut findings = layout::check(&paths);
    let mut sources = Vec::new();
    for path in &paths {
        let Ok(text) = fs_err::read_to_string(ws.root.join(path)) else {
            continue; // not text
        };
        findings.extend(text::check(path, &text));
        if path.extension().is_some_and(|e| e == "rs") {
            match Source::new(path, &text) {
                Ok(source) => sources.push(source),
                Err(error) => findings.push(Finding::error(path, 0, error.to_string())),
            }
        }
    }
    for source in &sources {
        findings.extend(sync_only::check(source));
        findings.extend(layout::forbids_unsafe(source));
    }
    findings.extend(dependencies::check(ws, &sources));
    findings.extend(mutants::check(ws, &sources)?);
    let page = fs_err::read_to_string(ws.root.join(floors::PAGE)).unwrap_or_default();
    findings.extend(floors::check(&sources, &page));
    report(&findings, paths.len())
}

fn report(findings: &[Finding], files: usize) -> Result<()> {
    for finding in findings {
        println!("{finding}");
    }
    let errors = findings.iter().filter(|f| f.level == Level::Error).count();
    let warnings = findings.len() - errors;
    println!("tidy: {files} files, {errors} errors, {warnings} warnings");
    if errors > 0 {
        bail!("{errors} places break the house rules");
    }
    Ok(())
}
