//! The rows: what the bench programs have, by what contenders have in common.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, bail, ensure};
use clap::Args;
use regex_lite::Regex;

use super::contenders::{is_alone, is_ours, opponents};
use crate::measure::criterion::Program;
use crate::measure::id::Id;
use crate::measure::rounds::{Entry, Row};

/// Similar rows that an error names.
const NEAR: usize = 5;

/// What is asked for.
#[derive(Args, Debug, Default)]
pub(super) struct Selection {
    /// Only this layer; may be repeated
    #[arg(long = "layer", value_name = "LAYER")]
    pub(super) layers: Vec<String>,
    /// Only rows of which an id, or its parts layer/workload/param, match this pattern
    #[arg(long, value_name = "REGEX")]
    pub(super) filter: Option<Regex>,
    /// Only against this peer; may be repeated
    #[arg(long = "peer", value_name = "CONTENDER")]
    peers: Vec<String>,
    /// Only this contender of ours; may be repeated
    #[arg(long = "ours", value_name = "CONTENDER")]
    ours: Vec<String>,
}

fn is_ours_in(row: &Row, entry: &Entry) -> bool {
    is_ours(row.layer(), &entry.contender)
}

/// Each of ours with each peer that it is held against, as indexes of entries.
pub(super) fn pairs(row: &Row) -> Vec<(usize, usize)> {
    let is_ours = |entry: &&Entry| is_ours_in(row, entry);
    let names = |entry: &'_ Entry| entry.contender.clone();
    let peers: Vec<String> = row
        .entries
        .iter()
        .filter(|e| !is_ours(e))
        .map(names)
        .collect();
    let peers: Vec<&str> = peers.iter().map(String::as_str).collect();
    let at = |name: &str| row.entries.iter().position(|e| e.contender == name);
    let mut pairs = Vec::new();
    for (ours, entry) in row.entries.iter().enumerate() {
        if is_ours(&entry) {
            let opponents = opponents(&entry.contender, &peers).into_iter();
            pairs.extend(opponents.filter_map(at).map(|peer| (ours, peer)));
        }
    }
    pairs
}

/// Groups what the programs list into rows.
pub(super) fn group(listed: Vec<(String, Program)>) -> Result<Vec<Row>> {
    let mut rows: Vec<Row> = Vec::new();
    let mut known = BTreeMap::new();
    for (text, program) in listed {
        let Some(id) = Id::parse(&text) else {
            bail!(
                "the bench `{text}` is not called layer/workload/contender/param; see benches/README.md"
            );
        };
        let at = *known.entry(id.row()).or_insert_with(|| {
            let (name, entries) = (id.row(), Vec::new());
            rows.push(Row { name, entries });
            rows.len() - 1
        });
        let row = &mut rows[at];
        ensure!(
            row.entries.iter().all(|e| e.contender != id.contender),
            "there are two benches called `{text}`; rename one"
        );
        row.entries.push(Entry {
            contender: id.contender,
            id: text,
            program,
        });
    }
    for row in &mut rows {
        let layer = row.layer().to_owned();
        // A stable sort: ours, then the others, both as listed.
        row.entries
            .sort_by_key(|entry| !is_ours(&layer, &entry.contender));
        check(row)?;
    }
    Ok(rows)
}

fn check(row: &Row) -> Result<()> {
    let ours = row.entries.iter().filter(|e| is_ours_in(row, e));
    let (ours, all) = (ours.count(), row.entries.len());
    ensure!(
        ours > 0,
        "no contender of row {} is known as ours; add the contender to the list in xtask/src/bench/contenders.rs",
        row.name
    );
    ensure!(
        ours < all || is_alone(&row.name),
        "row {} has no peer; give it one, or add it to the list in xtask/src/bench/contenders.rs",
        row.name
    );
    Ok(())
}

/// The rows that are asked for, with the contenders that are.
pub(super) fn select(rows: Vec<Row>, selection: &Selection) -> Result<Vec<Row>> {
    let in_layers: Vec<Row> = rows
        .into_iter()
        .filter(|row| {
            let layers = &selection.layers;
            layers.is_empty() || layers.iter().any(|layer| layer == row.layer())
        })
        .collect();
    let matches = |row: &Row| match &selection.filter {
        None => true,
        Some(filter) => {
            filter.is_match(&row.name) || row.entries.iter().any(|e| filter.is_match(&e.id))
        }
    };
    let (matching, others): (Vec<Row>, Vec<Row>) = in_layers.into_iter().partition(matches);
    if matching.is_empty() {
        let filter = selection.filter.as_ref().map_or("", Regex::as_str);
        bail!(
            "no row matches `{filter}`; similar are:{}",
            near(filter, &others)
        );
    }
    let contenders = |ours: bool| -> BTreeSet<&str> {
        let entries = matching.iter().flat_map(|row| {
            let of = move |entry: &&Entry| is_ours_in(row, entry) == ours;
            row.entries.iter().filter(of)
        });
        entries.map(|entry| entry.contender.as_str()).collect()
    };
    for (wanted, ours, what) in [
        (&selection.peers, false, "peer"),
        (&selection.ours, true, "contender of ours"),
    ] {
        let known = contenders(ours);
        for name in wanted {
            ensure!(
                known.contains(name.as_str()),
                "no selected row has a {what} called `{name}`; there are {}",
                known.iter().copied().collect::<Vec<_>>().join(", ")
            );
        }
    }
    let keep = |row: &Row, entry: &Entry| {
        let wanted = if is_ours_in(row, entry) {
            &selection.ours
        } else {
            &selection.peers
        };
        wanted.is_empty() || wanted.contains(&entry.contender)
    };
    let narrowed = matching.into_iter().map(|mut row| {
        let all = std::mem::take(&mut row.entries);
        row.entries = all.into_iter().filter(|e| keep(&row, e)).collect();
        row
    });
    // A row that is alone stays alone; one that lost a side is not comparable.
    let rows: Vec<Row> = narrowed
        .filter(|row| !pairs(row).is_empty() || is_alone(&row.name) && !row.entries.is_empty())
        .collect();
    ensure!(
        !rows.is_empty(),
        "no selected row has both sides; leave out --peer or --ours"
    );
    Ok(rows)
}

/// The rows most similar to `wanted`, a line each.
fn near(wanted: &str, rows: &[Row]) -> String {
    let mut names: Vec<(usize, String)> = (rows.iter().map(|row| row.name.clone()))
        .map(|name| (common(wanted, &name), name))
        .collect();
    names.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    names
        .iter()
        .take(NEAR)
        .map(|(_, name)| format!("\n    {name}"))
        .collect()
}

/// How many pairs of neighbouring letters of `wanted` are in `name`.
fn common(wanted: &str, name: &str) -> usize {
    let letters: Vec<char> = wanted.chars().collect();
    letters
        .windows(2)
        .filter(|pair| name.contains(&pair.iter().collect::<String>()))
        .count()
}

#[cfg(test)]
mod tests {
    use regex_lite::Regex;

    use super::{Row, Selection, group, pairs, select};
    use crate::measure::criterion::Program;

    fn listed(ids: &[&str]) -> Vec<(String, Program)> {
        let pair = |id: &&str| ((*id).to_owned(), Program::test());
        ids.iter().map(pair).collect()
    }

    fn rows() -> Vec<Row> {
        group(listed(&[
            "queue/push_pop/crossbeam/64",
            "queue/push_pop/ring/64",
            "queue/steal/ring/64-t2",
            "queue/steal/st3/64-t2",
            "local/spawn_one/local/1",
            "local/spawn_one/static_local/1",
            "local/spawn_one/async_executor/1",
            "local/spawn_one/static_async_executor/1",
            "local/spawn_one/tokio/1",
        ]))
        .expect("well-formed")
    }

    fn names(rows: &[Row]) -> Vec<String> {
        rows.iter().map(|row| row.name.clone()).collect()
    }

    #[test]
    fn ours_come_first_and_meet_their_peers() {
        let rows = rows();
        assert_eq!(rows[0].entries[0].contender, "ring");
        assert_eq!(pairs(&rows[0]), [(0, 1)]);
        assert_eq!(pairs(&rows[2]), [(0, 2), (0, 4), (1, 3), (1, 4)]);
    }

    #[test]
    fn malformed_sets_are_errors() {
        for (ids, part) in [
            (&["queue/push"][..], "layer/workload/contender/param"),
            (&["queue/a/ring/1", "queue/a/ring/1"], "two benches"),
            (&["queue/a/st3/1"], "as ours"),
            (&["queue/a/ring/1"], "no peer"),
        ] {
            let error = group(listed(ids)).expect_err("malformed").to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn rows_are_selected_by_layer_filter_and_peer() {
        let layer = Selection {
            layers: vec!["queue".to_owned()],
            ..Selection::default()
        };
        let selected = select(rows(), &layer).expect("two rows");
        assert_eq!(names(&selected), ["queue/push_pop/64", "queue/steal/64-t2"]);
        let filter = Selection {
            filter: Some(Regex::new("steal/ring").expect("a pattern")),
            ..Selection::default()
        };
        let selected = select(rows(), &filter).expect("a row");
        assert_eq!(selected[0].entries.len(), 2);
        let peer = Selection {
            peers: vec!["tokio".to_owned()],
            ..Selection::default()
        };
        let selected = select(rows(), &peer).expect("a row");
        assert_eq!(names(&selected), ["local/spawn_one/1"]);
        assert_eq!(pairs(&selected[0]), [(0, 2), (1, 2)]);
    }

    #[test]
    fn nothing_selected_is_an_error_with_hints() {
        let filter = |text: &str| Selection {
            filter: Some(Regex::new(text).expect("a pattern")),
            ..Selection::default()
        };
        let error = select(rows(), &filter("puch_pop")).expect_err("no such row");
        let text = error.to_string();
        assert!(
            text.contains("`puch_pop`") && text.contains("\n    queue/push_pop/64"),
            "{text}"
        );
        let peer = Selection {
            peers: vec!["rayon".to_owned()],
            ..Selection::default()
        };
        let error = select(rows(), &peer).expect_err("no such peer");
        assert!(error.to_string().contains("crossbeam"), "{error}");
    }
}
