//! `cargo xtask bench-page`: the results page, out of what `cargo xtask bench --json` measured.

use std::collections::HashSet;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde::Deserialize;

use super::document::Part;
use super::peers::{self, BenchResults, Origin};
use super::sheet::Sheet;
use super::units::counted;
use super::{markdown, model, write};
use crate::generated;
use crate::workspace::Workspace;

/// The page, from the root of the workspace.
const PAGE: &str = "docs/benchmarks.md";

/// How the page begins before an author has written more.
const OPENING: &str = "# Benchmarks\n\nEach layer beside the projects one would use in its place.";

/// What writes the generated part.
const COMMAND: &str = "cargo xtask bench-page FILE…";

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
    let path = args.out.clone().unwrap_or_else(|| ws.root.join(PAGE));
    let shown = path.display();
    let old = match fs_err::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => OPENING.to_owned(),
        Err(error) => return Err(error).with_context(|| format!("cannot read {shown}")),
    };
    let new = renewed(&old, &part(&results, &sheets)?).with_context(|| {
        format!("the generated part of {shown} does not end; mend or delete it")
    })?;
    write(&path, &new)?;
    println!("wrote {shown}");
    Ok(())
}

/// The page with its generated part replaced, or added at its end if it has none; `None` if that does not end.
fn renewed(page: &str, part: &str) -> Option<String> {
    let added;
    let page = match page.contains(generated::BEGIN) {
        true => page,
        false => {
            added = format!("{}\n\n{}\n", page.trim_end(), generated::EMPTY);
            &added
        }
    };
    generated::renewed(page, COMMAND, part)
}

/// The generated part.
fn part(results: &[BenchResults], sheets: &[Sheet]) -> Result<String> {
    let rows: Vec<_> = results.iter().flat_map(|r| r.rows.clone()).collect();
    let means: Vec<_> = results.iter().flat_map(|r| r.means.clone()).collect();
    let mut seen = HashSet::new();
    for row in &rows {
        ensure!(
            seen.insert((row.name(), row.threads, &row.ours, &row.peer)),
            "a row of layer {}, {}, is in two files; give the one that holds",
            row.layer,
            row.workload
        );
    }
    let mut averaged = HashSet::new();
    for mean in &means {
        ensure!(
            averaged.insert((&mean.layer, &mean.ours, &mean.peer, mean.metric)),
            "gated rows of layer {} are in two files; a mean is over all of them: measure them in one run",
            mean.layer
        );
    }
    let empty = rows.is_empty() && sheets.iter().all(|sheet| sheet.rows.is_empty());
    ensure!(!empty, "there is no row in the files");
    let mut parts: Vec<Part> = results.iter().map(made_by).collect();
    if !results.is_empty() {
        parts.push(Part::Text(peers::READING.to_owned()));
    }
    parts.extend(peers::parts(&rows, &means, UNGATED));
    for sheet in sheets {
        let mut table = sheet.table();
        table.title = sheet.title.clone();
        table.note = format!("{} {}.", sheet.note, origin_in_words(&sheet.origin));
        parts.push(Part::Table(table));
    }
    Ok(markdown::parts(&parts))
}

/// Why a row is in no mean.
const UNGATED: &str = "measured, but in no mean: more threads than the machine has cores, or a row of which most time is not the pool's.";

fn made_by(result: &BenchResults) -> Part {
    Part::Text(format!(
        "{}: {} of {} ms after {} ms of warm-up a run.",
        origin_in_words(&result.origin),
        counted(result.rounds, "round", "rounds"),
        result.time_ms,
        result.warm_up_ms,
    ))
}

/// How, when, of what and where.
pub(crate) fn origin_in_words(origin: &Origin) -> String {
    let machine = &origin.machine;
    let commit: String = origin.commit.chars().take(12).collect();
    let changed = if origin.dirty { " with changes" } else { "" };
    format!(
        "`{}`, {}, at commit `{commit}`{changed}, on {} ({}, {}; {}; load before {}; a wake takes {})",
        origin.command,
        origin.created,
        machine.cpu,
        counted(machine.cores, "core", "cores"),
        machine.os,
        machine.rustc,
        machine.load(),
        machine.wake()
    )
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;

    use expect_test::expect_file;

    use super::{BenchResults, Saved, Sheet, part, renewed};

    fn results(layer: &str) -> BenchResults {
        let text = include_str!("snapshots/rounds.json").replace("queue", layer);
        serde_json::from_str(&text).expect("it has the form")
    }

    #[test]
    fn rounds_and_sheets_make_a_page_and_are_saved() {
        let rounds = results("queue");
        let sheet = include_str!("snapshots/sheet.json");
        let sheet: Sheet = serde_json::from_str(sheet).expect("it has the form");
        let saved = serde_json::to_string(&(&sheet, &rounds)).expect("plain data");
        let read: (Saved, Saved) = serde_json::from_str(&saved).expect("the same form");
        assert!(matches!(read.0, Saved::Sheet(read) if read == sheet));
        assert!(matches!(read.1, Saved::Rounds(read) if read == rounds));
        assert!(part(&[], from_ref(&sheet)).is_ok(), "a sheet stands alone");
        let page = part(&[rounds, results("park")], &[sheet]).expect("two layers");
        expect_file!["snapshots/page.md"].assert_eq(&page);
    }

    #[test]
    fn a_row_and_a_mean_come_from_one_file() {
        let mut other = results("queue");
        let of = |other: &BenchResults| {
            let part = part(&[results("queue"), other.clone()], &[]);
            part.unwrap_or_else(|error| error.to_string())
        };
        assert!(of(&other).contains("is in two files"));
        for row in &mut other.rows {
            row.param = "t64".to_owned();
        }
        assert!(of(&other).contains("in one run"));
        other.means.clear();
        assert_eq!(of(&other).matches("## queue").count(), 1);
        assert!(part(&[], &[]).is_err());
    }

    #[test]
    fn the_part_is_added_and_then_replaced() {
        let first = renewed("# B\n\nBy hand.\n", "| 1 |").expect("no part yet");
        let begin = "# B\n\nBy hand.\n\n<!-- generated by `cargo";
        assert!(first.starts_with(begin), "{first}");
        let second = renewed(&(first.clone() + "\nAfter.\n"), "| 2 |").expect("a whole part");
        assert_eq!(second, first.replace("| 1 |", "| 2 |") + "\nAfter.\n");
        assert_eq!(renewed(&second.replace("<!-- end", ""), "| 3 |"), None);
    }
}
