//! The tables of the page.

use std::collections::HashMap;

use super::counts::{Count, mean_and_spread};
use super::places::Places;
use super::{POOLS, WORKERS};
use crate::report::document::{Cell, Part, Table};
use crate::report::markdown;

/// How many places are named of each operation of our pool, and that of the hottest line.
const NAMED: usize = 3;

/// The generated part of the page.
pub(super) fn part(counts: &[Count], places: &Places, seeds: u64) -> String {
    let about =
        format!("Each figure is the mean of {seeds} schedules, with the standard deviation.");
    let parts = [
        Part::Text(about),
        Part::Table(lines(counts, "One thread acts, the others sleep", "one")),
        Part::Table(lines(counts, "All workers act", "all")),
        Part::Table(hottest(counts, places)),
    ];
    markdown::parts(&parts)
}

/// The operations of a regime, in the order in which the programs do them.
fn operations<'c>(counts: &'c [Count], regime: &str) -> Vec<&'c str> {
    let mut names = Vec::new();
    for count in counts {
        let name = count.operation.as_str();
        if name.ends_with(regime) && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// What `of` says of each schedule.
fn values(
    counts: &[Count],
    (pool, operation, workers): (&str, &str, usize),
    of: impl Fn(&Count) -> f64,
) -> Vec<f64> {
    let fits = |count: &&Count| {
        count.pool == pool && count.operation == operation && count.workers == workers
    };
    counts.iter().filter(fits).map(of).collect()
}

fn figure(values: &[f64]) -> Cell {
    let (mean, spread) = mean_and_spread(values);
    let digits = usize::from(mean < 99.95);
    Cell::Figure(format!("{mean:.digits$} ± {spread:.digits$}"))
}

/// Lines for each number of workers; with the most workers also the rest.
fn lines(counts: &[Count], title: &str, regime: &str) -> Table {
    let most = WORKERS[WORKERS.len() - 1];
    let lines = WORKERS.map(|workers| format!("lines, {workers}"));
    let rest = ["on one line", "RMWs", "wakes", "barriers"].map(|what| format!("{what}, {most}"));
    let header = ["operation", "pool"].map(str::to_owned).into_iter();
    let header = Vec::from_iter(header.chain(lines).chain(rest));
    let header = Vec::from_iter(header.iter().map(String::as_str));
    let mut table = Table::new(title, &header);
    for operation in operations(counts, regime) {
        let (name, _) = operation.split_once('/').unwrap_or((operation, ""));
        for pool in POOLS {
            let with =
                |workers, of: fn(&Count) -> f64| values(counts, (pool, operation, workers), of);
            if with(most, |_| 0.0).is_empty() {
                continue;
            }
            let mut cells = vec![Cell::Name(name.to_owned()), Cell::Word(pool.to_owned())];
            cells.extend(WORKERS.map(|workers| figure(&with(workers, |c| c.each(c.lines)))));
            let rest: [fn(&Count) -> f64; 4] = [
                Count::peak,
                |c| c.each(c.rmws),
                |c| c.each(c.wakes),
                |c| c.each(c.barriers),
            ];
            cells.extend(rest.map(|of| figure(&with(most, of))));
            table.add(cells);
        }
    }
    table
}

/// Where the lines of each operation are got, with the most workers.
fn hottest(counts: &[Count], places: &Places) -> Table {
    let most = WORKERS[WORKERS.len() - 1];
    let title = format!("Where lines are handed over, {most} workers, all act");
    let header = [
        "operation",
        "pool",
        "place",
        "lines an operation",
        "of these on one line",
    ];
    let mut table = Table::new(title, &header);
    for operation in operations(counts, "all") {
        let (name, _) = operation.split_once('/').unwrap_or((operation, ""));
        for pool in POOLS {
            // Of each place the sum over all lines and schedules, and over schedules that of the hottest line.
            let mut found: HashMap<&str, (f64, f64)> = HashMap::new();
            let mut schedules = 0.0;
            let fits = |count: &&Count| {
                count.pool == pool && count.operation == operation && count.workers == most
            };
            for count in counts.iter().filter(fits) {
                schedules += 1.0;
                let mut peaks: HashMap<&str, f64> = HashMap::new();
                for hot in &count.hottest {
                    let (name, each) = (places.name(hot), count.each(hot.count));
                    found.entry(name).or_default().0 += each;
                    let peak = peaks.entry(name).or_default();
                    *peak = peak.max(each);
                }
                for (name, peak) in peaks {
                    found.entry(name).or_default().1 += peak;
                }
            }
            let mut found = Vec::from_iter(found);
            let named = if pool == POOLS[0] { NAMED } else { 1 };
            found.sort_by(|(a, (x, _)), (b, (y, _))| y.total_cmp(x).then(a.cmp(b)));
            let by_peak =
                |a: &&(&str, (f64, f64)), b: &&(&str, (f64, f64))| a.1.1.total_cmp(&b.1.1);
            let hottest = found.iter().max_by(by_peak).copied();
            found.truncate(named);
            found.extend(hottest.filter(|hottest| !found.contains(hottest)));
            for (place, (sum, peak)) in found {
                let figures =
                    [sum, peak].map(|sum| Cell::Figure(format!("{:.2}", sum / schedules)));
                let mut cells = vec![Cell::Name(name.to_owned()), Cell::Word(pool.to_owned())];
                cells.push(Cell::Name(place.to_owned()));
                cells.extend(figures);
                table.add(cells);
            }
        }
    }
    table
}
