//! `cargo xtask timeline`: makes the page of a timeline out of a trace that `terrace-trace` has written.

#[path = "../../../crates/trace/src/timeline/picture.rs"]
mod picture;
mod trace;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;

#[derive(Args)]
pub(crate) struct TimelineArgs {
    /// The trace
    #[arg(value_name = "FILE")]
    trace: PathBuf,
    /// The page
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
}

pub(crate) fn run(args: &TimelineArgs) -> Result<()> {
    convert(&args.trace, &args.out)?;
    println!("the page is {}", args.out.display());
    Ok(())
}

fn convert(from: &Path, to: &Path) -> Result<()> {
    let text =
        std::fs::read_to_string(from).with_context(|| format!("cannot read {}", from.display()))?;
    let picture = trace::read(&text)
        .with_context(|| format!("{} is no trace of a timeline", from.display()))?;
    let write = || {
        let mut out = BufWriter::new(File::create(to)?);
        picture.write_page(&mut out)?;
        out.flush()
    };
    write().with_context(|| format!("cannot write {}", to.display()))
}
