//! The programs of a side: which are wanted, and those that were built of the same inputs before.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
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

/// Programs that were built of the same inputs, in a directory of theirs, whose list says this.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Set {
    #[serde(skip)]
    pub(super) dir: PathBuf,
    /// The programs that the tree has; unknown where all of them were built.
    targets: Option<Vec<String>>,
    /// The hashes of programs by their names.
    programs: BTreeMap<String, String>,
}

impl Set {
    /// What is kept in the directory: nothing, unless all is as it was written.
    pub(super) fn of(dir: PathBuf) -> Self {
        let text = fs::read_to_string(dir.join(LIST)).unwrap_or_default();
        let kept: Option<Self> = serde_json::from_str(&text).ok();
        let is_whole = |set: &Self| {
            let mut programs = set.programs.iter();
            programs.all(|(name, hash)| hash_of(&dir.join(name)).is_ok_and(|now| now == *hash))
        };
        let set = kept.filter(is_whole).unwrap_or_default();
        Self { dir, ..set }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.programs.contains_key(name)
    }

    /// Those that are wanted, if all of them are kept; `side` is for errors.
    pub(super) fn programs(&self, wanted: &Wanted, side: &str) -> Option<Vec<Built>> {
        let names = match &self.targets {
            Some(targets) => wanted.of(targets),
            None if self.programs.is_empty() => return None,
            None => self.programs.keys().cloned().collect(),
        };
        let built = |name: String| {
            let hash = self.programs.get(&name)?.clone();
            let program = Program {
                path: self.dir.join(&name),
                name,
                side: side.to_owned(),
                variables: Vec::new(),
            };
            Some(Built { program, hash })
        };
        names.into_iter().map(built).collect()
    }

    /// Adds programs.
    pub(super) fn add(&mut self, targets: Option<Vec<String>>, built: Vec<Program>) -> Result<()> {
        // A directory without a list is not looked at: whatever stops this leaves no half of a set.
        fs_err::create_dir_all(&self.dir)?;
        self.targets = targets;
        for program in built {
            let path = self.dir.join(&program.name);
            fs_err::copy(&program.path, &path)?;
            self.programs.insert(program.name, hash_of(&path)?);
        }
        let text = serde_json::to_string_pretty(&self)?;
        crate::report::write(&self.dir.join(LIST), &text)
    }
}

/// A hash of the program's bytes.
fn hash_of(program: &Path) -> Result<String> {
    git::hash(&fs_err::read(program)?)
}

#[cfg(test)]
mod tests {
    use super::Wanted;

    #[test]
    fn of_a_layer_its_own_programs_are_built() {
        let tree = ["queue", "queue_long", "local", "instr_queue", "instr_local"];
        let tree = tree.map(str::to_owned);
        for (layers, timed, counted, expected) in [
            (&["queue"][..], true, false, "queue queue_long"),
            (&["queue"], false, true, "instr_queue"),
            (&["local"], true, true, "local instr_local"),
            (&[], true, false, "queue queue_long local"),
            // Benches of this layer may be in any program that is timed.
            (&["alpha"], true, true, "queue queue_long local"),
            (&["alpha", "local"], false, true, "instr_local"),
        ] {
            let wanted = Wanted {
                layers: layers.iter().map(|layer| (*layer).to_owned()).collect(),
                timed,
                counted,
            };
            assert_eq!(wanted.of(&tree).join(" "), expected);
        }
    }
}
