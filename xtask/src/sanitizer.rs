//! What `tsan` and `asan` share: the tests of the layers in an instrumented build.
//!
//! The standard library is built instrumented too: without that, what synchronises inside it looks
//! like races.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::build::{Build, words};
use crate::toolchain::{self, Compiler, HOST};
use crate::workspace::Workspace;

/// Lets instrumented and plain code be linked.
const MIXED: &str = "-Cunsafe-allow-abi-mismatch=sanitizer";

/// Options of the commands.
#[derive(Args)]
pub(crate) struct SanitizerArgs {
    /// Run only the tests whose name contains this text
    filter: Option<String>,
    /// Run only the tests of one layer, for example `queue`
    #[arg(long)]
    layer: Option<String>,
}

/// One sanitizer.
pub(crate) struct Sanitizer {
    /// The name of the command, of its target directory and of the runtime library.
    pub(crate) name: &'static str,
    /// What `-Zsanitizer` calls it.
    pub(crate) flag: &'static str,
    /// Further flags for rustc.
    pub(crate) flags: &'static str,
    /// What is run, one after the other; the first has its canaries.
    pub(crate) runs: Vec<Run>,
    /// Programs with a fault each, to see that the first run sees faults.
    pub(crate) canaries: &'static [Canary],
}

/// The tests of some layers, and how they are run.
pub(crate) struct Run {
    /// The layers whose tests mean something in this run; none: all.
    pub(crate) layers: &'static [&'static str],
    /// Variables of the environment of every instrumented program.
    pub(crate) env: Vec<(&'static str, String)>,
}

/// A program with a fault.
pub(crate) struct Canary {
    /// What is wrong with it.
    pub(crate) fault: &'static str,
    pub(crate) source: &'static str,
    /// The exit code of a program in which the fault was seen.
    pub(crate) code: i32,
    /// What its report contains.
    pub(crate) report: &'static str,
}

/// The builds of one sanitizer, ready to be used: it has been seen that it sees faults.
pub(crate) struct Instrumented {
    /// With the layers of its run; none: all.
    builds: Vec<(&'static [&'static str], Build)>,
}

impl Instrumented {
    /// What cargo is told besides.
    pub(crate) const ARGS: [&'static str; 3] = ["-Zbuild-std", "--target", HOST];

    /// The build in which the tests of `layer` mean something: that of the run that names it, or of the last.
    pub(crate) fn build(&self, layer: &str) -> &Build {
        let names = |(layers, _): &&(&[&str], Build)| layers.contains(&layer);
        let found = self.builds.iter().find(names).or(self.builds.last());
        &found.expect("a sanitizer has a run").1
    }
}

/// Prepares the builds of `sanitizer`, and sees that it reports the faults of programs that have them.
pub(crate) fn instrument(ws: &Workspace, sanitizer: &Sanitizer) -> Result<Instrumented> {
    let compiler = Compiler::with_sources(ws)?;
    runtime(sanitizer, &compiler)?;
    let flags = format!("-Zsanitizer={} {}", sanitizer.flag, sanitizer.flags);
    let build = |run: &Run| {
        let build = Build::special(ws, sanitizer.name, flags.trim())
            .env("RUSTC_BOOTSTRAP", "1")
            // Instrumented, the symbols of one backtrace take seconds.
            .env("RUST_BACKTRACE", "0")
            .envs(run.env.iter().cloned())
            .envs(compiler.env());
        (run.layers, build)
    };
    let builds: Vec<_> = sanitizer.runs.iter().map(build).collect();
    let dir = ws.target.join(sanitizer.name).join("canary");
    fs_err::create_dir_all(&dir)?;
    for canary in sanitizer.canaries {
        let fault = canary.fault;
        see(sanitizer, canary, &dir, &compiler)
            .with_context(|| format!("the program with a {fault}"))?;
        println!(
            "{}: the {fault} of the test program is seen",
            sanitizer.name
        );
    }
    Ok(Instrumented { builds })
}

/// Builds std and the layers instrumented and runs the layers' unit and integration tests.
pub(crate) fn run(ws: &Workspace, args: &SanitizerArgs, sanitizer: &Sanitizer) -> Result<()> {
    let layers = layers(ws, sanitizer, args.layer.as_deref())?;
    let instrumented = instrument(ws, sanitizer)?;
    let mut result = Ok(());
    for ((_, build), layers) in instrumented.builds.iter().zip(&layers) {
        let more = layers.iter().flat_map(|layer| ["-p", layer]);
        let more = Instrumented::ARGS.into_iter().chain(more);
        let more = more.chain(args.filter.iter().flat_map(|filter| ["--", filter]));
        // All are run before the verdict.
        if !layers.is_empty() {
            let line = "test --no-fail-fast --all-features --lib --tests";
            result = result.and(build.cargo(&words(line, more)));
        }
    }
    result
}

/// Those of each run. A chosen one is in the run that names it, or in the last.
fn layers<'w>(
    ws: &'w Workspace,
    sanitizer: &Sanitizer,
    chosen: Option<&str>,
) -> Result<Vec<Vec<&'w str>>> {
    let named = |layer: &str| Ok(ws.layer(layer)?.name.as_str());
    let runs = &sanitizer.runs;
    let own = |layer| runs.iter().position(|run| run.layers.contains(&layer));
    let of = |(number, run): (usize, &Run)| match (chosen, run.layers) {
        (None, []) => Ok(ws
            .layers()
            .iter()
            .map(|layer| layer.name.as_str())
            .collect()),
        (None, layers) => layers.iter().map(|layer| named(layer)).collect(),
        (Some(layer), _) if own(layer).unwrap_or(runs.len() - 1) == number => {
            Ok(vec![named(layer)?])
        }
        (Some(_), _) => Ok(Vec::new()),
    };
    runs.iter().enumerate().map(of).collect()
}

/// Debian's compiler comes without the sanitizer's runtime; that of the toolchain in use fits.
fn runtime(sanitizer: &Sanitizer, compiler: &Compiler) -> Result<()> {
    let Some(root) = &compiler.unpacked else {
        return Ok(());
    };
    let name = format!("librustc-stable_rt.{}.a", sanitizer.name);
    let to = toolchain::libraries(&root.join("usr"), HOST).join(&name);
    if !to.is_file() {
        let from = toolchain::libraries(&toolchain::sysroot()?, HOST).join(&name);
        fs_err::copy(&from, &to).with_context(|| {
            let from = from.display();
            format!("cannot copy {from}; is a stable toolchain of rustup in use?")
        })?;
    }
    Ok(())
}

/// Builds and runs a program with a fault: where that is not reported, no pass means anything. Its
/// own standard library may be a plain one, as the fault is in its own code.
fn see(sanitizer: &Sanitizer, canary: &Canary, dir: &Path, compiler: &Compiler) -> Result<()> {
    let (source, program) = (dir.join("canary.rs"), dir.join("canary"));
    fs_err::write(&source, canary.source)?;
    let flag = format!("-Zsanitizer={}", sanitizer.flag);
    let status = Command::new(&compiler.rustc)
        .args(["--edition=2024", "--target", HOST, &flag, MIXED, "-o"])
        .args([&program, &source])
        .envs(compiler.env())
        .env("RUSTC_BOOTSTRAP", "1")
        .status()?;
    ensure!(status.success(), "it does not build: {status}");
    let env = sanitizer.runs[0]
        .env
        .iter()
        .map(|(key, value)| (key, value));
    let output = Command::new(&program)
        .envs(env)
        .output()
        .with_context(|| format!("cannot start {}", program.display()))?;
    let report = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.code() == Some(canary.code) && report.contains(canary.report),
        "{} does not see it: {}\n{report}",
        sanitizer.name,
        output.status
    );
    Ok(())
}
