//! A rendered Bevy app without a window: animated meshes, a parallel query, long background tasks, and textures that the asset server
//! loads. It renders into an image, on whichever Vulkan driver the environment names, and prints figures for a program.
//!
//! The app is ordinary Bevy; nothing in it knows about Terrace. Time passes by hand, so all that it computes is the same in each run:
//! the fingerprint has the bits of every transform in every frame, the pixels, and the results of the background tasks.

mod background;
mod pictures;
mod scene;
mod sparks;
mod textures;
mod usage;

use std::path::PathBuf;
use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant};

use bevy::app::PluginsState;
use bevy::asset::AssetPlugin;
use bevy::log::{Level, LogPlugin};
use bevy::prelude::*;
use bevy::render::RenderPlugin;
use bevy::time::TimeUpdateStrategy;
use bevy::window::ExitCondition;

const USAGE: &str = "usage: render --dir DIR [--frames N] [--pictures]
  --dir DIR   where the app writes its textures, which it then loads, and the last frame, as frame.png
  --frames N  frames to run (300)
  --pictures  look at the pixels of each frame instead of those of the last one; the times then include that";

/// What passes from one frame to the next.
const STEP: Duration = Duration::from_micros(16_667);
/// Frames of no time, so that all pipelines and buffers exist before the first measured one.
const WARM_UP: usize = 30;
/// How long the textures may take to load, and pixels to come back.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks at what is still on its way.
const PAUSE: Duration = Duration::from_millis(2);

/// The command-line settings.
struct Options {
    dir: PathBuf,
    frames: usize,
    pictures: bool,
}

impl Options {
    fn parse(mut args: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self {
            dir: PathBuf::new(),
            frames: 300,
            pictures: false,
        };
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--pictures" => options.pictures = true,
                "--dir" => options.dir = args.next().unwrap_or_default().into(),
                "--frames" => {
                    let text = args.next().unwrap_or_default();
                    options.frames = text.parse().map_err(|_| "--frames wants a number")?;
                }
                _ => return Err(format!("unknown argument {arg}")),
            }
        }
        if options.dir.as_os_str().is_empty() || options.frames == 0 {
            return Err("--dir is missing, or there is no frame to run".to_owned());
        }
        Ok(options)
    }
}

fn build(options: &Options) -> App {
    let mut app = App::new();
    let plugins = DefaultPlugins
        .set(WindowPlugin {
            primary_window: None,
            exit_condition: ExitCondition::DontExit,
            ..default()
        })
        .set(AssetPlugin {
            file_path: options.dir.display().to_string(),
            ..default()
        })
        .set(LogPlugin {
            level: Level::ERROR,
            ..default()
        })
        .set(RenderPlugin {
            synchronous_pipeline_compilation: true,
            ..default()
        });
    app.add_plugins(plugins)
        .insert_resource(TimeUpdateStrategy::ManualDuration(Duration::ZERO))
        .add_plugins((
            scene::ScenePlugin,
            sparks::SparksPlugin,
            background::BackgroundPlugin,
            pictures::PicturesPlugin,
        ));
    while app.plugins_state() == PluginsState::Adding {
        bevy::tasks::tick_global_task_pools_on_main_thread();
    }
    app.finish();
    app.cleanup();
    app
}

/// Runs frames until something has come to pass.
fn update_until(app: &mut App, what: &str, is_so: impl Fn(&World) -> bool) -> Result<(), String> {
    let start = Instant::now();
    while !is_so(app.world()) {
        if start.elapsed() > PATIENCE {
            return Err(format!("{what} after {PATIENCE:.0?}"));
        }
        app.update();
        sleep(PAUSE);
    }
    Ok(())
}

fn run(options: &Options) -> Result<(), String> {
    textures::write(&options.dir)?;
    let start = Instant::now();
    let mut app = build(options);
    app.update();
    update_until(&mut app, "textures are not loaded", scene::is_loaded)?;
    for _ in 0..WARM_UP {
        app.update();
    }
    let startup = start.elapsed();

    app.insert_resource(TimeUpdateStrategy::ManualDuration(STEP));
    background::start(app.world_mut(), options.frames);
    let (mut times, mut transforms) = (Vec::with_capacity(options.frames), 0);
    let before = usage::now();
    for number in 0..options.frames {
        if options.pictures {
            pictures::capture(app.world_mut(), number);
        }
        let start = Instant::now();
        app.update();
        times.push(start.elapsed());
        transforms = scene::fingerprint(app.world_mut(), transforms);
    }
    let results = background::finish(app.world_mut());
    let used = usage::now();

    app.insert_resource(TimeUpdateStrategy::ManualDuration(Duration::ZERO));
    pictures::capture(app.world_mut(), options.frames);
    update_until(&mut app, "pixels are missing", pictures::are_complete)?;
    pictures::save(app.world(), &options.dir)?;

    let times: Vec<String> = times.iter().map(|t| t.as_nanos().to_string()).collect();
    println!(
        "frames {}\ncpu {}\nthreads {}\nstartup {}\nfingerprint transforms {transforms:016x} sparks {:016x} \
         {} tasks {results:016x}",
        times.join(" "),
        (used.cpu - before.cpu).as_nanos(),
        used.threads,
        startup.as_nanos(),
        sparks::fingerprint(app.world_mut()),
        pictures::fingerprint(app.world()),
    );
    Ok(())
}

/// One more word of a fingerprint.
fn mix(hash: u64, word: u64) -> u64 {
    (hash ^ word)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .rotate_left(29)
}

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("{message}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
