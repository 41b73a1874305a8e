//! `cargo xtask no-std`: the layers that need no operating system and the drop-in for `bevy_tasks`, built for targets that have
//! none, and images of two bare machines run under qemu.
//!
//! `core` and `alloc` are built along with them, by a compiler that comes with their sources: it needs no further targets. What the images print is compared with the list of behaviours in
//! `crates/firmware/expected.txt`.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use crate::build::Build;
use crate::process::run_limited;
use crate::toolchain::Compiler;
use crate::workspace::Workspace;

/// Options of `cargo xtask no-std`.
#[derive(Args)]
pub(crate) struct NoStdArgs {
    /// Do only what has this text in its name: a target such as `thumbv7em`, or `qemu`
    filter: Option<String>,
}

const BUILD_STD: &str = "-Zbuild-std=core,alloc";

/// A target, and what is built for it.
struct Target {
    name: &'static str,
    flags: &'static str,
    /// Features besides the defaults, which are off.
    features: &'static [&'static str],
    /// Whether the drop-in is built, too: without features it is for machines without an operating system.
    drop_in: bool,
}

/// What is built for each target.
const LAYERS: [&str; 5] = [
    "terrace-trace",
    "terrace-sync",
    "terrace-queue",
    "terrace-local",
    "terrace-tasks",
];

const TARGETS: [Target; 4] = [
    Target {
        name: "thumbv7em-none-eabi",
        flags: "",
        features: &[],
        drop_in: true,
    },
    Target {
        name: "x86_64-unknown-none",
        flags: "",
        features: &[],
        drop_in: true,
    },
    Target {
        name: "wasm32-unknown-unknown",
        flags: "",
        features: &[],
        drop_in: false,
    },
    // No compare-exchange: portable-atomic turns interrupts off instead, if it may take it that there is one core.
    Target {
        name: "thumbv6m-none-eabi",
        flags: "--cfg portable_atomic_unsafe_assume_single_core",
        features: &[
            "terrace-sync/portable-atomic",
            "terrace-queue/portable-atomic",
            "terrace-local/portable-atomic",
            "terrace-tasks/portable-atomic",
        ],
        drop_in: true,
    },
];

/// An image and the machine it runs on.
struct Image {
    package: &'static str,
    binary: &'static str,
    target: &'static str,
    flags: &'static str,
    qemu: &'static str,
    /// Debian's package with that qemu.
    apt: &'static str,
    machine: &'static [&'static str],
    /// qemu's exit code if all went well.
    success: i32,
}

const IMAGES: [Image; 2] = [
    Image {
        package: "terrace-firmware-cortex-m",
        binary: "firmware-cortex-m",
        target: "thumbv7em-none-eabi",
        flags: "",
        qemu: "qemu-system-arm",
        apt: "qemu-system-arm",
        machine: &[
            "-machine",
            "mps2-an386",
            "-semihosting-config",
            "enable=on,target=native",
        ],
        success: 0,
    },
    Image {
        package: "terrace-firmware-x86-64",
        binary: "firmware-x86-64",
        target: "x86_64-unknown-none",
        flags: "-Crelocation-model=static -Ccode-model=small",
        qemu: "qemu-system-x86_64",
        apt: "qemu-system-x86",
        machine: &[
            "-machine",
            "pc",
            "-device",
            "isa-debug-exit,iobase=0xf4,iosize=0x04",
            "-serial",
            "stdio",
        ],
        success: 33,
    },
];

/// An image ends within a second; qemu without hardware help on a loaded machine may take a while.
const LIMIT: Duration = Duration::from_secs(120);

/// Builds and runs.
pub(crate) fn run(ws: &Workspace, args: &NoStdArgs) -> Result<()> {
    let wanted = |name: &str| {
        args.filter
            .as_ref()
            .is_none_or(|f| name.contains(f.as_str()))
    };
    let targets: Vec<&Target> = TARGETS.iter().filter(|t| wanted(t.name)).collect();
    let images: Vec<&Image> = IMAGES
        .iter()
        .filter(|i| wanted(i.qemu) || wanted(i.target))
        .collect();
    ensure!(
        !targets.is_empty() || !images.is_empty(),
        "no target and no image has `{}` in its name",
        args.filter.as_deref().unwrap_or_default()
    );
    // Said before minutes are spent on builds.
    for image in &images {
        present(image)?;
    }
    let compiler = Compiler::with_sources(ws)?;
    let linker = compiler.linker_flag()?;
    for target in targets {
        let build = build(ws, &compiler, target.flags, &linker);
        build_layers(&build, target)?;
        println!("no-std: {} builds for {}", LAYERS.join(", "), target.name);
        if target.drop_in {
            build_drop_in(ws, &build, target)?;
            println!("no-std: the drop-in builds for {}", target.name);
        }
    }
    let expected = std::fs::read_to_string(ws.root.join("crates/firmware/expected.txt"))
        .context("cannot read what the images should print")?;
    for image in images {
        let build = build(ws, &compiler, image.flags, &linker);
        let path = build_image(ws, &build, image)?;
        let time = run_image(image, path, &expected)?;
        println!(
            "no-std: {} passes under {} in {:.1} s",
            image.binary,
            image.qemu,
            time.as_secs_f64()
        );
    }
    Ok(())
}

fn present(image: &Image) -> Result<()> {
    Command::new(image.qemu)
        .arg("--version")
        .output()
        .with_context(|| {
            format!(
                "{} does not start; install it, on Debian by `apt-get install {}`",
                image.qemu, image.apt
            )
        })?;
    Ok(())
}

fn build(ws: &Workspace, compiler: &Compiler, flags: &str, linker: &str) -> Build {
    let flags = format!("{flags} {linker}");
    let mut build = Build::special(ws, "no-std", flags.trim()).env("RUSTC_BOOTSTRAP", "1");
    for (key, value) in compiler.env() {
        build = build.env(key, value);
    }
    build
}

fn build_layers(build: &Build, target: &Target) -> Result<()> {
    let features = target.features.join(",");
    let mut args = vec!["build", "--locked", BUILD_STD, "--target", target.name];
    args.extend(["--no-default-features", "--features", &features]);
    args.extend(LAYERS.iter().flat_map(|layer| ["-p", layer]));
    build.cargo(&args)
}

/// The drop-in for `bevy_tasks` without features, as a program without `std` depends on it.
fn build_drop_in(ws: &Workspace, build: &Build, target: &Target) -> Result<()> {
    let manifest = ws.root.join("crates/compat/Cargo.toml");
    let manifest = manifest.display().to_string();
    let mut args = vec!["build", "--locked", BUILD_STD, "--target", target.name];
    args.extend(["--manifest-path", &manifest]);
    args.extend(["-p", "bevy_tasks", "--no-default-features"]);
    build.cargo(&args)
}

fn build_image(ws: &Workspace, build: &Build, image: &Image) -> Result<PathBuf> {
    let manifest = ws.root.join("crates/firmware/Cargo.toml");
    let manifest = manifest.display().to_string();
    build.cargo(&[
        "build",
        "--locked",
        "--release",
        BUILD_STD,
        "--target",
        image.target,
        "--manifest-path",
        &manifest,
        "-p",
        image.package,
    ])?;
    let directory = build.target().join(image.target).join("release");
    Ok(directory.join(image.binary))
}

/// Runs an image, and returns the time it took.
fn run_image(image: &Image, path: PathBuf, expected: &str) -> Result<Duration> {
    let mut command = Command::new(image.qemu);
    command
        .args(image.machine)
        .args(["-nodefaults", "-display", "none", "-no-reboot", "-kernel"])
        .arg(&path);
    let finished = run_limited(command, LIMIT)?;
    // A machine may have parts that nothing is connected to.
    let warning = format!("{}: warning: ", image.qemu);
    let lines = finished.output.lines();
    let output: String = lines
        .filter(|line| !line.starts_with(&warning))
        .flat_map(|line| [line, "\n"])
        .collect();
    let Some(status) = finished.status else {
        bail!(
            "{} did not end within {} s; it printed:\n{output}",
            image.binary,
            LIMIT.as_secs()
        );
    };
    ensure!(
        status.code() == Some(image.success),
        "{} ended with {status}; it printed:\n{output}",
        image.binary
    );
    if let Some(difference) = difference(&output, expected) {
        bail!(
            "{} printed something else than expected: {difference}\nall of it:\n{output}",
            image.binary
        );
    }
    Ok(finished.time)
}

/// The first line in which two texts differ.
fn difference(found: &str, expected: &str) -> Option<String> {
    let (mut found, mut expected) = (found.lines(), expected.lines());
    loop {
        match (found.next(), expected.next()) {
            (None, None) => return None,
            (found, expected) if found == expected => {}
            (found, expected) => {
                return Some(format!(
                    "{:?} instead of {:?}",
                    found.unwrap_or("the end"),
                    expected.unwrap_or("the end")
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::difference;

    #[test]
    fn the_first_difference_is_named() {
        assert_eq!(difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(
            difference("a\nc\n", "a\nb\n").as_deref(),
            Some("\"c\" instead of \"b\"")
        );
        assert_eq!(
            difference("a\n", "a\nb\n").as_deref(),
            Some("\"the end\" instead of \"b\"")
        );
        assert_eq!(
            difference("", "a").as_deref(),
            Some("\"the end\" instead of \"a\"")
        );
    }
}
