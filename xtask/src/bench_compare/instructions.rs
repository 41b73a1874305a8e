//! The programs that count instructions, of both sides in turn, a whole program at a time.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use super::failure::{Failure, OrCode};
use super::git::Repository;
use super::plan::{Counters, Selection};
use super::rounds::{Failed, key, order};
use super::runs::{Found, Kind, Runs};
use super::sides::{Side, Which};
use crate::measure::build::Executable;
use crate::measure::child::Interrupted;
use crate::measure::instr::Counter;
use crate::progress::Progress;

/// The one round: counts hardly vary, four runs tell whether these do.
const ROUND: u32 = 1;

/// A program and the ids of its benches that are selected.
#[derive(Clone, Debug)]
pub(super) struct Counted {
    pub(super) ids: Vec<String>,
    pub(super) hash: String,
    executable: Executable,
    counter: Counter,
    label: String,
}

/// The side's programs by name, those with benches that are selected.
///
/// # Errors
///
/// If valgrind is missing, the runner cannot be installed, or a program cannot list its benches.
pub(super) fn programs(
    target: &Path,
    repository: &Repository,
    side: &Side,
    selection: &Selection,
) -> Result<BTreeMap<String, Counted>> {
    let mut programs = BTreeMap::new();
    let mut counter = None;
    for built in side.programs.iter().filter(|p| p.counts_instructions()) {
        let counter = match &counter {
            Some(counter) => counter,
            None => {
                let lock = repository.file(&side.revision, "Cargo.lock")?;
                let new = Counter::of_lock(&lock, target).with_context(|| {
                    let side = side.label();
                    format!("leave `instr` out of --metric, or help: {side} cannot be counted")
                })?;
                counter.insert(new)
            }
        };
        let executable = Executable {
            name: built.name.clone(),
            path: built.path.clone(),
        };
        let mut ids = counter
            .list(&executable, directory(&executable))
            .with_context(|| side.label())
            .or_bench_failure()?;
        ids.retain(|id| selection.has(id));
        if ids.is_empty() {
            continue;
        }
        let counted = Counted {
            ids,
            hash: built.hash.clone(),
            executable,
            counter: counter.clone(),
            label: side.label(),
        };
        programs.insert(built.name.clone(), counted);
    }
    Ok(programs)
}

fn directory(executable: &Executable) -> &Path {
    executable.path.parent().unwrap_or(Path::new("."))
}

/// Runs the programs of both sides in turn, except for what is in `runs` already; with `all` those of the same
/// bytes too.
///
/// # Errors
///
/// `Interrupted`, and if a run cannot be noted.
pub(super) fn measure(
    Counters { base, head }: &Counters,
    all: bool,
    runs: &mut Runs,
) -> Result<Vec<Failed>> {
    let mut failed = Vec::new();
    let differ = |name: &&String| {
        let other = head.get(*name);
        other.is_some_and(|other| all || other.hash != base[*name].hash)
    };
    let names: Vec<&String> = base.keys().filter(differ).collect();
    if names.is_empty() {
        return Ok(failed);
    }
    let progress = Progress::new("bench-compare: instructions", names.len());
    for name in names {
        progress.at(name);
        for (slot, which) in (0..).zip(order(ROUND)) {
            let program = match which {
                Which::Base => &base[name],
                Which::Head => &head[name],
            };
            match program.run(slot, runs) {
                Ok(()) => {}
                Err(error) if error.is::<Interrupted>() || error.is::<Failure>() => {
                    progress.finish();
                    return Err(error);
                }
                Err(error) => {
                    let message = format!("{}: {error:#}", program.label);
                    progress.line(&format!("error: {message}"));
                    failed.extend(program.ids.iter().map(|id| Failed {
                        id: id.clone(),
                        message: message.clone(),
                    }));
                    break;
                }
            }
        }
        progress.step();
    }
    progress.finish();
    Ok(failed)
}

impl Counted {
    fn run(&self, slot: u32, runs: &mut Runs) -> Result<()> {
        let place = |id: &str| key(id, Kind::Instructions, ROUND, slot);
        if self.ids.iter().all(|id| runs.get(&place(id)).is_some()) {
            return Ok(());
        }
        let start = Instant::now();
        let counts = self
            .counter
            .count(&self.executable, directory(&self.executable))?;
        if let Some(id) = self
            .ids
            .iter()
            .find(|id| counts.iter().all(|count| count.id != **id))
        {
            bail!("`{id}` was not counted");
        }
        let seconds = start.elapsed().as_secs_f64() / counts.len() as f64;
        for count in counts.into_iter().filter(|c| self.ids.contains(&c.id)) {
            let (id, value) = (count.id, count.instructions);
            let found = Found {
                value,
                cpu: None,
                seconds,
            };
            runs.add(place(&id), found)
                .map_err(|error| Failure::usage(format!("{error:#}")))?;
        }
        Ok(())
    }
}
