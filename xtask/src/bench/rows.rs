//! The rows: what the bench programs have, by what contenders have in common.

use std::collections::BTreeMap;

use anyhow::{Result, bail, ensure};
use regex_lite::Regex;

use super::contenders::{is_alone, is_ours, opponents};
use crate::measure::criterion::Program;
use crate::measure::id::{self, Id};

/// Similar rows that an error names.
const NEAR: usize = 5;

/// One contender's bench of a row.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) contender: String,
    pub(crate) program: Program,
}

/// A workload with a parameter, and everybody who runs it: ours first.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) layer: String,
    pub(crate) workload: String,
    pub(crate) param: String,
    pub(crate) entries: Vec<Entry>,
}

/// What is asked for.
#[derive(Debug, Default)]
pub(super) struct Selection {
    pub(super) layers: Vec<String>,
    pub(super) filter: Option<Regex>,
    pub(super) peers: Vec<String>,
    pub(super) ours: Vec<String>,
}

impl Row {
    /// `layer/workload/param`.
    pub(crate) fn name(&self) -> String {
        format!("{}/{}/{}", self.layer, self.workload, self.param)
    }

    /// The id of one of its benches.
    pub(crate) fn id(&self, entry: &Entry) -> String {
        let Self {
            layer,
            workload,
            param,
            ..
        } = self;
        format!("{layer}/{workload}/{}/{param}", entry.contender)
    }

    pub(crate) fn threads(&self) -> Option<usize> {
        id::threads(&self.name())
    }

    /// Each of ours with each peer that it is held against, as indexes of entries.
    pub(crate) fn pairs(&self) -> Vec<(usize, usize)> {
        let is_ours = |entry: &Entry| is_ours(&self.layer, &entry.contender);
        let peers: Vec<&str> = (self.entries.iter())
            .filter(|entry| !is_ours(entry))
            .map(|entry| entry.contender.as_str())
            .collect();
        let at = |name: &str| self.entries.iter().position(|e| e.contender == name);
        let mut pairs = Vec::new();
        for (ours, entry) in self.entries.iter().enumerate() {
            if is_ours(entry) {
                let opponents = opponents(&entry.contender, &peers);
                pairs.extend(
                    opponents
                        .into_iter()
                        .filter_map(at)
                        .map(|peer| (ours, peer)),
                );
            }
        }
        pairs
    }
}

/// Groups what the programs list into rows.
///
/// # Errors
///
/// If an id has another form, or comes twice, or a row has nobody of ours or nobody else.
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
            rows.push(Row {
                layer: id.layer.clone(),
                workload: id.workload.clone(),
                param: id.param.clone(),
                entries: Vec::new(),
            });
            rows.len() - 1
        });
        let row = &mut rows[at];
        ensure!(
            row.entries.iter().all(|e| e.contender != id.contender),
            "there are two benches called `{text}`; rename one"
        );
        row.entries.push(Entry {
            contender: id.contender,
            program,
        });
    }
    for row in &mut rows {
        let layer = row.layer.clone();
        // A stable sort: ours, then the others, both as listed.
        row.entries
            .sort_by_key(|entry| !is_ours(&layer, &entry.contender));
        check(row)?;
    }
    Ok(rows)
}

fn check(row: &Row) -> Result<()> {
    let ours = row
        .entries
        .iter()
        .filter(|e| is_ours(&row.layer, &e.contender));
    let (ours, all) = (ours.count(), row.entries.len());
    ensure!(
        ours > 0,
        "nobody in row {} is known as ours; add the contender to the list in xtask/src/bench/contenders.rs",
        row.name()
    );
    ensure!(
        ours < all || is_alone(&row.name()),
        "row {} has no peer; give it one, or add it to the list in xtask/src/bench/contenders.rs",
        row.name()
    );
    Ok(())
}

/// The rows that are asked for, with the contenders that are.
///
/// # Errors
///
/// If there are none; the error names similar ones.
pub(super) fn select(rows: Vec<Row>, selection: &Selection) -> Result<Vec<Row>> {
    let in_layers: Vec<Row> = rows
        .into_iter()
        .filter(|row| selection.layers.is_empty() || selection.layers.contains(&row.layer))
        .collect();
    let matches = |row: &Row| match &selection.filter {
        None => true,
        Some(filter) => {
            filter.is_match(&row.name()) || row.entries.iter().any(|e| filter.is_match(&row.id(e)))
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
    let contenders = |rows: &[Row], ours: bool| -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for row in rows {
            for entry in &row.entries {
                let new = is_ours(&row.layer, &entry.contender) == ours
                    && !names.contains(&entry.contender);
                if new {
                    names.push(entry.contender.clone());
                }
            }
        }
        names
    };
    for (wanted, ours, what) in [
        (&selection.peers, false, "peer"),
        (&selection.ours, true, "contender of ours"),
    ] {
        let known = contenders(&matching, ours);
        for name in wanted {
            ensure!(
                known.contains(name),
                "no selected row has a {what} called `{name}`; there are {}",
                known.join(", ")
            );
        }
    }
    let keep = |row: &Row, entry: &Entry| {
        let wanted = if is_ours(&row.layer, &entry.contender) {
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
        .filter(|row| !row.pairs().is_empty() || is_alone(&row.name()) && !row.entries.is_empty())
        .collect();
    ensure!(
        !rows.is_empty(),
        "no selected row has both sides; leave out --peer or --ours"
    );
    Ok(rows)
}

/// The rows most similar to `wanted`, a line each.
fn near(wanted: &str, rows: &[Row]) -> String {
    let mut names: Vec<(usize, String)> = (rows.iter().map(Row::name))
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
    use std::path::PathBuf;

    use regex_lite::Regex;

    use super::{Row, Selection, group, select};
    use crate::measure::criterion::Program;

    fn listed(ids: &[&str]) -> Vec<(String, Program)> {
        let program = Program {
            path: PathBuf::from("bench"),
            side: "this tree".to_owned(),
        };
        let pair = |id: &&str| ((*id).to_owned(), program.clone());
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
        rows.iter().map(Row::name).collect()
    }

    #[test]
    fn ours_come_first_and_meet_their_peers() {
        let rows = rows();
        assert_eq!(rows[0].entries[0].contender, "ring");
        assert_eq!(rows[0].pairs(), [(0, 1)]);
        assert_eq!(rows[2].pairs(), [(0, 2), (0, 4), (1, 3), (1, 4)]);
        assert_eq!(rows[1].threads(), Some(2));
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
        assert_eq!(selected[0].pairs(), [(0, 2), (1, 2)]);
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
