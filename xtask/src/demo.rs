//! `cargo xtask demo`: a headless Bevy app on the drop-in.

use anyhow::Result;
use clap::Args;

use crate::build::Build;
use crate::workspace::Workspace;

/// Options of `cargo xtask demo`.
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
    let mut words = "run --release --quiet --package demo --".to_owned();
    words += &format!(" --frames {} --entities {}", args.frames, args.entities);
    words += &format!(" --fps {}", args.fps);
    if let Some(threads) = args.threads {
        words += &format!(" --threads {threads}");
    }
    let words: Vec<&str> = words.split_whitespace().collect();
    let target = ws.target.join("compat/demo");
    Build::of(&ws.root.join("crates/compat"), target).cargo(&words)
}
