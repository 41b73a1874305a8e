//! The tables of `loom-tests/README.md`: each model, what it shows, its mutants, and what a run came to.
//!
//! What the sources say is read anew each time, and a test compares it with the page. `cargo xtask loom --write` renews what a
//! run measures.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result};

use super::sweep::list;
use crate::generated::{self, cell};
use crate::models::described::{self, Described};
use crate::models::mutants::Mutant;
use crate::models::{Explored, LOOM, Times, layers};
use crate::table;

pub(crate) const README: &str = "loom-tests/README.md";
const COMMAND: &str = "cargo xtask loom --mutants --write";

/// What a run of a model measures: threads, schedules, seconds.
type Measured = [String; 3];

/// In place of what no run has measured yet.
const UNKNOWN: &str = "–";

/// The models of the sources, and the tables beside them.
struct Sources {
    models: Vec<Described>,
    mutants: Vec<Mutant>,
    orderings: Vec<list::Row>,
}

/// Renews the tables after a run of all models. `origin` says when, of what and where.
pub(super) fn write(
    root: &Path,
    origin: &str,
    times: &Times,
    explored: &HashMap<String, Explored>,
) -> Result<()> {
    let measured = |model: &Described| {
        let Explored { schedules, threads } = explored.get(&model.title)?;
        let seconds = times.get(&model.title)?.as_secs_f64();
        Some([
            threads.to_string(),
            schedules.to_string(),
            format!("{seconds:.1}"),
        ])
    };
    let part = Sources::read(root)?.part(origin, measured);
    generated::renew(root, README, COMMAND, &part)
}

/// Renews what the sources say, and keeps what was measured.
pub(crate) fn renew(root: &Path) -> Result<()> {
    let page = fs_err::read_to_string(root.join(README))?;
    generated::renew(root, README, COMMAND, &renewed(root, &page)?)
}

/// The part of the page as it should be, with what it has measured.
fn renewed(root: &Path, page: &str) -> Result<String> {
    let old = generated::part(page).context("the page has no generated part")?;
    let origin = old.lines().next().unwrap_or_default();
    let rows = rows(old);
    let measured = |model: &Described| rows.get(&link(model)).cloned();
    Ok(Sources::read(root)?.part(origin, measured))
}

/// How many schedules the run of the page explored.
pub(crate) fn schedules(page: &str) -> usize {
    let rows = generated::part(page).map(rows).unwrap_or_default();
    let schedules = rows
        .values()
        .filter_map(|[_, schedules, _]| schedules.parse::<usize>().ok());
    schedules.sum()
}

/// What a run has measured of each model, by the first cell of its row.
fn rows(part: &str) -> HashMap<String, Measured> {
    let rows = part.lines().filter_map(|line| {
        let cells: Vec<&str> = line.strip_prefix("| ")?.split(" | ").collect();
        let [model, _, threads, schedules, seconds, _] = cells[..] else {
            return None;
        };
        let measured = [threads, schedules, seconds].map(str::to_owned);
        Some((model.to_owned(), measured))
    });
    rows.collect()
}

/// The first cell of a model's row.
fn link(model: &Described) -> String {
    let file = model.file.trim_start_matches("loom-tests/");
    format!("[`{}`]({file})", model.test)
}

impl Sources {
    fn read(root: &Path) -> Result<Self> {
        Ok(Self {
            models: described::all(root)?,
            mutants: table::load(root, LOOM.mutants)?,
            orderings: list::load(root)?,
        })
    }

    /// The generated part.
    fn part(&self, origin: &str, measured: impl Fn(&Described) -> Option<Measured>) -> String {
        let (models, mutants) = (self.models.len(), self.mutants.len());
        let mut part = format!("{origin}\n\n{models} models catch {mutants} planted mutants.");
        for layer in layers::NAMES {
            let mut models = self
                .models
                .iter()
                .filter(|m| m.layer() == Some(layer))
                .peekable();
            if models.peek().is_none() {
                continue;
            }
            part += &format!("\n\n### {layer}\n\n");
            part += "| model | what it shows | threads | schedules | seconds | mutants |\n";
            part += "|:--|:--|--:|--:|--:|:--|";
            for model in models {
                let [threads, schedules, seconds] =
                    measured(model).unwrap_or_else(|| [UNKNOWN; 3].map(str::to_owned));
                let (link, shows) = (link(model), cell(&model.shows));
                let mutants = self.mutants_of(model).join(", ");
                part += &format!(
                    "\n| {link} | {shows} | {threads} | {schedules} | {seconds} | {mutants} |"
                );
            }
        }
        part + &self.not_reached()
    }

    fn mutants_of(&self, model: &Described) -> Vec<String> {
        let mutants = self.mutants.iter();
        let own = mutants.filter(|mutant| mutant.means(model.layer(), &model.title));
        own.map(|mutant| format!("`{}`", mutant.name)).collect()
    }

    fn not_reached(&self) -> String {
        let mut section = "\n\n## Not modelled\n\nNo model reaches these orderings. Each row of `orderings.toml` says why.\n\n".to_owned();
        section += "| file | function | access | reason |\n|:--|:--|:--|:--|";
        for row in self.orderings.iter().filter(|row| row.is_not_reached()) {
            let (file, function, access) = (&row.file, &row.function, &row.access);
            let reason = cell(&row.reason);
            section +=
                &format!("\n| [`{file}`](../{file}) | `{function}` | `{access}` | {reason} |");
        }
        section
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{README, Sources, renewed, rows, schedules};
    use crate::generated;

    const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

    #[test]
    fn every_model_says_what_it_shows_and_every_mutant_has_one() {
        let sources = Sources::read(Path::new(ROOT)).expect("the sources are there");
        let silent = sources.models.iter().filter(|model| model.shows.is_empty());
        let silent: Vec<&String> = silent.map(|model| &model.title).collect();
        assert!(silent.is_empty(), "models without a comment: {silent:?}");
        let strange = sources
            .models
            .iter()
            .filter(|model| model.layer().is_none());
        assert_eq!(strange.count(), 0, "models of no layer");
        let mutants = sources
            .models
            .iter()
            .map(|model| sources.mutants_of(model).len());
        assert_eq!(mutants.sum::<usize>(), sources.mutants.len());
    }

    #[test]
    fn the_page_has_the_models_and_mutants_of_the_sources() {
        let page = fs_err::read_to_string(Path::new(ROOT).join(README)).expect("it is there");
        let wanted = renewed(Path::new(ROOT), &page).expect("a generated part");
        let same = generated::part(&page) == Some(wanted.as_str());
        assert!(same, "`cargo xtask trust` renews {README}");
    }

    #[test]
    fn what_was_measured_is_read_from_the_page() {
        let page = "<!-- generated by `x`, do not edit -->\n| model | what it shows | threads | schedules | seconds | mutants |\n\
                    | [`a`](tests/a.rs) | A \\| b. | 3 | 40 | 0.1 | `m`, `n` |\n| [`b`](tests/a.rs) | C. | – | – | – |  |\n\
                    <!-- end of what is generated -->\n";
        assert_eq!(schedules(page), 40);
        let rows = rows(page);
        assert_eq!(rows["[`a`](tests/a.rs)"], ["3", "40", "0.1"]);
        assert_eq!(rows["[`b`](tests/a.rs)"], ["–", "–", "–"]);
    }
}
