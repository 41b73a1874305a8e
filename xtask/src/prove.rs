//! `cargo xtask prove`: faults are planted one by one, and the net of each, a model, a test or a sanitizer, must catch it.
//!
//! Each net is run without the fault first, and must pass: one that fails anyway proves nothing.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};
use serde::Deserialize;

use crate::build::Build;
use crate::edits::Edit;
use crate::models::{ENDLESS, Verdict};
use crate::planted;
use crate::process::run_limited;
use crate::progress::run_parallel;
use crate::sanitizer::{Instrumented, instrument};
use crate::table::{self, Row};
use crate::workspace::Workspace;
use crate::{asan, loom, shuttle, soak, test, tsan};

/// Where the table of faults lies.
pub(crate) const TABLE: &str = "loom-tests/faults.toml";

/// A test, or a model without its exploration bound, that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(600);
/// How often a test under ThreadSanitizer runs again that has seen no race.
const RACES: u32 = 11;
/// How long the soak looks for a fault, in seconds, with which seed, and the round that it begins with.
const SOAK: [&str; 3] = ["60", "1", "0"];

/// Options of `cargo xtask prove`.
#[derive(Args)]
pub(crate) struct ProveArgs {
    /// Only the faults whose name, description or test contains this text
    filter: Option<String>,
    /// Only the faults with this net
    #[arg(long)]
    net: Option<Net>,
}

/// What catches a fault.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, ValueEnum)]
#[serde(rename_all = "lowercase")]
enum Net {
    /// A model of `loom-tests`
    Loom,
    /// A model of `loom-tests/shuttle`
    Shuttle,
    /// An integration test of a package, debug assertions on
    Test,
    /// The same where thread-locals are behind keys of the system
    Keyed,
    /// The same under AddressSanitizer
    Asan,
    /// The same under ThreadSanitizer
    Tsan,
    /// The soak program
    Soak,
}

/// A fault that can be planted, and the net that must catch it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fault {
    /// The argument of `weakened!`, if it is a mutant of a model, too.
    pub(crate) name: String,
    /// What is wrong then.
    what: String,
    net: Net,
    /// `FILE::TEST`; not for the soak.
    test: Option<String>,
    /// Whose test, for example `terrace-queue`; not for models and the soak.
    package: Option<String>,
    /// How it is planted, unless by `weakened!`. One row of the name has them.
    #[serde(default)]
    edits: Vec<Edit>,
}

/// The edits that plant the fault called `name`; none if a line of the product does by `weakened!`.
pub(crate) fn edits<'f>(faults: &'f [Fault], name: &str) -> Vec<&'f Edit> {
    let rows = faults.iter().filter(|fault| fault.name == name);
    rows.flat_map(|fault| &fault.edits).collect()
}

impl Row for Fault {
    const NAME: &'static str = "fault";

    fn keys(&self) -> Vec<String> {
        vec![format!("fault `{}` with net {}", self.name, self.net())]
    }

    fn check(&self) -> Result<()> {
        ensure!(!self.what.trim().is_empty(), "what is wrong?");
        let of_package = matches!(self.net, Net::Test | Net::Keyed | Net::Asan | Net::Tsan);
        ensure!(
            of_package == self.package.is_some(),
            "`package` is for the nets test, keyed, asan and tsan, and needed there"
        );
        let by_model = matches!(self.net, Net::Loom | Net::Shuttle);
        ensure!(
            !by_model || self.edits.is_empty(),
            "a model finds its fault at a `weakened!`"
        );
        match self.net {
            Net::Soak => ensure!(self.test.is_none(), "the soak has no tests"),
            _ => drop(self.test()?),
        }
        Ok(())
    }
}

impl Fault {
    /// The test program and the name of the test in it.
    fn test(&self) -> Result<(&str, &str)> {
        let test = self.test.as_deref().unwrap_or_default();
        test.split_once("::")
            .with_context(|| format!("{test:?} is not FILE::TEST"))
    }

    fn package(&self) -> Result<&str> {
        let package = self.package.as_deref();
        package.context("`package` says whose test it is")
    }

    /// What kind of net has to catch it.
    pub(crate) fn net_name(&self) -> String {
        format!("{:?}", self.net).to_lowercase()
    }

    /// What has to catch it, as printed.
    fn net(&self) -> String {
        let net = self.net_name();
        let words = [Some(&net), self.package.as_ref(), self.test.as_ref()];
        let words: Vec<&str> = words.into_iter().flatten().map(String::as_str).collect();
        words.join(" ")
    }
}

/// Runs the nets of the faults chosen without them, then with them.
pub(crate) fn run(ws: &Workspace, args: &ProveArgs) -> Result<()> {
    let all: Vec<Fault> = table::load(&ws.root, TABLE)?;
    let filter = args.filter.as_deref().unwrap_or_default();
    let mut faults = all.clone();
    faults.retain(|fault| {
        let test = fault.test.as_deref().unwrap_or_default();
        let texts = [&fault.name, &fault.what, test];
        texts.iter().any(|text| text.contains(filter))
            && args.net.is_none_or(|net| net == fault.net)
    });
    ensure!(!faults.is_empty(), "no fault matches; see {TABLE}");
    let needed = |net| faults.iter().any(|fault| fault.net == net);
    let asan = needed(Net::Asan).then(|| instrument(ws, &asan::sanitizer(ws)?));
    let tsan = needed(Net::Tsan).then(|| instrument(ws, &tsan::sanitizer()));
    let (asan, tsan) = (asan.transpose()?, tsan.transpose()?);
    let plant = |build: Build, name: Option<&str>| match name {
        Some(name) => planted::plant(ws, build, name, &edits(&all, name)),
        None => Ok(build),
    };
    // Builds and runs the net of a fault, with the fault or without.
    let run = |fault: &Fault, name: Option<&str>| {
        let sanitizer = match fault.net {
            Net::Loom => return loom::run_one(ws, fault.test()?, name),
            Net::Shuttle => return shuttle::run_one(ws, fault.test()?, name),
            Net::Soak => return soak_for(&plant(soak::build(ws), name)?),
            Net::Test | Net::Keyed => None,
            Net::Asan => asan.as_ref(),
            Net::Tsan => tsan.as_ref(),
        };
        let layer = fault.package()?.trim_start_matches("terrace-");
        let plain = match fault.net {
            Net::Keyed => test::keyed(ws),
            _ => Build::plain(ws),
        };
        let build = sanitizer.map_or(plain, |with| with.build(layer).clone());
        let args = sanitizer.map_or(&[][..], |_| &Instrumented::ARGS);
        run_test(ws, &plant(build, name)?, fault, args)
    };
    let of_net: BTreeMap<String, &Fault> = faults.iter().map(|f| (f.net(), f)).collect();
    for (net, fault) in of_net {
        println!("prove: {net}, without a fault");
        let verdict = run(fault, None)?;
        let passed = verdict == Verdict::Passed;
        ensure!(passed, "{net} does not pass without a fault: {verdict:?}");
    }
    let shown = |fault: &Fault| format!("{} ({}), {}", fault.name, fault.what, fault.net());
    let caught = |fault: &Fault| {
        let planted = || run(fault, Some(&fault.name));
        let mut verdict = planted()?;
        // ThreadSanitizer sees a race of the schedule that happens.
        let again = if fault.net == Net::Tsan { RACES } else { 0 };
        for _ in 0..again {
            if verdict != Verdict::Passed {
                break;
            }
            verdict = planted()?;
        }
        verdict.caught()
    };
    run_parallel("prove", &faults, shown, caught).map(drop)
}

/// Runs the test program where cargo would run it, in the environment of its build.
fn run_test(ws: &Workspace, build: &Build, fault: &Fault, args: &[&str]) -> Result<Verdict> {
    let (package, (file, test)) = (fault.package()?, fault.test()?);
    let args = [&["-p", package, "--all-features"], args].concat();
    let mut command = planted::program(build, &args, file)?.test(test);
    command.current_dir(ws.package(package)?.manifest_path.with_file_name(""));
    command.envs(build.environment());
    Ok(Verdict::of(&run_limited(command, LIMIT)?))
}

fn soak_for(build: &Build) -> Result<Verdict> {
    let binary = soak::program(build).context("does not compile")?;
    let mut command = Command::new(&binary.path);
    command.args(SOAK);
    let finished = run_limited(command, LIMIT)?;
    let mut lines = finished.output.lines();
    let said = lines.find_map(|line| line.strip_prefix("soak: "));
    Ok(match finished.status {
        None => Verdict::Failed(ENDLESS.to_owned()),
        Some(status) if status.success() => Verdict::Passed,
        Some(_) => Verdict::Failed(said.unwrap_or_default().chars().take(90).collect()),
    })
}

#[cfg(test)]
mod tests {
    use super::Fault;
    use crate::table::parse;

    #[test]
    fn what_is_wrong_with_a_table_is_said() {
        let row = |net: &str| format!("[[fault]]\nname = 'a'\nwhat = 'w'\nnet = {net}\n");
        let (good, soak) = (row("'loom'\ntest = 'file::test'"), row("'soak'"));
        let of_package = row("'asan'\ntest = 'file::test'\npackage = 'p'");
        assert!(parse::<Fault>(&[&*good, &soak, &of_package].concat()).is_ok());
        let cases = [
            (good.repeat(2), "two rows"),
            (row("'loom'\ntest = 'file'"), "FILE::TEST"),
            (row("'asan'\ntest = 'file::test'"), "`package`"),
            (row("'soak'\ntest = 'file::test'"), "no tests"),
            (row("'fishing'"), "fishing"),
            (row("'soak'\nwhy = 1"), "unknown field `why`"),
            (
                good.clone() + "edits = [{ file = 'f', from = 'a', to = 'b' }]",
                "`weakened!`",
            ),
            (soak.replace("'w'", "' '"), "what is wrong?"),
            (
                soak.replace("fault", "default"),
                "there are rows [\"default\"]",
            ),
        ];
        for (text, wanted) in cases {
            let error = parse::<Fault>(&text).expect_err(&text);
            assert!(format!("{error:#}").contains(wanted), "{error:#}");
        }
    }
}
