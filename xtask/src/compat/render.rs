//! `cargo xtask compat --render`: an app that Bevy's renderer draws, on the published `bevy_tasks` and on the drop-in, process by process
//! in turn.
//!
//! First a process of each side captures every frame: the pixels have to be the same. The others are measured, and capture one frame
//! at the end.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use clap::Args;

use super::registry::{BEVY_TASKS, Published};
use super::sides::{self, OPTIMISED, Side};
use super::vulkan::{Driver, NO_DRIVER};
use crate::demo::figures::Figures;
use crate::demo::versus::{figures, in_turn, show};
use crate::measure::machine::origin;
use crate::report::frames::{Comparison, SideFrames};
use crate::report::units::counted;
use crate::workspace::Workspace;

/// No member of the compat workspace: only this command fetches the renderer.
const PACKAGE: &str = "render";
/// Of a Bevy whose renderer the oldest compiler for `xtask` builds.
const DROP_IN: Published = BEVY_TASKS.of("0.19.1");
/// What ours may take at most, as a ratio to stock.
const LIMITS: [(&str, f64); 2] = [("p99", 1.0), ("CPU time a frame", 1.0)];
/// How Bevy ends where there is no driver.
const NO_GPU: &str = "Unable to find a GPU";

#[derive(Args)]
pub(super) struct RenderArgs {
    /// Frames of a process
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..), requires = "render")]
    frames: u32,
    /// Processes of each side
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..), requires = "render")]
    processes: u32,
    /// The page [default: render.html in the target directory]
    #[arg(long, value_name = "FILE", requires = "render")]
    out: Option<PathBuf>,
}

/// Builds both, compares pixels, measures and writes the page.
pub(super) fn run(ws: &Workspace, args: &RenderArgs) -> Result<()> {
    let app = App {
        driver: Driver::find()?,
        dir: ws.target.join("compat").join(PACKAGE),
        frames: args.frames,
    };
    eprintln!(
        "building Bevy with its renderer on both sides (the first time takes half an hour or more on two cores)"
    );
    let origin = origin(ws);
    let programs = Side::both(|side| app.build(ws, side))?;
    let pictures = &["--pictures"][..];
    eprintln!("every frame of both sides is captured");
    in_turn(1, |side| {
        app.run(&programs[side], Side::BOTH[side], pictures)
    })?;
    let frames = Side::both(|side| Ok(fs_err::read(app.frame(side))?))?;
    let all = in_turn(args.processes, |side| {
        app.run(&programs[side], Side::BOTH[side], &[])
    })?;
    let side = |at: usize| {
        let of = SideFrames::of(Side::BOTH[at].name(), &all[at]);
        of.with_picture(&frames[at])
    };
    let comparison = Comparison {
        origin,
        what: format!(
            "{} rendered frames in each of {} a side, by {}. All {} images and all transforms of both sides are the same, bit for bit",
            args.frames,
            counted(args.processes as usize, "process", "processes"),
            app.driver.name(),
            args.frames,
        ),
        sides: [side(0), side(1)],
        schedules: Vec::new(),
    };
    let page = ws.target.join("render.html");
    show(&comparison, args.out.as_deref().unwrap_or(&page))?;
    comparison.check(&LIMITS)
}

/// The app on either side.
struct App {
    driver: Driver,
    /// Of both sides.
    dir: PathBuf,
    frames: u32,
}

impl App {
    /// The sides share a target directory, and so what does not depend on `bevy_tasks`. Cargo tells their packages apart, and the
    /// program of each is kept under a name of its own.
    fn build(&self, ws: &Workspace, side: Side) -> Result<PathBuf> {
        let to = format!("{PACKAGE}/{}", side.name());
        let dir = sides::copy(ws, PACKAGE, &to, &side.patch(ws, &[DROP_IN]))?;
        side.prove(ws, &dir, &[], &DROP_IN)?;
        let way = (side.name(), OPTIMISED.1);
        sides::build(&dir, &self.dir.join("target"), PACKAGE, way)
    }

    fn run(&self, program: &Path, side: Side, args: &[&str]) -> Result<Figures> {
        let mut command = Command::new(program);
        command.arg("--dir").arg(self.assets(side));
        command.args(["--frames", &self.frames.to_string()]);
        command.args(args).envs(self.driver.environment());
        let figures = figures(command, self.frames);
        figures.map_err(|error| match format!("{error:#}").contains(NO_GPU) {
            true => error.context(NO_DRIVER),
            false => error,
        })
    }

    /// Where the app keeps its textures and its last frame.
    fn assets(&self, side: Side) -> PathBuf {
        self.dir.join(side.name()).join("assets")
    }

    fn frame(&self, side: Side) -> PathBuf {
        self.assets(side).join("frame.png")
    }
}
