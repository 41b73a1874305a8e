//! `cargo xtask bench-page`: the results page, out of what `cargo xtask bench --json` measured.

use std::collections::HashSet;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde::Deserialize;

use super::escape::{code, plain, table};
use super::model::{self, Metric};
use super::peers::{BenchResults, Origin, PeerMean, PeerRow};
use super::sheet::Sheet;
use super::units::{NONE, counted, estimate, values};
use super::{generated, write};
use crate::workspace::Workspace;

/// The page, from the root of the workspace.
const PAGE: &str = "docs/benchmarks.md";

/// How the page begins before anybody has written more.
const OPENING: &str = "# Benchmarks\n\nEach layer beside the projects one would use in its place.";

/// What stands behind a row that is in no mean.
const MARK: &str = " \\*";

/// Options of `cargo xtask bench-page`.
#[derive(Args)]
pub(crate) struct PageArgs {
    /// Files that `cargo xtask bench --json FILE` wrote, also with --metric instr and --latency, and `cargo xtask footprint`; no row in two
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The page to make or to renew [default: docs/benchmarks.md of the workspace]
    #[arg(long, value_name = "PAGE")]
    out: Option<PathBuf>,
}

/// What a file of `cargo xtask bench` may hold.
#[derive(Deserialize)]
#[serde(untagged)]
enum Saved {
    Sheet(Sheet),
    Rounds(BenchResults),
}

/// Renews the generated part of the page.
pub(crate) fn run(ws: &Workspace, args: &PageArgs) -> Result<()> {
    let (mut results, mut sheets) = (Vec::new(), Vec::new());
    for path in &args.files {
        match model::read(path)? {
            Saved::Sheet(sheet) => sheets.push(sheet),
            Saved::Rounds(rounds) => results.push(rounds),
        }
    }
    let path = match &args.out {
        Some(path) => path.clone(),
        None => ws.root.join(PAGE),
    };
    let shown = path.display();
    let old = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => OPENING.to_owned(),
        Err(error) => return Err(error).with_context(|| format!("cannot read {shown}")),
    };
    let new = generated::replace(
        &old,
        "cargo xtask bench-page FILE…",
        &part(&results, &sheets)?,
    )
    .with_context(|| format!("the generated part of {shown} is torn; mend or delete it"))?;
    write(&path, &new)?;
    println!("wrote {shown}");
    Ok(())
}

/// The generated part.
fn part(results: &[BenchResults], sheets: &[Sheet]) -> Result<String> {
    let mut layers: Vec<&str> = Vec::new();
    let mut seen = HashSet::new();
    for row in results.iter().flat_map(|result| &result.rows) {
        if !layers.contains(&row.layer.as_str()) {
            layers.push(&row.layer);
        }
        let sides = (&row.ours, &row.peer);
        ensure!(
            seen.insert((&row.layer, &row.workload, &row.param, row.threads, sides)),
            "a row of layer {}, {}, is in two files; give the one that holds",
            row.layer,
            row.workload
        );
    }
    let mut averaged = HashSet::new();
    for mean in results.iter().flat_map(|result| &result.means) {
        ensure!(
            averaged.insert((&mean.layer, &mean.ours, &mean.peer, mean.metric)),
            "gated rows of layer {} are in two files; a mean is over all of them: measure them in one run",
            mean.layer
        );
    }
    let empty = layers.is_empty() && sheets.iter().all(|sheet| sheet.rows.is_empty());
    ensure!(!empty, "there is no row in the files");
    let mut parts: Vec<String> = results.iter().map(made_by).collect();
    if !results.is_empty() {
        parts.push(reading(results));
    }
    let means: Vec<&PeerMean> = results.iter().flat_map(|result| &result.means).collect();
    if !means.is_empty() {
        parts.push("## Geometric means".to_owned());
        parts.push(means_table(&means));
    }
    for layer in layers {
        parts.push(format!("## {}", plain(layer)));
        let rows = results.iter().flat_map(|result| &result.rows);
        let rows = rows.filter(|row| row.layer == layer);
        parts.push(rows_table(rows));
    }
    for sheet in sheets {
        parts.push(format!("## {}", plain(&sheet.title)));
        parts.push(format!("{}.", origin(&sheet.origin)));
        parts.push(plain(&sheet.note));
        parts.push(sheet.markdown());
    }
    Ok(parts.join("\n\n"))
}

/// How rows are to be read.
fn reading(results: &[BenchResults]) -> String {
    let text = "A ratio is ours/peer, so below 1 ours is faster; in brackets its 95 % confidence interval \
                over the rounds. Times are medians over the rounds for one iteration.";
    let ungated = |result: &BenchResults| result.rows.iter().any(|row| !row.gated);
    if !results.iter().any(ungated) {
        return text.to_owned();
    }
    format!(
        "{text}\n\n{} more threads than the machine has cores: measured, but in no mean.",
        MARK.trim()
    )
}

fn made_by(result: &BenchResults) -> String {
    format!(
        "{}: {} of {} ms after {} ms of warm-up a run.",
        origin(&result.origin),
        counted(result.rounds, "round", "rounds"),
        result.time_ms,
        result.warm_up_ms,
    )
}

/// How, when, of what and where.
fn origin(origin: &Origin) -> String {
    let machine = &origin.machine;
    let commit: String = origin.commit.chars().take(12).collect();
    let changed = if origin.dirty { " with changes" } else { "" };
    format!(
        "{}, {}, at commit {}{changed}, on {} ({}, {}; {}; load before {})",
        code(&origin.command),
        plain(&origin.created),
        code(&commit),
        plain(&machine.cpu),
        counted(machine.cores, "core", "cores"),
        plain(&machine.os),
        plain(&machine.rustc),
        load(machine.load_before)
    )
}

fn load(value: f64) -> String {
    if value.is_finite() {
        format!("{value:.2}")
    } else {
        NONE.to_owned()
    }
}

/// A line for each layer, contender of ours and peer, wall and CPU time beside each other.
fn means_table(means: &[&PeerMean]) -> String {
    let find = |of: &PeerMean, metric| {
        let same = |m: &&&PeerMean| {
            (&m.layer, &m.ours, &m.peer) == (&of.layer, &of.ours, &of.peer) && m.metric == metric
        };
        means.iter().find(same)
    };
    let shown = |mean: Option<&&PeerMean>| mean.map_or(NONE.to_owned(), |m| estimate(&m.mean));
    let mut seen: Vec<(&str, &str, &str)> = Vec::new();
    let mut rows = Vec::new();
    for mean in means {
        if seen.contains(&(&mean.layer, &mean.ours, &mean.peer)) {
            continue;
        }
        seen.push((&mean.layer, &mean.ours, &mean.peer));
        rows.push(vec![
            plain(&mean.layer),
            plain(&mean.ours),
            plain(&mean.peer),
            mean.rows.to_string(),
            shown(find(mean, Metric::Wall)),
            shown(find(mean, Metric::Cpu)),
        ]);
    }
    table(
        &["layer", "ours", "peer", "rows", "wall time", "CPU time"],
        rows,
    )
}

fn rows_table<'r>(rows: impl Iterator<Item = &'r PeerRow>) -> String {
    let header = [
        "workload",
        "ours",
        "peer",
        "threads",
        "our time",
        "the peer's",
        "wall time",
        "CPU time",
        "rounds",
    ];
    let cells = rows.map(|row| {
        let workload = match &row.param {
            Some(param) => format!("{}/{param}", row.workload),
            None => row.workload.clone(),
        };
        let [ours, peer] = values(Metric::Wall, [row.ours_ns, row.peer_ns]);
        let mark = if row.gated { "" } else { MARK };
        vec![
            code(&workload) + mark,
            plain(&row.ours),
            plain(&row.peer),
            row.threads.map_or(NONE.to_owned(), |n| n.to_string()),
            ours,
            peer,
            estimate(&row.wall),
            row.cpu.as_ref().map_or(NONE.to_owned(), estimate),
            row.rounds.len().to_string(),
        ]
    });
    table(&header, cells)
}

#[cfg(test)]
mod tests {
    use super::{Saved, part};
    use crate::report::generated;
    use crate::report::model::{Estimate, Machine, Metric, SCHEMA};
    use crate::report::peers::{BenchResults, Origin, PeerMean, PeerRow};
    use crate::report::sheet::{Cell, Sheet};

    const RATIO: Estimate = Estimate {
        value: 0.5,
        low: 0.4,
        high: 0.625,
    };

    fn row(layer: &str, threads: usize) -> PeerRow {
        PeerRow {
            layer: layer.to_owned(),
            workload: "steal|all".to_owned(),
            param: Some("64".to_owned()),
            threads: Some(threads),
            gated: threads <= 2,
            ours: "terrace".to_owned(),
            peer: "st3".to_owned(),
            ours_ns: 500.0,
            peer_ns: 1000.0,
            wall: RATIO,
            cpu: None,
            rounds: vec![0.5; 9],
        }
    }

    fn origin(command: &str) -> Origin {
        Origin {
            schema: SCHEMA,
            created: "2026-01-02T03:04:05Z".to_owned(),
            command: command.to_owned(),
            commit: "0123456789abcdef".to_owned(),
            dirty: true,
            machine: Machine {
                cpu: "A processor".to_owned(),
                cores: 2,
                os: "linux".to_owned(),
                rustc: "rustc 1.95.0".to_owned(),
                load_before: f64::NAN,
            },
        }
    }

    fn results(layer: &str) -> BenchResults {
        let mean = |metric| PeerMean {
            layer: layer.to_owned(),
            ours: "terrace".to_owned(),
            peer: "st3".to_owned(),
            metric,
            mean: RATIO,
            rows: 1,
        };
        BenchResults {
            origin: origin(&format!("cargo xtask bench --layer {layer}")),
            rounds: 9,
            warm_up_ms: 100,
            time_ms: 300,
            rows: vec![row(layer, 2), row(layer, 4)],
            means: vec![mean(Metric::Wall), mean(Metric::Cpu)],
        }
    }

    #[test]
    fn the_page_says_how_it_was_made_and_every_row() {
        let text = part(&[results("queue"), results("park")], &[]).expect("two layers");
        for expected in [
            "`cargo xtask bench --layer park`, 2026-01-02T03:04:05Z, at commit `0123456789ab` with changes, on A processor (2 cores, linux;",
            "9 rounds of 300 ms after 100 ms of warm-up a run.",
            "| queue | terrace | st3 | 1 | 0.500 (0.400–0.625) | 0.500 (0.400–0.625) |",
            "## park",
            "| `steal\\|all/64` | terrace | st3 | 2 | 0.500 µs | 1.000 µs | 0.500 (0.400–0.625) | – | 9 |",
            "| `steal\\|all/64` \\* | terrace | st3 | 4 |",
            "\\* more threads than",
        ] {
            assert!(text.contains(expected), "{expected} is not in:\n{text}");
        }
        assert!(!text.contains("NaN"));
    }

    #[test]
    fn a_row_and_a_mean_come_from_one_file() {
        let error = part(&[results("queue"), results("queue")], &[]).expect_err("twice queue");
        assert!(error.to_string().contains("is in two files"), "{error}");
        let mut other = results("queue");
        for row in &mut other.rows {
            row.param = Some("t64".to_owned());
        }
        let error = part(&[results("queue"), other.clone()], &[]).expect_err("two means");
        assert!(error.to_string().contains("in one run"), "{error}");
        other.means.clear();
        let text = part(&[results("queue"), other], &[]).expect("other rows");
        assert_eq!(text.matches("## queue").count(), 1, "{text}");
        assert!(text.contains("t64"), "{text}");
        assert!(part(&[], &[]).is_err());
    }

    #[test]
    fn the_part_can_be_sealed() {
        let text = part(&[results("queue")], &[]).expect("one layer");
        let page = generated::replace("# B", "cargo xtask bench-page", &text).expect("no part");
        assert_eq!(generated::check(&page), None);
        assert!(generated::check(&page.replace("0.400", "0.300")).is_some());
    }

    #[test]
    fn json_round_trip() {
        let mut before = results("queue");
        before.origin.machine.load_before = 0.25;
        let text = serde_json::to_string(&before).expect("plain data");
        let after: BenchResults = serde_json::from_str(&text).expect("the same form");
        assert_eq!(after, before);
    }

    #[test]
    fn sheets_stand_below_the_rounds_and_alone() {
        let mut sheet = Sheet {
            origin: origin("cargo xtask bench --latency"),
            title: "Latency".to_owned(),
            note: "From a wake to the poll.".to_owned(),
            header: vec!["row".to_owned(), "p50".to_owned()],
            rows: vec![vec![
                Cell::Text("a|b".to_owned()),
                Cell::Nanoseconds(1500.0),
            ]],
        };
        sheet.origin.machine.load_before = 0.25;
        for rounds in [vec![results("queue")], Vec::new()] {
            let text = part(&rounds, std::slice::from_ref(&sheet)).expect("rows");
            for expected in [
                "## Latency\n\n`cargo xtask bench --latency`, 2026",
                "From a wake to the poll.",
                "| a\\|b | 1.500 µs |",
            ] {
                assert!(text.contains(expected), "{expected} is not in:\n{text}");
            }
        }
        let saved = serde_json::to_string(&sheet).expect("plain data");
        let read: Saved = serde_json::from_str(&saved).expect("the same form");
        assert!(matches!(read, Saved::Sheet(read) if read == sheet));
        let saved = serde_json::to_string(&results("queue")).expect("plain data");
        let read: Saved = serde_json::from_str(&saved).expect("the same form");
        assert!(matches!(read, Saved::Rounds(_)));
    }
}
