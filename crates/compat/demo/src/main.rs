//! A headless Bevy app: 100,000 particles, parallel queries, a system that must stay on the main thread,
//! and background tasks. At the end it says how long frames took, how much CPU time each thread used, and
//! what the task pools did.
//!
//! The app is ordinary Bevy; nothing in it knows about Terrace but the counters of the report.

mod background;
mod particles;
mod pipelined;
mod progress;
mod report;
mod threads;
mod window;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use bevy_app::{App, TaskPoolOptions, TaskPoolPlugin, TaskPoolThreadAssignmentPolicy};

use report::Report;

const USAGE: &str = "usage: demo [--frames N] [--entities N] [--threads N] [--fps N] [--pipelined] [--figures] [--trace DIR]
  --frames N    frames to run (600)
  --entities N  particles (100000)
  --threads N   threads of the compute pool (the number of cores, at least 2)
  --fps N       start a frame every 1/N seconds (0: as soon as the last one is done)
  --pipelined   draw a second world beside each frame, and time schedules
  --figures     print figures for a program instead of a report
  --trace DIR   write what the pools did at the end into DIR, as a trace and as a page (needs feature timeline)";

/// The command-line settings.
#[derive(Clone)]
struct Options {
    frames: usize,
    entities: usize,
    threads: usize,
    fps: usize,
    pipelined: bool,
    figures: bool,
    trace: Option<PathBuf>,
}

impl Options {
    fn parse(mut args: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self {
            frames: 600,
            entities: 100_000,
            threads: bevy_tasks::available_parallelism().max(2),
            fps: 0,
            pipelined: false,
            figures: false,
            trace: None,
        };
        while let Some(arg) = args.next() {
            if let Some(flag) = match arg.as_str() {
                "--pipelined" => Some(&mut options.pipelined),
                "--figures" => Some(&mut options.figures),
                _ => None,
            } {
                *flag = true;
                continue;
            }
            if arg == "--trace" {
                options.trace = Some(args.next().ok_or("--trace wants a directory")?.into());
                continue;
            }
            let (field, least) = match arg.as_str() {
                "--frames" => (&mut options.frames, 1),
                "--entities" => (&mut options.entities, 1),
                "--threads" => (&mut options.threads, 0),
                "--fps" => (&mut options.fps, 0),
                _ => return Err(format!("unknown argument {arg}")),
            };
            let text = args.next().unwrap_or_default();
            *field = text.parse().map_err(|_| format!("{arg} wants a number"))?;
            if *field < least {
                return Err(format!("{arg} wants at least {least}"));
            }
        }
        if options.trace.is_some() && !cfg!(feature = "timeline") {
            return Err("--trace wants a demo that was built with feature timeline".to_owned());
        }
        Ok(options)
    }

    /// When the next frame starts, if that is fixed.
    fn frame_time(&self) -> Option<Duration> {
        (self.fps > 0).then(|| Duration::from_secs(1) / self.fps as u32)
    }
}

/// Bevy's three pools: all of the asked-for threads for compute, one thread for each of the others.
fn pools(threads: usize) -> TaskPoolOptions {
    let policy = |threads| TaskPoolThreadAssignmentPolicy {
        min_threads: threads,
        max_threads: threads,
        percent: 1.0,
        on_thread_spawn: None,
        on_thread_destroy: None,
    };
    TaskPoolOptions {
        io: policy(1),
        async_compute: policy(1),
        compute: policy(threads),
        ..TaskPoolOptions::default()
    }
}

fn build(options: &Options) -> App {
    let mut app = App::new();
    app.add_plugins((
        TaskPoolPlugin {
            task_pool_options: pools(options.threads),
        },
        particles::ParticlesPlugin {
            amount: options.entities,
        },
        window::WindowPlugin,
        background::BackgroundPlugin,
    ));
    app.finish();
    app.cleanup();
    app
}

/// Writes what the pools did last.
#[cfg(feature = "timeline")]
fn write_timeline(dir: &std::path::Path) -> std::io::Result<()> {
    let timeline = terrace_trace::timeline::snapshot();
    for name in ["timeline.json", "timeline.html"] {
        timeline.write_file(dir.join(name))?;
        println!("written: {}", dir.join(name).display());
    }
    Ok(())
}

#[cfg(not(feature = "timeline"))]
fn write_timeline(_: &std::path::Path) -> std::io::Result<()> {
    Ok(())
}

fn run(options: &Options) -> std::io::Result<()> {
    if !options.figures {
        println!(
            "{} particles, {} frames, compute pool of {} threads, {} cores",
            options.entities,
            options.frames,
            options.threads,
            bevy_tasks::available_parallelism()
        );
    }
    let start = Instant::now();
    let mut app = build(options);
    let pipeline = options
        .pipelined
        .then(|| pipelined::Pipeline::new(&mut app, options.entities));
    // The first update builds the schedules and spawns the entities.
    app.update();
    let startup = start.elapsed();
    if let Some(pipeline) = &pipeline {
        // The second world has not seen them yet.
        pipeline.update(&mut app);
    }

    let mut frame_times = Vec::with_capacity(options.frames);
    let progress = progress::Progress::new(options.frames);
    let measurement = report::Measurement::start();
    for _ in 0..options.frames {
        let start = Instant::now();
        match &pipeline {
            Some(pipeline) => pipeline.update(&mut app),
            None => app.update(),
        }
        frame_times.push(start.elapsed());
        progress.frame();
        if let Some(frame_time) = options.frame_time() {
            std::thread::sleep(frame_time.saturating_sub(start.elapsed()));
        }
    }
    let measured = measurement.end();
    progress.finish();
    let pipelined = pipeline.map(|pipeline| pipeline.end(&mut app, options.frames));
    if let Some(dir) = &options.trace {
        write_timeline(dir)?;
    }
    let report = Report {
        startup,
        frame_times,
        measured,
        background: background::results(&app),
        on_main: window::frames_shown(&app),
        pipelined,
    };
    match options.figures {
        true => print!(
            "{}",
            report.figures(particles::fingerprint(app.world_mut()))
        ),
        false => print!("{}", report.text()),
    }
    Ok(())
}

fn main() -> ExitCode {
    match Options::parse(std::env::args().skip(1)) {
        Ok(options) => match run(&options) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("cannot write the timeline: {error}");
                ExitCode::FAILURE
            }
        },
        Err(message) => {
            eprintln!("{message}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}
