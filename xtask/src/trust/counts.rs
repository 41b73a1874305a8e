//! How much of each method there is, counted in the sources and tables.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use anyhow::{Context, Result};

use crate::loom::readme::{self, README};
use crate::loom::sweep::{list, sites};
use crate::models::mutants::Mutant;
use crate::models::{LOOM, SHUTTLE, described};
use crate::prove::{Fault, TABLE};
use crate::{bench_compare, ci, compat, shuttle as random, table, targets as systems};

pub(super) fn models(root: &Path) -> Result<String> {
    let models = described::all(root)?.len();
    let schedules = readme::schedules(&fs_err::read_to_string(root.join(README))?);
    Ok(format!("{models} models, {schedules} schedules"))
}

pub(super) fn mutants(root: &Path) -> Result<String> {
    let mutants: Vec<Mutant> = table::load(root, LOOM.mutants)?;
    Ok(format!("{} mutants", mutants.len()))
}

pub(super) fn orderings(root: &Path) -> Result<String> {
    let sites = sites::all(root, &HashSet::new())?.len();
    let rows = list::load(root)?;
    let unreached = rows.iter().filter(|row| row.is_not_reached()).count();
    let seen = rows.len() - unreached;
    Ok(format!(
        "{sites} orderings that stand in their calls, and those that a name holds; [listed](../loom-tests/orderings.toml) with a reason: {seen} that no model needs, \
         {unreached} that no model reaches"
    ))
}

pub(super) fn shuttle(root: &Path) -> Result<String> {
    let models = described::tests_below(root, "loom-tests/shuttle/tests")?;
    let faults: Vec<Mutant> = table::load(root, SHUTTLE.mutants)?;
    let (some, twice) = (random::ITERATIONS, 2 * random::ITERATIONS);
    Ok(format!(
        "{models} models, each in {twice} schedules, and loom's models in {some}; {} planted faults",
        faults.len()
    ))
}

pub(super) fn faults(root: &Path) -> Result<String> {
    let faults: Vec<Fault> = table::load(root, TABLE)?;
    let mut nets = BTreeMap::<String, usize>::new();
    for fault in &faults {
        *nets.entry(fault.net_name()).or_default() += 1;
    }
    let nets = nets.iter().map(|(net, count)| format!("{net} {count}"));
    Ok(format!(
        "{}: {}",
        faults.len(),
        nets.collect::<Vec<_>>().join(", ")
    ))
}

/// The drop-ins and the images for machines without an operating system have packages of their own.
const OTHERS: [&str; 2] = ["compat", "firmware"];

pub(super) fn tests(root: &Path) -> Result<String> {
    let mut tests = described::tests_below(root, "xtask/src")?;
    for entry in fs_err::read_dir(root.join("crates"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if !OTHERS.contains(&&*name) {
            tests += described::tests_below(root, &format!("crates/{name}"))?;
        }
    }
    Ok(format!("{tests} tests"))
}

pub(super) fn behaviours(root: &Path) -> Result<String> {
    let read = |file: &str| fs_err::read_to_string(root.join("crates/conformance").join(file));
    let tables = read("src/suite.rs")?;
    let behaviours = tables.split("\ntable! {").skip(1).flat_map(|table| {
        let (table, _) = table.split_once("\n}\n").unwrap_or((table, ""));
        table.lines().filter(|line| line.starts_with("        "))
    });
    let (behaviours, kinds) = (behaviours.count(), read("tests/kinds.rs")?);
    let (_, kinds) = kinds.split_once("\nkinds! {").context("a table of kinds")?;
    let kinds = kinds.lines().filter(|line| line.ends_with(';')).count();
    Ok(format!(
        "{behaviours} behaviours, {kinds} kinds of executors"
    ))
}

pub(super) fn programs(_: &Path) -> Result<String> {
    Ok(compat::programs_in_words())
}

pub(super) fn suites(root: &Path) -> Result<String> {
    compat::suites_in_words(root)
}

pub(super) fn soak(_: &Path) -> Result<String> {
    let runs = ci::names();
    let runs = runs.iter().filter(|name| name.starts_with("soak ")).count();
    Ok(format!(
        "{runs} runs of a minute: plain, with keyed thread-locals, with records"
    ))
}

pub(super) fn tsan(root: &Path) -> Result<String> {
    Ok(format!("the tests of all {} layers", layers(root)?))
}

/// The packages below `crates` that are members of the workspace.
fn layers(root: &Path) -> Result<usize> {
    let mut layers = 0;
    for entry in fs_err::read_dir(root.join("crates"))? {
        let path = entry?.path();
        let other = OTHERS.iter().any(|other| path.ends_with(other));
        layers += usize::from(!other && path.join("Cargo.toml").is_file());
    }
    Ok(layers)
}

pub(super) fn asan(_: &Path) -> Result<String> {
    let layers = [&crate::asan::WITH_LEAKS[..], &crate::asan::WITHOUT_LEAKS].concat();
    Ok(format!("the tests of {}", layers.join(", ")))
}

pub(super) fn miri(root: &Path) -> Result<String> {
    let workflow = fs_err::read_to_string(root.join(".github/workflows/ci.yml"))?;
    let (_, job) = workflow
        .split_once("\n  miri:\n")
        .context("a job of Miri")?;
    let (_, layers) = job
        .split_once("layer: [")
        .context("the layers under Miri")?;
    let (layers, _) = layers.split_once(']').context("the layers under Miri")?;
    Ok(format!("the tests of {}", layers.replace("terrace-", "")))
}

pub(super) fn targets(_: &Path) -> Result<String> {
    let (targets, _) = systems::counted();
    Ok(format!("{targets} targets"))
}

pub(super) fn imitated(_: &Path) -> Result<String> {
    let (_, imitated) = systems::counted();
    Ok(format!("{imitated} targets, under qemu, Wine or natively"))
}

pub(super) fn footprint(_: &Path) -> Result<String> {
    Ok(format!(
        "{} figures of each project",
        crate::footprint::HEADER.len() - 1
    ))
}

pub(super) fn comparisons(_: &Path) -> Result<String> {
    let commits = bench_compare::self_test::COMMITS.len();
    Ok(format!("{commits} commits of a small repository"))
}
