//! Reports of measurements: a table for the terminal, JSON, Markdown, one HTML page.
//!
//! [`model`] is what a comparison of two trees found, [`peers`] what one with other projects found. [`comparison`]
//! and [`page`] make parts of a [`document`] out of these; the renderers compute nothing that decides.

mod comparison;
pub(crate) mod curves;
pub(crate) mod document;
pub(crate) mod frames;
mod html;
pub(crate) mod markdown;
pub(crate) mod model;
pub(crate) mod page;
pub(crate) mod peers;
mod plot;
pub(crate) mod schedules;
pub(crate) mod sheet;
pub(crate) mod terminal;
#[cfg(test)]
mod tests;
pub(crate) mod units;
mod words;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use serde::Serialize;

use model::Comparison;

/// What [`write_all`] writes.
pub(crate) const FILES: [&str; 3] = ["compare.json", "report.md", "report.html"];

/// Options of `cargo xtask bench-report`.
#[derive(Args)]
pub(crate) struct ReportArgs {
    /// A compare.json that `cargo xtask bench-compare` wrote
    compare: PathBuf,
    /// Where to write the reports [default: beside the file]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// `cargo xtask bench-report`: renders a saved comparison again.
pub(crate) fn run(args: &ReportArgs) -> Result<()> {
    let comparison: Comparison = model::read(&args.compare)?;
    let beside = args.compare.parent().unwrap_or(Path::new(""));
    show(&comparison, args.out.as_deref().unwrap_or(beside))
}

/// Writes every report into a directory and prints the one for the terminal, in colour on one unless `NO_COLOR` is set.
pub(crate) fn show(comparison: &Comparison, out: &Path) -> Result<()> {
    let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let colour = wanted && std::io::stdout().is_terminal();
    let written = write_all(comparison, out)?;
    let document = comparison::document(comparison);
    print!("{}", terminal::document(&document, colour));
    for path in written {
        println!("wrote {}", path.display());
    }
    Ok(())
}

/// The conclusion and what to do next, in one line.
pub(crate) fn conclusion(comparison: &Comparison) -> String {
    words::lead(comparison).join(" ")
}

/// Writes every report into a directory, which is made if it is not there; returns their paths.
fn write_all(comparison: &Comparison, out: &Path) -> Result<Vec<PathBuf>> {
    let json = serde_json::to_string_pretty(comparison)? + "\n";
    let document = comparison::document(comparison);
    let texts = [
        json,
        markdown::document(&document),
        html::document(&document),
    ];
    FILES
        .into_iter()
        .zip(texts)
        .map(|(name, text)| {
            let path = out.join(name);
            write(&path, &text)?;
            Ok(path)
        })
        .collect()
}

/// Writes figures for `cargo xtask bench-page` if the user asked for a file, and says so.
fn save(figures: &impl Serialize, json: Option<&PathBuf>) -> Result<()> {
    if let Some(path) = json {
        write(path, &(serde_json::to_string_pretty(figures)? + "\n"))?;
        println!("wrote {}", path.display());
    }
    Ok(())
}

/// Replaces a file at once, so that a full disk leaves the old one.
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    use std::io::Write as _;
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let replace = || -> std::io::Result<()> {
        fs_err::create_dir_all(directory)?;
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    };
    replace().with_context(|| {
        format!(
            "cannot write {}; is there space, and may you write there?",
            path.display()
        )
    })
}
