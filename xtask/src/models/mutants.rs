//! Mutants: with each, one line is weakened when a model starts, and that model must fail.

use std::path::Path;

use anyhow::{Result, bail, ensure};
use serde::Deserialize;

use super::{Checker, Model, Verdict};
use crate::progress::run_parallel;
use crate::table::{Row, load};

/// A deliberately weakened line and the model that must notice. A mutant has a row for each model that must fail.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mutant {
    /// The argument of `weakened!`.
    pub(crate) name: String,
    /// The layer whose models are searched; not for models of the whole scheduler.
    pub(crate) layer: Option<String>,
    /// The test that must fail.
    pub(crate) model: String,
}

impl Row for Mutant {
    const NAME: &'static str = "mutant";

    fn keys(&self) -> Vec<String> {
        vec![format!("mutant `{}` with `{}`", self.name, self.model)]
    }
}

impl Mutant {
    /// Whether the model with this title, of this layer, is the one that must fail.
    pub(crate) fn means(&self, layer: Option<&str>, title: &str) -> bool {
        let model = &self.model;
        layer == self.layer.as_deref() && (title == model || title.ends_with(&format!("::{model}")))
    }

    fn find(&self, models: &[Model]) -> Result<Model> {
        let Self { name, layer, model } = self;
        let found = models.iter().filter(|m| self.means(m.layer(), &m.title()));
        match found.collect::<Vec<_>>()[..] {
            [one] => Ok(one.clone()),
            [] => bail!("mutant `{name}`: layer {layer:?} has no model `{model}`"),
            _ => bail!("mutant `{name}`: several models `{model}`; name the file: `FILE::{model}`"),
        }
    }
}

impl Checker {
    /// Reads the table of the workspace at `root`, chooses mutants and finds their models.
    pub(crate) fn plan(
        &self,
        root: &Path,
        models: &[Model],
        chooses: impl Fn(&Mutant) -> bool,
    ) -> Result<Vec<(Mutant, Model)>> {
        let chosen = load::<Mutant>(root, self.mutants)?
            .into_iter()
            .filter(chooses);
        chosen
            .map(|mutant| mutant.find(models).map(|model| (mutant, model)))
            .collect()
    }

    /// Runs the model of every mutant by `run`, which is told the mutant's name; fails unless each was caught.
    pub(crate) fn catch(
        &self,
        planned: &[(Mutant, Model)],
        run: impl Fn(&str, &Model) -> Result<Verdict> + Sync,
    ) -> Result<()> {
        ensure!(
            !planned.is_empty(),
            "no mutant matches; see {}",
            self.mutants
        );
        let title = format!("{} mutants", self.name);
        let shown =
            |(mutant, model): &(Mutant, Model)| format!("{}, {}", mutant.name, model.title());
        let caught = |(mutant, model): &(Mutant, Model)| run(&mutant.name, model)?.caught();
        run_parallel(&title, planned, shown, caught).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::{Model, Mutant};
    use crate::build::Binary;

    #[test]
    fn one_model_is_found_by_its_name() {
        let models = [
            "queue_ring steal",
            "queue_inbox push::one",
            "spawn one",
            "queue_ring push::one",
        ];
        let models = models.map(|title| {
            let (name, test) = title.split_once(' ').expect("a file and a test");
            let (name, path, test) = (name.to_owned(), name.into(), test.to_owned());
            Model {
                binary: Binary { name, path },
                test,
            }
        });
        let cases = [
            (Some("queue"), "steal", "queue_ring::steal"),
            (None, "one", "spawn::one"),
            (Some("queue"), "teal", "none"),
            (None, "steal", "none"),
            // Two of a name are told apart by the file.
            (Some("queue"), "one", "none"),
            (
                Some("queue"),
                "queue_inbox::push::one",
                "queue_inbox::push::one",
            ),
        ];
        for (layer, model, wanted) in cases {
            let (layer, model) = (layer.map(str::to_owned), model.to_owned());
            let found = Mutant {
                name: String::new(),
                layer,
                model,
            }
            .find(&models);
            assert_eq!(
                found.map_or("none".to_owned(), |found| found.title()),
                wanted
            );
        }
    }
}
