//! `cargo xtask demo`: a headless Bevy app on the drop-in.

use anyhow::Result;
use clap::Args;

use crate::build::{Build, words};
use crate::workspace::Workspace;

#[derive(Args)]
pub(crate) struct DemoArgs {
    /// Frames to run
    #[arg(long, value_name = "N", default_value_t = 600, value_parser = clap::value_parser!(u32).range(1..))]
    frames: u32,
    /// Particles
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..))]
    entities: u32,
    /// Threads of the compute pool; the number of cores, at least 2, unless given
    #[arg(long, value_name = "N")]
    threads: Option<u32>,
    /// Start a frame every 1/N seconds; 0 is as soon as the last one is done
    #[arg(long, value_name = "N", default_value_t = 0)]
    fps: u32,
}

/// Runs the app and prints frame times and what the pool did.
pub(crate) fn run(ws: &Workspace, args: &DemoArgs) -> Result<()> {
    eprintln!("building Bevy and the demo (the first time takes a minute or two)");
    let line = format!(
        "run --release --quiet --package demo -- --frames {} --entities {} --fps {}",
        args.frames, args.entities, args.fps
    );
    let threads = args.threads.map(|threads| threads.to_string());
    let threads = threads.iter().flat_map(|threads| ["--threads", threads]);
    let target = ws.target.join("compat/demo");
    Build::of(&ws.root.join("crates/compat"), target).cargo(&words(&line, threads))
}
