//! Reports of measurements: a table for the terminal, JSON, Markdown, one HTML file.
//!
//! [`model`] is what a comparison of two trees has to say, [`peers`] what one with other projects
//! has; the renderers read these and compute nothing that decides.

mod conditions;
mod escape;
pub(crate) mod figure;
mod html;
mod markdown;
pub(crate) mod model;
pub(crate) mod peers;
pub(crate) mod results;
#[cfg(test)]
mod sample;
pub(crate) mod sheet;
mod table;
#[cfg(test)]
mod tests;
pub(crate) mod units;
mod words;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;

pub(crate) use table::table;

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
    print!("{}", table(&comparison));
    for path in write_all(&comparison, args.out.as_deref().unwrap_or(beside))? {
        println!("wrote {}", path.display());
    }
    Ok(())
}

/// Writes every report into a directory, which is made if it is not there; returns their paths.
///
/// # Errors
///
/// If a file cannot be written; what was there before is then as it was.
pub(crate) fn write_all(comparison: &Comparison, out: &Path) -> Result<Vec<PathBuf>> {
    let json = serde_json::to_string_pretty(comparison)? + "\n";
    let texts = [json, markdown::markdown(comparison), html::html(comparison)];
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

/// Replaces a file at once, so that a full disk leaves the old one.
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    use std::io::Write as _;
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let replace = || -> std::io::Result<()> {
        std::fs::create_dir_all(directory)?;
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
