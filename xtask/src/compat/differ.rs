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

use super::registry::{ASYNC_EXECUTOR, BEVY_TASKS, Published, RAYON_CORE};
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
    drop_in: Published,
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

/// A program on both sides.
struct Case {
    /// `BUILD/ARGUMENTS`.
    name: String,
    sides: [PathBuf; 2],
    /// Why it may differ.
    allowed: Option<String>,
}

impl Subject {
    /// Whether the filter begins with the name of one of its builds.
    fn is_named(&self, filter: &str) -> bool {
        self.builds.iter().any(|way| filter.starts_with(way.0))
    }

    /// Builds it, and says what there is to compare.
    fn cases(&self, ws: &Workspace, seeds: &SeedArgs) -> Result<Vec<Case>> {
        let list = format!("crates/compat/expected/{}.txt", self.package);
        let list = fs_err::read_to_string(ws.root.join(list))?;
        let allowed = parse(&list)?;
        let seeds = seeds.choose(self)?;
        let mut cases = Vec::new();
        for way in self.builds {
            let sides = Side::both(|side| side.program(ws, self.package, &[self.drop_in], *way))?;
            let mut add = |args: String, allowed: Option<&&str>| {
                cases.push(Case {
                    name: format!("{}/{args}", way.0),
                    sides: sides.clone(),
                    allowed: allowed.map(|reason| (*reason).to_owned()),
                });
            };
            if *way == self.builds[0] {
                let known = listed(&sides[1])?;
                ensure!(
                    known.len() == allowed.len()
                        && known.iter().all(|name| allowed.contains_key(&**name)),
                    "the programs that are written out are {known:?}, and the list has {:?}",
                    allowed.keys()
                );
                for name in &known {
                    add(format!("--program {name}"), allowed.get(&**name));
                }
            }
            for seed in &seeds {
                add(format!("--seed {seed}"), None);
            }
        }
        Ok(cases)
    }
}

/// How many random programs a run compares, and how many of them are new each time.
pub(crate) fn in_words() -> String {
    let builds = SUBJECTS.iter().map(|subject| subject.builds.len() as u64);
    let new = SUBJECTS
        .iter()
        .map(|subject| subject.new_seeds * subject.builds.len() as u64);
    let (seeds, new): (u64, u64) = (builds.sum::<u64>() * SEEDS, new.sum());
    format!(
        "{} random programs on {} drop-ins, {new} of them new in each run",
        seeds + new,
        SUBJECTS.len()
    )
}

/// Runs the programs whose names contain `filter`: `multi_threaded/--seed 7`, say. Packages that have none of them are not built.
pub(super) fn run(ws: &Workspace, filter: &str, seeds: &SeedArgs) -> Result<()> {
    let is_any_named = SUBJECTS.iter().any(|subject| subject.is_named(filter));
    let mut cases = Vec::new();
    for subject in &SUBJECTS {
        if !is_any_named || subject.is_named(filter) {
            cases.extend(subject.cases(ws, seeds)?);
        }
    }
    cases.retain(|case| case.name.contains(filter));
    ensure!(!cases.is_empty(), "no program's name contains the filter");

    let progress = Progress::new("compat --differ", cases.len());
    let results = parallel(&cases, |case| {
        let result = case.check();
        if let Err(error) = &result {
            progress.line(&format!("{}: FAILED: {error:#}", case.name));
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

impl Case {
    fn check(&self) -> Result<Verdict> {
        let stock = self.lines(&self.sides[0], STOCK_LIMIT)?;
        let ours = self.lines(&self.sides[1], LIMIT)?;
        ensure!(
            ours.ends_with("end\n"),
            "the drop-in does not come to the end:\n{ours}"
        );
        if let Some(reason) = &self.allowed {
            ensure!(
                stock != ours,
                "it prints the same on both sides, so the list need not say: {reason}"
            );
            return Ok(Verdict::Allowed);
        }
        if stock.ends_with(KILLED) {
            return Ok(Verdict::StockHangs);
        }
        same([("stock", &stock), ("drop-in", &ours)])?;
        Ok(Verdict::Same)
    }

    fn lines(&self, program: &Path, limit: Duration) -> Result<String> {
        let mut command = Command::new(program);
        let args = self.name.split_once('/').map_or("", |(_, args)| args);
        command.args(args.split(' '));
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
    use super::{SUBJECTS, parse};

    #[test]
    fn every_line_has_a_reason() {
        let list = parse("# title\na-b: because: so\n").unwrap();
        assert_eq!(list["a-b"], "because: so");
        assert!(parse("a-b\n").is_err());
    }

    #[test]
    fn a_filter_may_name_a_build() {
        for (filter, wanted) in [
            ("", [false; 3]),
            ("--seed 7", [false; 3]),
            ("multi_threaded/--seed 7", [true, false, false]),
            ("async-executor", [false, true, false]),
            ("rayon-core/", [false, false, true]),
        ] {
            assert_eq!(SUBJECTS.map(|subject| subject.is_named(filter)), wanted);
        }
    }
}
