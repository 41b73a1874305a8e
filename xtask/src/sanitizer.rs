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
    /// Flags for rustc, the first says which sanitizer it is.
    pub(crate) flags: [&'static str; 2],
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
    /// One for each of its runs, with the layers whose tests mean something in it.
    builds: Vec<(&'static [&'static str], Build)>,
}

impl Instrumented {
    /// What cargo is told besides.
    pub(crate) const ARGS: [&'static str; 3] = ["-Zbuild-std", "--target", HOST];

    /// The build in which the tests of `layer` mean something: the one that names it, or the last.
    pub(crate) fn build(&self, layer: &str) -> &Build {
        let named = self
            .builds
            .iter()
            .find(|(layers, _)| layers.contains(&layer));
        &named.unwrap_or(&self.builds[self.builds.len() - 1]).1
    }
}

/// Prepares the builds of `sanitizer`, and sees that it reports the faults of programs that have them.
pub(crate) fn instrument(ws: &Workspace, sanitizer: &Sanitizer) -> Result<Instrumented> {
    let compiler = Compiler::with_sources(ws)?;
    runtime(sanitizer, &compiler)?;
    let name = sanitizer.name;
    let build = |run: &Run| {
        let build = compiler.build(ws, name, &sanitizer.flags.join(" "));
        // Instrumented, the symbols of one backtrace take seconds.
        let build = build.env("RUST_BACKTRACE", "0");
        (run.layers, build.envs(run.env.iter().cloned()))
    };
    let builds = sanitizer.runs.iter().map(build).collect();
    let dir = ws.target.join(name).join("canary");
    fs_err::create_dir_all(&dir)?;
    for canary in sanitizer.canaries {
        let fault = canary.fault;
        let seen = see(sanitizer, canary, &dir, &compiler);
        seen.with_context(|| format!("the program with a {fault}"))?;
        println!("{name}: the {fault} of the test program is seen");
    }
    Ok(Instrumented { builds })
}

/// Builds std and the layers instrumented and runs the layers' unit and integration tests.
pub(crate) fn run(ws: &Workspace, args: &SanitizerArgs, sanitizer: &Sanitizer) -> Result<()> {
    // A wrong name is said before minutes are spent on a build.
    let chosen = args.layer.as_deref();
    chosen.map_or(Ok(()), |layer| ws.layer(layer).map(drop))?;
    let instrumented = instrument(ws, sanitizer)?;
    let test = |build: &Build, layers: &[&str]| {
        let mut packages: Vec<_> = layers.iter().map(|l| format!("-pterrace-{l}")).collect();
        if layers.is_empty() {
            packages.extend(ws.layer_args().into_iter().map(str::to_owned));
        }
        let more = packages.iter().map(String::as_str);
        let more = Instrumented::ARGS.into_iter().chain(more);
        let more = more.chain(args.filter.iter().flat_map(|filter| ["--", filter]));
        let line = "test --no-fail-fast --all-features --lib --tests";
        build.cargo(&words(line, more))
    };
    if let Some(layer) = chosen {
        return test(instrumented.build(layer), &[layer]);
    }
    // All are run before the verdict.
    let mut result = Ok(());
    for (layers, build) in &instrumented.builds {
        result = result.and(test(build, layers));
    }
    result
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
    let [flag, _] = sanitizer.flags;
    let status = Command::new(&compiler.rustc)
        .args(["--edition=2024", "--target", HOST, flag, MIXED, "-o"])
        .args([&program, &source])
        .envs(compiler.env())
        .env("RUSTC_BOOTSTRAP", "1")
        .status()?;
    ensure!(status.success(), "it does not build: {status}");
    let output = Command::new(&program)
        .envs(sanitizer.runs[0].env.iter().cloned())
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
