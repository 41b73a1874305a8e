//! Mutants: with each, one line is weakened when a model starts, and that model must fail.

use std::path::Path;

use anyhow::{Result, bail, ensure};
use serde::Deserialize;

use super::{Checker, Model, layers};
use crate::planted::{self, Outcome};
use crate::table::{Row, is_plain, load};

/// A deliberately weakened line and the model that must notice. A mutant has a row for each model that must fail.
#[derive(Clone, Debug, Deserialize, PartialEq)]
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
        vec![format!(
            "mutant `{}` with model `{}`",
            self.name, self.model
        )]
    }

    fn check(&self) -> Result<()> {
        ensure!(
            is_plain(&self.name, "-_:"),
            "it has no name of letters, digits, `-`, `_`"
        );
        ensure!(is_plain(&self.model, "-_:"), "it names no test");
        let known = self
            .layer
            .as_ref()
            .is_none_or(|l| layers::NAMES.contains(&l.as_str()));
        ensure!(
            known,
            "there is no such layer, there are {}",
            layers::NAMES.join(", ")
        );
        Ok(())
    }
}

fn find(mutant: &Mutant, models: &[Model]) -> Result<Model> {
    let Mutant { name, layer, model } = mutant;
    let inside = format!("::{model}");
    let of_layer = models.iter().filter(|m| m.layer() == layer.as_deref());
    let found = of_layer.filter(|m| m.title() == *model || m.title().ends_with(&inside));
    let place = layer.as_deref().unwrap_or("none");
    match found.collect::<Vec<_>>()[..] {
        [one] => Ok(one.clone()),
        [] => bail!("mutant `{name}`: no model `{model}`, layer {place}"),
        _ => bail!("mutant `{name}`: several models `{model}`; name the file: `FILE::{model}`"),
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
        let chosen = load(root, self.mutants)?.into_iter().filter(chooses);
        let planned = chosen.map(|mutant| {
            let model = find(&mutant, models)?;
            Ok((mutant, model))
        });
        planned.collect()
    }

    /// Runs the model of every mutant by `run`, which is told the mutant's name; prints a table, fails unless each was caught.
    pub(crate) fn catch(
        &self,
        planned: &[(Mutant, Model)],
        run: impl Fn(&str, &Model) -> Result<Outcome> + Sync,
    ) -> Result<()> {
        ensure!(
            !planned.is_empty(),
            "no mutant matches; see {}",
            self.mutants
        );
        let title = format!("{} mutants", self.name);
        let shown = |(mutant, model): &(Mutant, Model)| [mutant.name.clone(), model.title()];
        planted::try_all(&title, planned, shown, |(mutant, model)| {
            run(&mutant.name, model)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Model, Mutant, find};
    use crate::build::Binary;
    use crate::table::mistakes;

    #[test]
    fn one_model_is_found_by_its_name() {
        let names = [
            ("queue_ring", "steal"),
            ("queue_inbox", "push::one"),
            ("spawn", "one"),
            ("queue_ring", "twice"),
            ("queue_inbox", "twice"),
        ];
        let models = names.map(|(file, test)| Model {
            binary: Binary {
                name: file.to_owned(),
                path: file.into(),
            },
            test: test.to_owned(),
        });
        let found = |layer: Option<&str>, model: &str| {
            let mutant = Mutant {
                name: "m".to_owned(),
                layer: layer.map(str::to_owned),
                model: model.to_owned(),
            };
            find(&mutant, &models).map_or("none".to_owned(), |model| model.title())
        };
        let queue = Some("queue");
        assert_eq!(found(queue, "steal"), "queue_ring::steal");
        assert_eq!(found(queue, "one"), "queue_inbox::push::one");
        assert_eq!(found(None, "one"), "spawn::one");
        assert_eq!(found(queue, "teal"), "none");
        assert_eq!(found(None, "steal"), "none");
        // Two of a name are told apart by the file.
        assert_eq!(found(queue, "twice"), "none");
        assert_eq!(found(queue, "queue_inbox::twice"), "queue_inbox::twice");
    }

    #[test]
    fn bad_rows_are_named() {
        let of = |rows: &[&str]| mistakes::<Mutant>("layer = \"queue\"", rows);
        let row = "name = \"queue-a\"\nmodel = \"m::steal\"";
        assert_eq!(of(&[]), "");
        assert_eq!(of(&[row, "name = \"queue-a\"\nmodel = \"wake\""]), "");
        assert!(of(&[row, row]).contains("two rows"));
        assert!(of(&["name = \"a b\"\nmodel = \"m\""]).contains("no name"));
        assert!(of(&["name = \"a\"\nmodel = \"\""]).contains("no test"));
        assert!(of(&["name = \"a\""]).contains("model"));
        assert!(of(&[&format!("{row}\nwhy = 1")]).contains("why"));
        let cellar = mistakes::<Mutant>("layer = \"cellar\"", &[row]);
        assert!(cellar.contains("no such layer"), "{cellar}");
    }
}
