//! What a checkout of a commit would build: the files of submodules stand in the place of their commits, and bytes as
//! they lie in the working tree in the place of what a filter made of them. Nothing is run for it.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use anyhow::Result;

use super::Repository;
use super::call::{as_path, checked, line, lock_of, remove, run};
use super::index::Entry;
use super::store::{Objects, With};
use super::worktree::Worktree;
use crate::report::units::first;

/// Paths that a note names.
const NAMED: usize = 3;

impl Repository {
    /// The tree of a commit that the user calls `name`, as it would be built, and what has to be said about it.
    pub(super) fn committed(&self, commit: &str, name: &str) -> Result<(String, Vec<String>)> {
        let what = format!("cannot read {name}{}", self.worktree.hint());
        let tree = format!("{commit}^{{tree}}");
        let mut find = self.store.bare(Objects::All);
        find.args(["rev-parse", "--verify", &tree]);
        let tree = line(&checked(&mut find, &what)?);
        let index = self.store.path("commit.index");
        remove(&index)?;
        remove(&lock_of(&index))?;
        let with = self.store.with(&self.worktree, &index)?;
        checked(&mut with.git(Objects::All, &["read-tree", &tree]), &what)?;

        let mut notes = Vec::new();
        let nested = self.graft_submodules(&with, name, &mut notes)?;
        let mut filters = self.worktree.filters.clone();
        filters.extend(nested.iter().flat_map(|found| found.filters.clone()));
        if !filters.is_empty() {
            let files = with.entries()?.into_iter().filter(|e| !e.is_commit());
            let filtered = with.filtered(files.collect(), &filters, &["--cached"])?;
            if !filtered.is_empty() {
                let known = self.unfiltered(&nested)?;
                notes.extend(put_bytes(&with, filtered, &known, name)?);
            }
        }
        Ok((with.write_tree()?, notes))
    }

    /// Puts the files of submodules in the place of their commits, also of those in submodules; the submodules that are
    /// there.
    fn graft_submodules(
        &self,
        with: &With<'_>,
        name: &str,
        notes: &mut Vec<String>,
    ) -> Result<Vec<Worktree>> {
        let mut nested = Vec::new();
        let mut left = HashSet::new();
        loop {
            let mut entries = with.entries()?.into_iter();
            let Some(entry) = entries.find(|e| e.is_commit() && !left.contains(&e.path)) else {
                return Ok(nested);
            };
            let path = as_path(&entry.path);
            let found = self.worktree.below(path)?;
            if let Some(found) = &found {
                self.store.borrow_from(found);
            }
            let tree = format!("{}^{{tree}}", entry.object);
            let mut find = self.store.bare(Objects::All);
            let tree = run(find.args(["rev-parse", "--verify", "--quiet", &tree]))?;
            if let Some(found) = found
                && tree.status.success()
            {
                with.set([&entry.gone()])?;
                with.graft(&entry.path, &line(&tree.stdout))?;
                nested.push(found);
            } else {
                notes.push(format!(
                    "{name} has the submodule `{}` at a commit that is not here: it is measured without its files",
                    path.display()
                ));
                left.insert(entry.path);
            }
        }
    }

    /// The files whose bytes are known beside what a filter made of them, by the object that it made: those of the working
    /// tree that are unchanged.
    fn unfiltered(&self, nested: &[Worktree]) -> Result<HashMap<String, PathBuf>> {
        let mut known = HashMap::new();
        let index = self.store.path("known.index");
        for worktree in std::iter::once(&self.worktree).chain(nested) {
            worktree.copy_index(&index, &self.store.path(""))?;
            let with = self.store.with(worktree, &index)?;
            let unchanged = with.filtered(with.unchanged()?, &worktree.filters, &[])?;
            let file = |entry: Entry| (entry.object, worktree.root.join(as_path(&entry.path)));
            known.extend(unchanged.into_iter().map(file));
        }
        remove(&index)?;
        Ok(known)
    }
}

/// Puts the known bytes in the place of what filters made of them; what has to be said about the others.
fn put_bytes(
    with: &With<'_>,
    filtered: Vec<Entry>,
    known: &HashMap<String, PathBuf>,
    name: &str,
) -> Result<Option<String>> {
    let (there, stored): (Vec<_>, Vec<_>) = filtered
        .into_iter()
        .partition(|entry| known.contains_key(&entry.object));
    with.take_bytes(there, |entry| known[&entry.object].clone())?;
    if stored.is_empty() {
        return Ok(None);
    }
    let quoted = |entry: &Entry| format!("`{}`", as_path(&entry.path).display());
    let paths: Vec<String> = stored.iter().map(quoted).collect();
    let paths = first(&paths, NAMED);
    Ok(Some(format!(
        "files of {name} are measured as they are stored, since filters are not run: {paths}"
    )))
}
