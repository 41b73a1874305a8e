//! The programs of a side: which are wanted, and those that were built of the same inputs before.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::measure::build::{self, Executable, INSTRUCTION_PREFIX};

/// Of a set: what is in it.
const LIST: &str = "programs.json";

/// A bench program that was built.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Built {
    pub(super) name: String,
    pub(super) path: PathBuf,
    pub(super) hash: String,
}

impl Built {
    pub(super) fn counts_instructions(&self) -> bool {
        build::counts_instructions(&self.name)
    }
}

/// The programs that are asked for.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    /// Empty: of all layers.
    pub(super) layers: Vec<String>,
    pub(super) timed: bool,
    pub(super) counted: bool,
}

impl Wanted {
    /// Of the programs those that may have a bench that is asked for. The name of a program that counts is a layer's.
    /// One that is timed is called after its layer, or begins with that and `_`; where a layer has none, all are taken.
    pub(super) fn of(&self, programs: &[String]) -> Vec<String> {
        let belongs = |program: &str, layer: &String| {
            let rest = program.strip_prefix(layer.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
        };
        let of_layers = |program: &str| self.layers.iter().any(|layer| belongs(program, layer));
        let (counting, timed): (Vec<&String>, Vec<&String>) =
            (programs.iter()).partition(|name| build::counts_instructions(name));
        let has_program = |layer: &String| timed.iter().any(|program| belongs(program, layer));
        let all = self.layers.is_empty();
        let all_timed = all || !self.layers.iter().all(has_program);
        let timed = timed.into_iter();
        let timed = timed.filter(|name| self.timed && (all_timed || of_layers(name)));
        let bare = |name: &str| name.strip_prefix(INSTRUCTION_PREFIX).map(str::to_owned);
        let counted = |name: &&String| {
            self.counted && (all || bare(name).is_some_and(|name| self.layers.contains(&name)))
        };
        let counting = counting.into_iter().filter(counted);
        timed.chain(counting).cloned().collect()
    }
}

/// Programs that were built of the same inputs, in a directory of theirs.
pub(super) struct Set {
    pub(super) dir: PathBuf,
    list: List,
}

/// What `programs.json` says.
#[derive(Default, Serialize, Deserialize)]
struct List {
    /// The programs that the tree has; unknown where all of them were built.
    targets: Option<Vec<String>>,
    programs: Vec<Built>,
}

impl Set {
    /// What is kept in the directory: nothing, unless all is as it was written.
    pub(super) fn of(dir: PathBuf) -> Self {
        let text = fs::read_to_string(dir.join(LIST)).unwrap_or_default();
        let list: List = serde_json::from_str(&text).unwrap_or_default();
        let whole = |p: &Built| build::hash(&p.path).is_ok_and(|hash| hash == p.hash);
        let list = if list.programs.iter().all(whole) {
            list
        } else {
            List::default()
        };
        Self { dir, list }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.list
            .programs
            .iter()
            .any(|program| program.name == name)
    }

    /// Those that are wanted, if all of them are kept.
    pub(super) fn programs(&self, wanted: &Wanted) -> Option<Vec<Built>> {
        let Some(targets) = &self.list.targets else {
            return (!self.list.programs.is_empty()).then(|| self.list.programs.clone());
        };
        let wanted = wanted.of(targets);
        let kept = self.list.programs.iter();
        let kept: Vec<Built> = kept.filter(|p| wanted.contains(&p.name)).cloned().collect();
        (kept.len() == wanted.len()).then_some(kept)
    }

    /// Adds programs.
    pub(super) fn with(
        mut self,
        targets: Option<Vec<String>>,
        built: Vec<Executable>,
    ) -> Result<Self> {
        // A directory without a list is not looked at: whatever stops this leaves no half of a set.
        let dir = &self.dir;
        fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
        self.list.targets = targets;
        for executable in built {
            let path = dir.join(&executable.name);
            fs::copy(&executable.path, &path)
                .with_context(|| format!("cannot copy a program to {}", path.display()))?;
            self.list.programs.push(Built {
                name: executable.name,
                hash: build::hash(&path)?,
                path,
            });
        }
        let text = serde_json::to_string_pretty(&self.list)?;
        crate::report::write(&dir.join(LIST), &text)?;
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::Wanted;

    #[test]
    fn of_a_layer_its_own_programs_are_built() {
        let tree = ["queue", "queue_long", "local", "instr_queue", "instr_local"];
        let tree = tree.map(str::to_owned);
        let of = |layers: &[&str], timed, counted| {
            let layers = layers.iter().map(|layer| (*layer).to_owned()).collect();
            let wanted = Wanted {
                layers,
                timed,
                counted,
            };
            wanted.of(&tree).join(" ")
        };
        assert_eq!(of(&["queue"], true, false), "queue queue_long");
        assert_eq!(of(&["queue"], false, true), "instr_queue");
        assert_eq!(of(&["local"], true, true), "local instr_local");
        assert_eq!(of(&[], true, false), "queue queue_long local");
        // Benches of this layer may be in any program that is timed.
        assert_eq!(of(&["alpha"], true, true), "queue queue_long local");
        assert_eq!(of(&["alpha", "local"], false, true), "instr_local");
    }
}
