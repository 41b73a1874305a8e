//! `cargo xtask demo`: a headless Bevy app on the drop-in.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::Args;

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
pub(crate) fn run(args: DemoArgs) -> Result<()> {
    let ws = Workspace::find()?;
    let manifest = ws
        .compat_manifest()
        .context("crates/compat/Cargo.toml is missing")?;
    eprintln!("building Bevy and the demo (the first time takes a minute or two)");
    let mut command = Command::new("cargo");
    command
        .args(["run", "--release", "--quiet", "--manifest-path"])
        .arg(&manifest)
        .args(["--package", "demo"])
        .env("CARGO_TARGET_DIR", ws.target.join("compat/demo"))
        .args(["--", "--frames", &args.frames.to_string()])
        .args(["--entities", &args.entities.to_string()])
        .args(["--fps", &args.fps.to_string()]);
    if let Some(threads) = args.threads {
        command.args(["--threads", &threads.to_string()]);
    }
    let status = command
        .status()
        .context("cannot start cargo; is it on the PATH?")?;
    ensure!(status.success(), "the demo failed: {status}");
    Ok(())
}
