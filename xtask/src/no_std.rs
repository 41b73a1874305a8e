//! `cargo xtask no-std`: the layers that need no operating system and the drop-ins for `bevy_tasks`, built for targets that have
//! none, and images of two bare machines run under qemu.
//!
//! `core` and `alloc` are built along with them, by a compiler that comes with their sources: it needs no further targets. Most of
//! the time goes there. So all that is built for a target has the same flags and the same profile, and shares them. What the images print
//! is compared with the list of behaviours in `crates/firmware/expected.txt`.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::build::{Build, words};
use crate::compat::older;
use crate::process::{needs, program, run_limited, same};
use crate::toolchain::Compiler;
use crate::workspace::Workspace;

#[derive(Args)]
pub(crate) struct NoStdArgs {
    /// Do only what has this text in its name: a target such as `thumbv7em`, or `qemu`
    filter: Option<String>,
}

/// What cargo is told of every build, up to the target.
const BUILD: &str = "build --locked --release -Zbuild-std=core,alloc --target";

/// What is built for each target; the first has no atomics of its own.
const LAYERS: [&str; 6] = [
    "terrace-trace",
    "terrace-sync",
    "terrace-queue",
    "terrace-local",
    "terrace-tasks",
    "terrace",
];

/// A target, and what is built for it.
struct Target {
    name: &'static str,
    flags: &'static str,
    /// A feature of the layers with atomics besides the defaults, which are off.
    feature: Option<&'static str>,
    /// Whether the drop-ins are built, too: without features they are for machines without an operating system.
    drop_in: bool,
}

const TARGETS: [Target; 4] = [
    target("thumbv7em-none-eabi", true),
    Target {
        flags: "-Crelocation-model=static -Ccode-model=small",
        ..target("x86_64-unknown-none", true)
    },
    target("wasm32-unknown-unknown", false),
    // No compare-exchange: portable-atomic turns interrupts off instead, if it may take it that there is one core.
    Target {
        flags: "--cfg portable_atomic_unsafe_assume_single_core",
        feature: Some("portable-atomic"),
        ..target("thumbv6m-none-eabi", true)
    },
];

const fn target(name: &'static str, drop_in: bool) -> Target {
    Target {
        name,
        flags: "",
        feature: None,
        drop_in,
    }
}

/// An image and the machine it runs on.
struct Image {
    /// The program; its package begins with `terrace-`.
    binary: &'static str,
    target: &'static str,
    qemu: &'static str,
    /// Debian's package with that qemu.
    apt: &'static str,
    /// The words after qemu's name.
    machine: &'static str,
    /// qemu's exit code if all went well.
    success: i32,
}

const IMAGES: [Image; 2] = [
    Image {
        binary: "firmware-cortex-m",
        target: "thumbv7em-none-eabi",
        qemu: "qemu-system-arm",
        apt: "qemu-system-arm",
        machine: "-machine mps2-an386 -semihosting-config enable=on,target=native",
        success: 0,
    },
    Image {
        binary: "firmware-x86-64",
        target: "x86_64-unknown-none",
        qemu: "qemu-system-x86_64",
        apt: "qemu-system-x86",
        machine: "-machine pc -device isa-debug-exit,iobase=0xf4,iosize=0x04 -serial stdio",
        success: 33,
    },
];

/// The words after those for the machine.
const HEADLESS: &str = "-nodefaults -display none -no-reboot -kernel";

/// An image ends within a second; qemu without hardware help on a loaded machine may take a while.
const LIMIT: Duration = Duration::from_secs(120);

/// Builds and runs.
pub(crate) fn run(ws: &Workspace, args: &NoStdArgs) -> Result<()> {
    let filter = args.filter.as_deref().unwrap_or_default();
    let targets: Vec<&Target> = TARGETS.iter().filter(|t| t.name.contains(filter)).collect();
    let chosen = |image: &&Image| image.qemu.contains(filter) || image.target.contains(filter);
    let images: Vec<&Image> = IMAGES.iter().filter(chosen).collect();
    ensure!(
        !targets.is_empty() || !images.is_empty(),
        "no target and no image has `{filter}` in its name"
    );
    // Said before minutes are spent on builds.
    for Image { qemu, apt, .. } in &images {
        needs(qemu, apt)?;
    }
    let compiler = Compiler::with_sources(ws)?;
    let linker = compiler.linker_flag()?;
    let build = |flags: &str| {
        let flags = format!("{flags} {linker}");
        let build = compiler.build(ws, "no-std", flags.trim());
        build.env("CARGO_PROFILE_RELEASE_DEBUG", "0")
    };
    for target in targets {
        build_for(ws, &build(target.flags), target)?;
    }
    let expected = fs_err::read_to_string(ws.root.join("crates/firmware/expected.txt"))
        .context("cannot read what the images should print")?;
    for image in images {
        let target = TARGETS.iter().find(|target| target.name == image.target);
        let build = build(target.map_or("", |target| target.flags));
        let time = try_image(ws, &build, image, &expected);
        let time = time.with_context(|| format!("{} under {}", image.binary, image.qemu))?;
        let (binary, qemu) = (image.binary, image.qemu);
        println!("no-std: {binary} passes under {qemu} in {time:.1?}");
    }
    Ok(())
}

/// Builds the layers, and the drop-ins for each Bevy, without features, as a program without `std` depends on them.
fn build_for(ws: &Workspace, build: &Build, target: &Target) -> Result<()> {
    let name = target.name;
    let mut lines = String::new();
    for layer in LAYERS {
        let path = &ws.package(layer)?.manifest_path;
        let path = path.parent().context("a manifest lies in a folder")?;
        // The first one has no atomics of its own.
        let features = Vec::from_iter(target.feature.filter(|_| layer != LAYERS[0]));
        lines += &format!(
            "{layer} = {{ path = {path:?}, default-features = false, features = {features:?} }}\n"
        );
    }
    if target.drop_in {
        lines += &older::all(ws);
    }
    // That of the images.
    let images = fs_err::read_to_string(ws.root.join("crates/firmware/Cargo.toml"))?;
    let profile = images.find("[profile.release]");
    lines += &images[profile.context("the images have no profile")?..];
    let manifest = older::package(&ws.target.join("no-std/all").join(name), &lines)?;
    build.cargo(&words(BUILD, [name, "--manifest-path", &manifest]))?;
    println!("no-std: {} builds for {name}", LAYERS.join(", "));
    if target.drop_in {
        println!("no-std: the drop-ins build for {name}");
    }
    Ok(())
}

/// Builds and runs an image, and returns the time that it ran.
fn try_image(ws: &Workspace, build: &Build, image: &Image, expected: &str) -> Result<Duration> {
    let manifest = ws.manifest("crates/firmware");
    let package = format!("terrace-{}", image.binary);
    let package = [image.target, "-p", &package, "--manifest-path", &manifest];
    build.cargo(&words(BUILD, package))?;
    let directory = build.target().join(image.target).join("release");
    let mut command = program(&format!("{} {} {HEADLESS}", image.qemu, image.machine));
    command.arg(directory.join(image.binary));
    let finished = run_limited(command, LIMIT)?;
    // A machine may have parts that nothing is connected to.
    let warning = format!("{}: warning: ", image.qemu);
    let lines = finished.output.lines();
    let lines: Vec<&str> = lines.filter(|line| !line.starts_with(&warning)).collect();
    let output = lines.join("\n");
    let judge = || {
        let status = finished
            .status
            .with_context(|| format!("no end within {LIMIT:?}"))?;
        ensure!(status.code() == Some(image.success), "{status}");
        same([("expected", expected), ("printed", &output)])
    };
    judge().with_context(|| format!("it printed:\n{output}"))?;
    Ok(finished.time)
}
