//! The trees that are built: of a commit, and of the working tree as it is. The files of submodules stand in the place of
//! their commits, and bytes as they lie in the working tree in the place of what a filter made of them. Nothing is run for it.

use std::collections::HashMap;
use std::path::PathBuf;

use anyhow::{Context, Result};

use super::Repository;
use super::call::{as_path, checked, parts};
use super::index::{Entry, is_file_at};
use super::store::Objects;
use super::worktree::{Listed, Worktree};
use crate::report::units::first;

/// Paths that a note names.
const NAMED: usize = 3;

impl Repository {
    /// The tree of a commit that the user calls `name`, as it would be built, and what has to be said about it.
    pub(super) fn committed(&self, commit: &str, name: &str) -> Result<(String, Vec<String>)> {
        let cannot = || format!("cannot read {name}{}", self.worktree.hint());
        let mut entries = self.files(commit).with_context(cannot)?;
        let (mut nested, mut notes) = (Vec::new(), Vec::new());
        let mut at = 0;
        while at < entries.len() {
            let entry = &entries[at];
            if !entry.is_commit() {
                at += 1;
                continue;
            }
            let path = as_path(&entry.path);
            let found = self.worktree.below(path)?;
            if let Some(found) = &found {
                self.borrow_from(found);
            }
            if let (Some(found), Ok(files)) = (found, self.files(&entry.object)) {
                nested.push(found);
                let place = entries.swap_remove(at).path;
                entries.extend(files.into_iter().map(|file| file.below(&place)));
            } else {
                notes.push(format!(
                    "{name} has the submodule `{}` at a commit that is not here: it is measured without its files",
                    path.display()
                ));
                at += 1;
            }
        }

        let index = self.index(&self.worktree, "tree.index")?;
        index.set(&entries)?;
        let mut filters = self.worktree.filters.clone();
        filters.extend(nested.iter().flat_map(|found| found.filters.clone()));
        let filtered = index.filtered(entries, &filters, &["--cached"])?;
        if !filtered.is_empty() {
            let known = self.unfiltered(&nested)?;
            let is_known = |entry: &Entry| known.contains_key(&entry.object);
            let (there, stored): (Vec<_>, Vec<_>) = filtered.into_iter().partition(is_known);
            let bytes = index.with_bytes(there, |entry| known[&entry.object].clone())?;
            index.set(&bytes)?;
            if !stored.is_empty() {
                let quoted = |entry: &Entry| format!("`{}`", as_path(&entry.path).display());
                let paths: Vec<String> = stored.iter().map(quoted).collect();
                notes.push(format!(
                    "files of {name} are measured as they are stored, since filters are not run: {}",
                    first(&paths, NAMED)
                ));
            }
        }
        Ok((index.write_tree()?, notes))
    }

    /// The files of a commit or a tree.
    fn files(&self, commit: &str) -> Result<Vec<Entry>> {
        let mut list = self.git(Objects::All);
        list.args(["ls-tree", "-r", "-z", "--full-tree", commit]);
        let all = checked(&mut list, "cannot list the files of a commit")?;
        Ok(parts(&all).filter_map(Entry::parse).collect())
    }

    /// The files whose bytes are known beside what a filter made of them, by the object that it made: those of the working
    /// trees that are unchanged.
    fn unfiltered(&self, nested: &[Worktree]) -> Result<HashMap<String, PathBuf>> {
        let mut known = HashMap::new();
        for worktree in std::iter::once(&self.worktree).chain(nested) {
            let index = self.index(worktree, "known.index")?;
            let unchanged = worktree.listed()?.into_iter();
            let unchanged = unchanged.filter(|listed| listed.is_unchanged);
            let unchanged = unchanged.map(|listed| listed.entry);
            let filtered = index
                .filtered(unchanged, &worktree.filters, &[])?
                .into_iter();
            known.extend(filtered.map(|entry| (entry.object.clone(), index.place(&entry))));
        }
        Ok(known)
    }

    /// The tree of the working tree with staged, unstaged and untracked changes, without what is ignored and without
    /// changes of `excluded`, files and directories that may lie in it.
    pub(super) fn current(&self, excluded: &[PathBuf]) -> Result<String> {
        let cannot = "cannot take a snapshot of the working tree";
        let entries = self.capture(&self.worktree, excluded).context(cannot)?;
        let index = self.index(&self.worktree, "tree.index")?;
        index.set(&entries)?;
        index.write_tree()
    }

    fn capture(&self, worktree: &Worktree, excluded: &[PathBuf]) -> Result<Vec<Entry>> {
        self.borrow_from(worktree);
        let is_excluded = |path: &[u8]| {
            let path = worktree.root.join(as_path(path));
            excluded.iter().any(|excluded| path.starts_with(excluded))
        };
        let is_there = |path: &[u8]| is_file_at(&worktree.root, as_path(path));
        let (mut commits, mut files) = (Vec::new(), Vec::new());
        for listed in worktree.listed()? {
            if let Some(directory) = listed.entry.path.strip_suffix(b"/") {
                // A sparse checkout leaves it out.
                let left_out = |file: Entry| Listed {
                    entry: file.below(directory),
                    is_skipped: true,
                    is_unchanged: false,
                };
                files.extend(self.files(&listed.entry.object)?.into_iter().map(left_out));
            } else if listed.entry.is_commit() {
                commits.push(listed);
            } else {
                files.push(listed);
            }
        }
        let index = self.index(worktree, "tree.index")?;
        let (mut kept, mut changed) = (Vec::new(), Vec::new());
        for listed in files {
            let path = &listed.entry.path;
            let is_left = is_excluded(path);
            if !is_left && !listed.is_unchanged && is_there(path) {
                changed.push(path.clone());
            }
            if is_left || is_there(path) || listed.is_skipped {
                kept.push(listed.entry);
            }
        }
        index.set(&kept)?;
        let mut others = index.others()?;
        others.retain(|path| !is_excluded(path));
        let (repositories, new): (Vec<_>, Vec<_>) =
            others.into_iter().partition(|path| path.ends_with(b"/"));
        let mut places: Vec<Vec<u8>> = commits.iter().map(|c| c.entry.path.clone()).collect();
        places.extend(
            repositories
                .iter()
                .map(|path| path[..path.len() - 1].to_vec()),
        );
        places.retain(|place| !is_excluded(place));
        places.sort();
        places.dedup();
        index.add(&[changed, new].concat())?;
        let mut entries = index.entries()?;
        let here = entries.iter().filter(|entry| is_there(&entry.path));
        let filtered = index.filtered(here.cloned(), &worktree.filters, &[])?;
        entries.extend(index.with_bytes(filtered, |entry| index.place(entry))?);

        let mut there = Vec::new();
        for place in places {
            if let Some(nested) = worktree.below(as_path(&place))? {
                let files = self.capture(&nested, excluded)?.into_iter();
                entries.extend(files.map(|file| file.below(&place)));
                there.push(place);
            }
        }
        // Those that are not checked out are empty directories.
        for commit in commits {
            let path = &commit.entry.path;
            let is_dir = || worktree.root.join(as_path(path)).is_dir();
            if !there.contains(path) && (commit.is_skipped || is_dir()) {
                entries.push(commit.entry);
            }
        }
        Ok(entries)
    }
}
