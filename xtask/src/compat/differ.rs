//! `cargo xtask compat --differ`: the same programs on the stock crate and on the drop-in print the same lines.
//!
//! The packages `differ`, `executor-differ` and `rayon-differ` of `crates/compat` are built twice, from copies with generated
//! manifests; the first with `multi_threaded` and without. Each has random programs, made of a seed each, and some that are
//! written out. Every program is a process of its own with a time limit. What may differ is listed in a file of
//! `crates/compat/expected`, a reason a line; a line that is not needed is an error, too. A random program in which the stock
//! crate hangs, as some do now and then with pools of no threads, has to end on the drop-in; there must be few.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use clap::Args;

use super::registry::{ASYNC_EXECUTOR, BEVY_TASKS, DropIn, RAYON_CORE};
use super::sides::{BUILDS, Side, Way, listed};
use crate::process::{parallel, run_limited, same};
use crate::progress::Progress;
use crate::workspace::Workspace;

/// Random programs of each build, unless told otherwise.
const SEEDS: u64 = 300;
/// Far more than a program needs on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);
/// For the stock crate, which hangs in most of the programs that are known to differ.
const STOCK_LIMIT: Duration = Duration::from_secs(10);
/// One in so many random programs may hang on the stock crate.
const HANGS: usize = 10;

/// The last line of a program that was killed.
const KILLED: &str = "killed at the time limit\n";

/// A package of programs.
struct Subject {
    /// Its name, and that of the list of what may differ.
    package: &'static str,
    drop_in: DropIn,
    builds: &'static [Way],
    /// Programs from seeds that are new in each run.
    new_seeds: u64,
}

const SUBJECTS: [Subject; 3] = [
    Subject {
        package: "differ",
        drop_in: BEVY_TASKS,
        builds: &BUILDS,
        new_seeds: 0,
    },
    Subject {
        package: "executor-differ",
        drop_in: ASYNC_EXECUTOR,
        builds: &[("async-executor", &[])],
        new_seeds: 100,
    },
    Subject {
        package: "rayon-differ",
        drop_in: RAYON_CORE,
        builds: &[("rayon-core", &[])],
        new_seeds: 100,
    },
];

/// Which random programs are run.
#[derive(Args, Default)]
pub(super) struct SeedArgs {
    /// Random programs of each build
    #[arg(long, value_name = "N", requires = "differ")]
    seeds: Option<u64>,
    /// Seed of the first one; none is then taken from the clock
    #[arg(long, value_name = "SEED", requires = "differ")]
    first: Option<u64>,
}

impl SeedArgs {
    /// The seeds, and those of them that are new.
    fn choose(&self, subject: &Subject) -> Result<Vec<u64>> {
        let first = self.first.unwrap_or(0);
        let mut seeds: Vec<u64> = (first..first + self.seeds.unwrap_or(SEEDS)).collect();
        if self.first.is_none() && subject.new_seeds > 0 {
            let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
            let (new, count) = (u64::from(now.subsec_nanos()), subject.new_seeds);
            eprintln!(
                "{}: new seeds, which `compat --differ --first {new} --seeds {count}` takes again",
                subject.package
            );
            seeds.extend(new..new + count);
        }
        Ok(seeds)
    }
}

/// The two programs of one build.
struct Sides {
    build: &'static str,
    programs: [PathBuf; 2],
}

/// What is compared.
struct Case<'a> {
    sides: &'a Sides,
    args: [String; 2],
    /// Why it may differ.
    allowed: Option<String>,
}

/// Both sides of each build, with debug assertions.
fn compile(ws: &Workspace, subject: &Subject) -> Result<Vec<Sides>> {
    let sides = subject.builds.iter().map(|way| {
        let side = |side: Side| side.program(ws, subject.package, &[subject.drop_in], *way);
        Ok(Sides {
            build: way.0,
            programs: [side(Side::Stock)?, side(Side::Ours)?],
        })
    });
    sides.collect()
}

/// The programs of a package.
fn cases<'a>(
    ws: &Workspace,
    subject: &Subject,
    builds: &'a [Sides],
    seeds: &SeedArgs,
) -> Result<Vec<Case<'a>>> {
    let list = ws.root.join("crates/compat/expected");
    let list = list.join(format!("{}.txt", subject.package));
    let list = fs_err::read_to_string(&list)?;
    let allowed = parse(&list)?;
    let known = listed(&builds[0].programs[1])?;
    ensure!(
        known.iter().all(|name| allowed.contains_key(name.as_str()))
            && known.len() == allowed.len(),
        "the programs that are written out are {known:?}, and the list has {:?}",
        allowed.keys()
    );
    let mut cases = Vec::new();
    for name in &known {
        cases.push(Case {
            sides: &builds[0],
            args: ["--program".to_owned(), name.clone()],
            allowed: allowed.get(name.as_str()).map(|&reason| reason.to_owned()),
        });
    }
    let seeds = seeds.choose(subject)?;
    for sides in builds {
        cases.extend(seeds.iter().map(|seed| Case {
            sides,
            args: ["--seed".to_owned(), seed.to_string()],
            allowed: None,
        }));
    }
    Ok(cases)
}

/// Those with a build whose name the filter starts with, or else all.
fn subjects(filter: Option<&str>) -> Vec<&'static Subject> {
    let is_named = |subject: &&Subject| {
        let mut names = subject.builds.iter().map(|way| way.0);
        filter.is_some_and(|filter| names.any(|name| filter.starts_with(name)))
    };
    let all = || SUBJECTS.iter();
    if all().any(|subject| is_named(&subject)) {
        return all().filter(is_named).collect();
    }
    all().collect()
}

/// Runs the programs whose names contain `filter`: `multi_threaded/--seed 7`, say.
pub(super) fn run(ws: &Workspace, filter: Option<&str>, seeds: &SeedArgs) -> Result<()> {
    let subjects = subjects(filter);
    let mut builds = Vec::new();
    for subject in &subjects {
        builds.push(compile(ws, subject)?);
    }
    let mut cases = Vec::new();
    for (subject, builds) in subjects.into_iter().zip(&builds) {
        cases.extend(self::cases(ws, subject, builds, seeds)?);
    }
    cases.retain(|case| filter.is_none_or(|text| case.shown().contains(text)));
    ensure!(!cases.is_empty(), "no program's name contains the filter");

    let progress = Progress::new("compat --differ", cases.len());
    let results = parallel(&cases, |case| {
        let result = case.check();
        if let Err(error) = &result {
            progress.line(&format!("{}: FAILED: {error:#}", case.shown()));
        }
        progress.step();
        result.ok()
    });
    progress.finish();
    let count = |wanted: Option<Verdict>| results.iter().filter(|r| **r == wanted).count();
    let failed = count(None);
    ensure!(failed == 0, "{failed} of {} programs failed", cases.len());
    let hang = count(Some(Verdict::StockHangs));
    ensure!(
        hang <= cases.len().div_ceil(HANGS),
        "the stock crate hangs in {hang} of {} programs: too few are compared",
        cases.len()
    );
    eprintln!(
        "compat --differ: {} programs print the same, {} differ as the list says, the stock crate alone hangs in {hang}",
        count(Some(Verdict::Same)),
        count(Some(Verdict::Allowed))
    );
    Ok(())
}

/// How a program that passed came out.
#[derive(Clone, Copy, PartialEq)]
enum Verdict {
    Same,
    Allowed,
    StockHangs,
}

impl Case<'_> {
    fn shown(&self) -> String {
        format!("{}/{}", self.sides.build, self.args.join(" "))
    }

    fn check(&self) -> Result<Verdict> {
        let [stock, ours] = &self.sides.programs;
        let stock = self.lines(stock, STOCK_LIMIT)?;
        let ours = self.lines(ours, LIMIT)?;
        ensure!(
            ours.ends_with("end\n"),
            "the drop-in does not come to the end:\n{ours}"
        );
        match &self.allowed {
            Some(reason) => {
                ensure!(
                    stock != ours,
                    "it prints the same on both sides, so the list need not say: {reason}"
                );
                Ok(Verdict::Allowed)
            }
            None if stock.ends_with(KILLED) => Ok(Verdict::StockHangs),
            None => {
                same([("stock", &stock), ("drop-in", &ours)])?;
                Ok(Verdict::Same)
            }
        }
    }

    fn lines(&self, program: &Path, limit: Duration) -> Result<String> {
        let mut command = Command::new(program);
        command.args(&self.args);
        let finished = run_limited(command, limit)?;
        let end = match finished.status {
            None => KILLED.to_owned(),
            Some(status) if status.success() => String::new(),
            Some(status) => format!("{status}\n"),
        };
        Ok(finished.output + &end)
    }
}

/// Names and reasons.
fn parse(list: &str) -> Result<BTreeMap<&str, &str>> {
    let lines = list.lines().filter(|line| !line.starts_with('#'));
    let reasons = lines.map(|line| {
        let parts = line.split_once(": ");
        parts.with_context(|| format!("no reason in the line `{line}`"))
    });
    reasons.collect()
}

#[cfg(test)]
mod tests {
    use super::{parse, subjects};

    #[test]
    fn every_line_has_a_reason() {
        let list = parse("# title\na-b: because: so\n").unwrap();
        assert_eq!(list["a-b"], "because: so");
        assert!(parse("a-b\n").is_err());
    }

    #[test]
    fn a_filter_that_names_a_build_chooses_its_package() {
        let packages = |filter| {
            subjects(filter)
                .iter()
                .map(|s| s.package)
                .collect::<Vec<_>>()
        };
        let all = ["differ", "executor-differ", "rayon-differ"];
        assert_eq!(packages(None), all);
        assert_eq!(packages(Some("--seed 7")), all);
        assert_eq!(packages(Some("multi_threaded/--seed 7")), ["differ"]);
        assert_eq!(packages(Some("async-executor")), ["executor-differ"]);
        assert_eq!(packages(Some("rayon-core/")), ["rayon-differ"]);
    }
}
