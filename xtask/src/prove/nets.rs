//! How each kind of net is built, with a fault or without, and run.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::table::{Fault, Net};
use crate::build::{Binary, Build};
use crate::models::{LOOM, SHUTTLE, Verdict, judge};
use crate::process::run_limited;
use crate::sanitizer::{self, Instrumented};
use crate::workspace::Workspace;
use crate::{asan, loom, planted, shuttle, soak, tsan};

/// A test, or a model without its exploration bound, that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(600);
/// How long the soak looks for a fault, in seconds, and with which seed.
const SOAK: [u64; 2] = [60, 1];

/// The builds of the nets.
pub(super) struct Nets {
    loom: Build,
    shuttle: Build,
    plain: Build,
    soak: Build,
    /// Where they are needed.
    asan: Option<Instrumented>,
    tsan: Option<Instrumented>,
    /// The packages by name, and where they lie: cargo runs their tests there.
    dirs: HashMap<String, PathBuf>,
}

impl Nets {
    pub(super) fn new(ws: &Workspace, faults: &[Fault]) -> Result<Self> {
        let needed = |net| faults.iter().any(|fault| fault.net == net);
        let asan = match needed(Net::Asan) {
            true => Some(sanitizer::instrument(ws, &asan::sanitizer(ws)?)?),
            false => None,
        };
        let tsan = match needed(Net::Tsan) {
            true => Some(sanitizer::instrument(ws, &tsan::sanitizer())?),
            false => None,
        };
        let dir = |p: &cargo_metadata::Package| {
            let dir = p.manifest_path.parent()?;
            Some((p.name.to_string(), dir.to_owned().into_std_path_buf()))
        };
        Ok(Self {
            loom: LOOM.build(ws),
            shuttle: SHUTTLE.build(ws),
            plain: Build::plain(ws),
            soak: soak::build(ws),
            asan,
            tsan,
            dirs: ws.metadata.packages.iter().filter_map(dir).collect(),
        })
    }

    /// Builds and runs the net of `fault`, with the fault if it is to be `planted`.
    pub(super) fn run(&self, fault: &Fault, planted: bool) -> Result<Verdict> {
        let plant = |build: &Build| match planted {
            true => planted::plant(build, &fault.name),
            false => Ok(build.clone()),
        };
        match fault.net {
            Net::Loom => loom::run_one(&plant(&self.loom)?, fault.parts()?),
            Net::Shuttle => shuttle::run_one(&plant(&self.shuttle)?, fault.parts()?, planted),
            Net::Test => self.test(&plant(&self.plain)?, fault, &[]),
            Net::Asan => self.instrumented(self.asan.as_ref(), fault, plant),
            Net::Tsan => self.instrumented(self.tsan.as_ref(), fault, plant),
            Net::Soak => soak_for(&plant(&self.soak)?),
        }
    }

    fn instrumented(
        &self,
        with: Option<&Instrumented>,
        fault: &Fault,
        plant: impl Fn(&Build) -> Result<Build>,
    ) -> Result<Verdict> {
        let with = with.context("the sanitizer was not prepared")?;
        let package = fault.package.as_deref().unwrap_or_default();
        let layer = package.trim_start_matches("terrace-");
        self.test(&plant(with.build(layer))?, fault, &Instrumented::ARGS)
    }

    fn test(&self, build: &Build, fault: &Fault, args: &[&str]) -> Result<Verdict> {
        let package = fault.package.as_deref().context("no package")?;
        let (file, test) = fault.parts()?;
        let args = [&["-p", package, "--all-features"], args].concat();
        let binary = planted::program(build, &args, file)?;
        let mut command = self.program(build, &binary, package)?;
        command.args(["--exact", test, "--nocapture", "--test-threads=1"]);
        Ok(judge(&run_limited(command, LIMIT)?))
    }

    /// The program where cargo would run it, in the environment of its build.
    fn program(&self, build: &Build, binary: &Binary, package: &str) -> Result<Command> {
        let dir = self.dirs.get(package);
        let dir = dir.with_context(|| format!("no package {package}"))?;
        let mut command = Command::new(&binary.path);
        command.current_dir(dir).envs(build.environment());
        command.env("RUST_BACKTRACE", "0");
        Ok(command)
    }
}

/// Runs the soak program.
fn soak_for(build: &Build) -> Result<Verdict> {
    let binary = soak::program(build).context("does not compile")?;
    let [seconds, seed] = SOAK;
    let mut command = Command::new(&binary.path);
    command.args([seconds, seed, 0].map(|n| n.to_string()));
    let finished = run_limited(command, LIMIT)?;
    let Some(status) = finished.status else {
        return Ok(Verdict::TimedOut);
    };
    ensure!(
        status.code() != Some(2),
        "the soak program was called wrongly"
    );
    let said = finished
        .output
        .lines()
        .find_map(|l| l.strip_prefix("soak: "));
    Ok(match status.success() {
        true => Verdict::Passed,
        false => Verdict::Failed(said.unwrap_or_default().chars().take(90).collect()),
    })
}
