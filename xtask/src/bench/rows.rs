//! The rows: what the bench programs have, by what contenders have in common.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};
use clap::Args;
use regex_lite::Regex;

use super::contenders::{is_alone, is_ours, opponents};
use crate::measure::criterion::Program;
use crate::measure::id::row_and_contender;
use crate::measure::rounds::{Entry, Row};

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
}

/// Each of ours with each peer that it is held against, as indexes of entries.
pub(super) fn pairs(row: &Row) -> Vec<(usize, usize)> {
    let names = row.entries.iter().map(|entry| entry.contender.as_str());
    let of_us = |(_, name): &(usize, &str)| is_ours(row.layer(), name);
    let (ours, peers): (Vec<_>, Vec<_>) = names.enumerate().partition(of_us);
    let all: Vec<&str> = peers.iter().map(|(_, name)| *name).collect();
    let mut pairs = Vec::new();
    for (at, name) in ours {
        let opponents = opponents(name, &all);
        let peers = peers.iter().filter(|(_, peer)| opponents.contains(peer));
        pairs.extend(peers.map(|(peer, _)| (at, *peer)));
    }
    pairs
}

/// Groups what the programs list into rows.
pub(super) fn group(listed: Vec<(String, Program)>) -> Result<Vec<Row>> {
    let mut rows: Vec<Row> = Vec::new();
    let mut known = BTreeMap::new();
    for (text, program) in listed {
        let (name, contender) = row_and_contender(&text).with_context(|| {
            format!(
                "the bench `{text}` is not called layer/workload/contender/param; see benches/README.md"
            )
        })?;
        let at = *known.entry(name.clone()).or_insert_with(|| {
            let entries = Vec::new();
            rows.push(Row { name, entries });
            rows.len() - 1
        });
        let entries = &mut rows[at].entries;
        ensure!(
            entries.iter().all(|e| e.contender != contender),
            "there are two benches called `{text}`; rename one"
        );
        entries.push(Entry::new(contender, &text, &program));
    }
    for row in &mut rows {
        let (layer, all) = (row.layer().to_owned(), row.entries.len());
        // A stable sort: ours, then the others, both as listed.
        row.entries.sort_by_key(|e| !is_ours(&layer, &e.contender));
        let ours = row.entries.iter();
        let ours = ours.filter(|e| is_ours(&layer, &e.contender)).count();
        let (name, list) = (&row.name, "the list in xtask/src/bench/contenders.rs");
        ensure!(
            ours > 0,
            "no contender of row {name} is known as ours; add the contender to {list}"
        );
        ensure!(
            ours < all || is_alone(name),
            "row {name} has no peer; give it one, or add it to {list}"
        );
    }
    Ok(rows)
}

/// The rows that are asked for, with the contenders that are.
pub(super) fn select(mut rows: Vec<Row>, selection: &Selection) -> Result<Vec<Row>> {
    let layers = &selection.layers;
    rows.retain(|row| layers.is_empty() || layers.iter().any(|layer| layer == row.layer()));
    if let Some(filter) = &selection.filter {
        let workload = |row: &Row| Some(row.name.rsplit_once('/')?.0.to_owned());
        let known: BTreeSet<_> = rows.iter().filter_map(workload).collect();
        let known = Vec::from_iter(known).join(", ");
        rows.retain(|row| {
            filter.is_match(&row.name) || row.entries.iter().any(|e| filter.is_match(&e.id))
        });
        ensure!(
            !rows.is_empty(),
            "no row matches `{filter}`; there are rows of {known}"
        );
    }
    let mut known = BTreeSet::new();
    for row in &mut rows {
        let layer = row.layer().to_owned();
        row.entries.retain(|Entry { contender, .. }| {
            is_ours(&layer, contender) || {
                known.insert(contender.clone());
                selection.peers.is_empty() || selection.peers.contains(contender)
            }
        });
    }
    for peer in &selection.peers {
        ensure!(
            known.contains(peer),
            "no selected row has a peer called `{peer}`; there are {}",
            Vec::from_iter(known).join(", ")
        );
    }
    // One that lost its peers is not comparable.
    rows.retain(|row| !pairs(row).is_empty() || is_alone(&row.name));
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::{Regex, Result, Row, Selection, group, pairs, select};
    use crate::measure::criterion::Program;

    fn grouped(ids: &str) -> Result<Vec<Row>> {
        let ids = ids.split_whitespace();
        group(ids.map(|id| (id.to_owned(), Program::test())).collect())
    }

    fn rows() -> Vec<Row> {
        let ids = "queue/push_pop/crossbeam/64 queue/push_pop/ring/64 \
                   queue/steal/ring/64-t2 queue/steal/st3/64-t2 \
                   local/spawn_one/local/1 local/spawn_one/static_local/1 local/spawn_one/async_executor/1 \
                   local/spawn_one/static_async_executor/1 local/spawn_one/tokio/1";
        grouped(ids).expect("well-formed")
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
            ("queue/push", "layer/workload/contender/param"),
            ("queue/a/ring/1 queue/a/ring/1", "two benches"),
            ("queue/a/st3/1", "as ours"),
            ("queue/a/ring/1", "no peer"),
        ] {
            let error = grouped(ids).expect_err("malformed").to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    fn selection(layer: &str, filter: &str, peer: &str) -> Selection {
        let listed = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        Selection {
            layers: listed(layer),
            filter: (!filter.is_empty()).then(|| Regex::new(filter).expect("a pattern")),
            peers: listed(peer),
        }
    }

    #[test]
    fn rows_are_selected_by_layer_filter_and_peer() {
        for (selection, wanted) in [
            (
                selection("queue", "", ""),
                "queue/push_pop/64 queue/steal/64-t2",
            ),
            (selection("", "steal/ring", ""), "queue/steal/64-t2"),
            (selection("", "", "tokio"), "local/spawn_one/1"),
        ] {
            let selected = select(rows(), &selection).expect("there are some");
            let names = selected.iter().map(|row| row.name.as_str());
            assert_eq!(names.collect::<Vec<_>>().join(" "), wanted);
            let both = if wanted.starts_with("local") { 2 } else { 1 };
            assert_eq!(pairs(&selected[0]).len(), both);
        }
    }

    #[test]
    fn nothing_selected_is_an_error_with_hints() {
        for (selection, hint) in [
            (selection("", "puch_pop", ""), "queue/push_pop"),
            (selection("", "", "rayon"), "crossbeam"),
            (selection("queue", "", "tokio"), "crossbeam"),
        ] {
            let error = select(rows(), &selection)
                .expect_err("there is none")
                .to_string();
            assert!(error.contains(hint), "{error}");
        }
    }
}
