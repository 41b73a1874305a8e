//! `cargo xtask demo`: a headless Bevy app on the drop-in; with `--versus` on the published crate and on the drop-in in turn.

pub(crate) mod figures;
pub(crate) mod versus;

use std::path::PathBuf;

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
    /// Run it on the published crate and on ours in turn, compare what they compute, and write a page about their frames
    #[arg(long)]
    versus: bool,
    /// Also write what the pools did at the end, as a trace and as a page
    #[arg(long, conflicts_with = "versus")]
    trace: bool,
    /// Processes of each side
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..), requires = "versus")]
    rounds: u32,
    /// The page [default: versus.html in the target directory]
    #[arg(long, value_name = "FILE", requires = "versus")]
    out: Option<PathBuf>,
}

impl DemoArgs {
    /// The words for the app.
    fn words(&self) -> Vec<String> {
        let settings = [
            ("--frames", Some(self.frames)),
            ("--entities", Some(self.entities)),
            ("--fps", Some(self.fps)),
            ("--threads", self.threads),
        ];
        let given = settings.into_iter();
        let given = given.filter_map(|(name, value)| Some([name.to_owned(), value?.to_string()]));
        given.flatten().collect()
    }
}

/// Runs the app and prints frame times and what the pool did.
pub(crate) fn run(ws: &Workspace, args: &DemoArgs) -> Result<()> {
    eprintln!("building Bevy and the demo (the first time takes a minute or two)");
    if args.versus {
        return versus::run(ws, args);
    }
    let settings = args.words();
    let settings = settings.iter().map(String::as_str);
    let target = ws.target.join("compat/demo");
    let build = Build::of(&ws.root.join("crates/compat"), target);
    if !args.trace {
        return build.cargo(&words("run --release --quiet --package demo --", settings));
    }
    let dir = ws.target.to_string_lossy();
    let settings = settings.chain(["--trace", &dir]);
    build.cargo(&words(
        "run --release --quiet --package demo --features timeline --",
        settings,
    ))
}
