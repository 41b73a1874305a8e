//! Mutants: each is a build in which one line is weakened, and one model must fail in it.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use super::{Checker, Model, layers};
use crate::build::Build;
use crate::planted::{self, Fault, Outcome};

/// A deliberately weakened line and the model that must notice.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mutant {
    /// The value of `cfg(terrace_weaken)`.
    pub(crate) name: String,
    /// The layer whose models are searched; not for models of the whole scheduler.
    pub(crate) layer: Option<String>,
    /// The test that must fail.
    pub(crate) model: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    #[serde(default)]
    mutant: Vec<Mutant>,
}

/// Reads the table `name` of the workspace at `root`.
pub(crate) fn load(root: &Path, name: &str) -> Result<Vec<Mutant>> {
    let text = std::fs::read_to_string(root.join(name));
    let text = text.with_context(|| format!("cannot read {name}"))?;
    parse(&text).with_context(|| format!("{name} is not a table of mutants"))
}

/// Reads a table: rows `[[mutant]]` of `name`, `layer`, `model`. A mutant has a row for each model that must fail.
pub(crate) fn parse(text: &str) -> Result<Vec<Mutant>> {
    let table: Table = toml::from_str(text)?;
    let mut names = std::collections::HashSet::new();
    for mutant in &table.mutant {
        let Mutant { name, layer, model } = mutant;
        let plain = |s: &str| {
            !s.is_empty()
                && s.chars()
                    .all(|c| c.is_ascii_alphanumeric() || "-_:".contains(c))
        };
        ensure!(
            plain(name),
            "{name:?} is no name: use letters, digits, `-`, `_`"
        );
        ensure!(plain(model), "mutant `{name}`: {model:?} is no test name");
        if let Some(layer) = layer {
            ensure!(
                layers::NAMES.contains(&layer.as_str()),
                "mutant `{name}`: no layer `{layer}`; there are {}",
                layers::NAMES.join(", ")
            );
        }
        ensure!(
            names.insert((name, model)),
            "mutant `{name}` has two rows for `{model}`"
        );
    }
    Ok(table.mutant)
}

/// A mutant and its model.
pub(crate) struct Planned {
    mutant: Mutant,
    model: Model,
}

impl Planned {
    /// Whether `model` is this mutant's.
    pub(crate) fn names(&self, model: &Model) -> bool {
        self.model.title() == model.title()
    }
}

impl Fault for Planned {
    fn name(&self) -> &str {
        &self.mutant.name
    }

    fn net(&self) -> String {
        self.model.title()
    }
}

fn find<'m>(mutant: &Mutant, models: &'m [Model]) -> Result<&'m Model> {
    let Mutant { name, layer, model } = mutant;
    let inside = format!("::{model}");
    let place = layer.as_ref().map(|layer| format!(" in layer {layer}"));
    let place = place.unwrap_or_default();
    let found: Vec<&Model> = models
        .iter()
        .filter(|m| m.layer() == layer.as_deref())
        .filter(|m| m.title() == *model || m.title().ends_with(&inside))
        .collect();
    match found[..] {
        [one] => Ok(one),
        [] => bail!("mutant `{name}`: no model `{model}`{place}"),
        _ => bail!(
            "mutant `{name}`: several models `{model}`{place}; name the file: `FILE::{model}`"
        ),
    }
}

impl Checker {
    /// Reads the table of the workspace at `root`, chooses mutants and finds their models.
    pub(crate) fn plan(
        &self,
        root: &Path,
        models: &[Model],
        chooses: impl Fn(&Mutant) -> bool,
    ) -> Result<Vec<Planned>> {
        let chosen = load(root, self.mutants)?.into_iter().filter(chooses);
        let plan = |mutant: Mutant| {
            let model = find(&mutant, models)?.clone();
            Ok(Planned { mutant, model })
        };
        chosen.map(plan).collect()
    }

    /// Builds every mutant and runs its model by `run`, which is told the mutant's name; prints a table, fails unless each was caught.
    pub(crate) fn catch(
        &self,
        build: &Build,
        planned: &[Planned],
        run: impl Fn(&str, &Model) -> Result<Outcome> + Sync,
    ) -> Result<()> {
        ensure!(
            !planned.is_empty(),
            "no mutant matches; see {}",
            self.mutants
        );
        planted::try_all(&format!("{} mutants", self.name), planned, |plan| {
            let name = &plan.mutant.name;
            let Model { binary, test } = &plan.model;
            let planted = planted::plant(build, name)?;
            run(name, &self.model(&planted, (&binary.name, test))?)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Model, Mutant, find, parse};
    use crate::build::Binary;

    fn model(file: &str, test: &str) -> Model {
        Model {
            binary: Binary {
                name: file.to_owned(),
                path: file.into(),
            },
            test: test.to_owned(),
        }
    }

    fn mutant(layer: Option<&str>, model: &str) -> Mutant {
        Mutant {
            name: "m".to_owned(),
            layer: layer.map(str::to_owned),
            model: model.to_owned(),
        }
    }

    #[test]
    fn one_model_is_found_by_its_name() {
        let models = [
            model("queue_ring", "steal"),
            model("queue_inbox", "push::one"),
            model("spawn", "one"),
        ];
        let found = |layer, name: &str| {
            let found = find(&mutant(layer, name), &models).expect("there is one");
            found.title()
        };
        assert_eq!(found(Some("queue"), "steal"), "queue_ring::steal");
        assert_eq!(found(Some("queue"), "one"), "queue_inbox::push::one");
        assert_eq!(found(None, "one"), "spawn::one");
        assert!(find(&mutant(Some("queue"), "teal"), &models).is_err());
        assert!(find(&mutant(None, "steal"), &models).is_err());
    }

    #[test]
    fn two_of_a_name_are_told_apart_by_the_file() {
        let models = [model("queue_ring", "steal"), model("queue_inbox", "steal")];
        let queue = Some("queue");
        assert!(find(&mutant(queue, "steal"), &models).is_err());
        let found = find(&mutant(queue, "queue_inbox::steal"), &models).expect("there is one");
        assert_eq!(found.binary.name, "queue_inbox");
    }

    fn row(name: &str, layer: &str, model: &str) -> String {
        format!("[[mutant]]\nname = \"{name}\"\nlayer = \"{layer}\"\nmodel = \"{model}\"\n")
    }

    #[test]
    fn rows_are_read_in_order() {
        let text = row("queue-a", "queue", "m::steal") + &row("park-b", "park", "wake");
        let rows = parse(&text).expect("a valid table");
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0].name, "queue-a");
        assert_eq!(rows[1].model, "wake");
        assert!(parse("").expect("an empty table").is_empty());
    }

    #[test]
    fn bad_rows_are_named() {
        let message = |text: &str| format!("{:#}", parse(text).expect_err("a bad table"));
        assert!(message(&(row("a", "queue", "m") + &row("a", "queue", "m"))).contains("two rows"));
        let both = row("a", "queue", "m") + &row("a", "queue", "n");
        assert_eq!(parse(&both).expect("two models notice it").len(), 2);
        assert!(message(&row("a", "cellar", "m")).contains("no layer `cellar`"));
        assert!(message(&row("a b", "queue", "m")).contains("is no name"));
        assert!(message(&row("a", "queue", "")).contains("no test name"));
        assert!(message("[[mutant]]\nname = \"a\"\n").contains("model"));
        assert!(message(&(row("a", "queue", "m") + "why = 1\n")).contains("why"));
    }
}
