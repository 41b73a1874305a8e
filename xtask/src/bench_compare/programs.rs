//! The programs of a side: which are wanted, and those that were built of the same inputs before.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::git;
use crate::measure::criterion::Program;
use crate::measure::instr::PREFIX;

/// Of a set: what is in it.
const LIST: &str = "programs.json";

/// A bench program that was built, and the hash of its bytes.
#[derive(Clone, Debug)]
pub(super) struct Built {
    pub(super) program: Program,
    pub(super) hash: String,
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
        let belongs = |program: &str, layer: &str| {
            let rest = program.strip_prefix(layer);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
        };
        let timed = || programs.iter().filter(|name| !name.starts_with(PREFIX));
        let has_program = |layer: &String| timed().any(|program| belongs(program, layer));
        let all = self.layers.is_empty();
        let all_timed = all || !self.layers.iter().all(has_program);
        let wanted = |name: &&String| match name.strip_prefix(PREFIX) {
            Some(layer) => self.counted && (all || self.layers.iter().any(|l| l == layer)),
            None => self.timed && (all_timed || self.layers.iter().any(|l| belongs(name, l))),
        };
        programs.iter().filter(wanted).cloned().collect()
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
    /// The hashes of programs by their names.
    programs: BTreeMap<String, String>,
}

impl Set {
    /// What is kept in the directory: nothing, unless all is as it was written.
    pub(super) fn of(dir: PathBuf) -> Self {
        let text = fs::read_to_string(dir.join(LIST)).unwrap_or_default();
        let mut list: List = serde_json::from_str(&text).unwrap_or_default();
        let mut programs = list.programs.iter();
        let whole =
            programs.all(|(name, hash)| git::hash(&dir.join(name)).is_ok_and(|now| now == *hash));
        if !whole {
            list = List::default();
        }
        Self { dir, list }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.list.programs.contains_key(name)
    }

    /// Those that are wanted, if all of them are kept; `side` is for errors.
    pub(super) fn programs(&self, wanted: &Wanted, side: &str) -> Option<Vec<Built>> {
        let kept = &self.list.programs;
        let names = match &self.list.targets {
            Some(targets) => wanted.of(targets),
            None if kept.is_empty() => return None,
            None => kept.keys().cloned().collect(),
        };
        let built = |name: String| {
            let hash = kept.get(&name)?.clone();
            let program = Program {
                path: self.dir.join(&name),
                name,
                side: side.to_owned(),
            };
            Some(Built { program, hash })
        };
        names.into_iter().map(built).collect()
    }

    /// Adds programs.
    pub(super) fn with(
        mut self,
        targets: Option<Vec<String>>,
        built: Vec<Program>,
    ) -> Result<Self> {
        // A directory without a list is not looked at: whatever stops this leaves no half of a set.
        let dir = &self.dir;
        fs_err::create_dir_all(dir)?;
        self.list.targets = targets;
        for program in built {
            let path = dir.join(&program.name);
            fs::copy(&program.path, &path)
                .with_context(|| format!("cannot copy a program to {}", path.display()))?;
            self.list.programs.insert(program.name, git::hash(&path)?);
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
