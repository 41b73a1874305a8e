//! The trees that are built: of a commit, and of the working tree as it is. The files of submodules stand in the place of
//! their commits, and bytes as they lie in the working tree in the place of what a filter made of them. Nothing is run for it.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::Repository;
use super::call::{checked, parts};
use super::index::{Entry, is_file_at};
use super::worktree::{Listed, Worktree};
use crate::report::units::first;

/// Paths that a note names.
const NAMED: usize = 3;

impl Repository {
    /// The tree of a commit that the user calls `name`, as it would be built, and what has to be said about it.
    pub(super) fn committed(&self, commit: &str, name: &str) -> Result<(String, Vec<String>)> {
        let cannot = || format!("cannot read {name}{}", self.worktree.hint());
        let mut rest = VecDeque::from(self.files(commit).with_context(cannot)?);
        let (mut entries, mut nested, mut notes) = (Vec::new(), Vec::new(), Vec::new());
        while let Some(entry) = rest.pop_front() {
            if !entry.is_commit() {
                entries.push(entry);
                continue;
            }
            let place = &entry.path;
            let found = self.worktree.below(place)?;
            if let Some(found) = &found {
                self.lenders.borrow_mut().push(found.objects.clone());
            }
            if let (Some(found), Ok(files)) = (found, self.files(&entry.object)) {
                nested.push(found);
                rest.extend(files.into_iter().map(|file| file.below(place)));
            } else {
                notes.push(format!(
                    "{name} has the submodule `{}` at a commit that is not here: it is measured without its files",
                    place.display()
                ));
                entries.push(entry);
            }
        }

        let index = self.index(&self.worktree, "tree.files")?;
        index.set(&entries)?;
        let mut filters = self.worktree.filters.clone();
        filters.extend(nested.iter().flat_map(|found| found.filters.clone()));
        let filtered = index.filtered(entries, &filters, &["--cached"])?;
        if !filtered.is_empty() {
            let known = self.unfiltered(&nested)?;
            let (mut as_they_lie, mut stored) = (Vec::new(), Vec::new());
            for mut entry in filtered {
                if let Some(object) = known.get(&entry.object) {
                    entry.object.clone_from(object);
                    as_they_lie.push(entry);
                } else {
                    stored.push(format!("`{}`", entry.path.display()));
                }
            }
            index.set(&as_they_lie)?;
            if !stored.is_empty() {
                notes.push(format!(
                    "files of {name} are measured as they are stored, since filters are not run: {}",
                    first(&stored, NAMED)
                ));
            }
        }
        Ok((index.write_tree()?, notes))
    }

    /// The files of a commit or a tree.
    fn files(&self, commit: &str) -> Result<Vec<Entry>> {
        let mut list = self.git_at(&self.dir);
        list.args(["ls-tree", "-r", "-z", "--full-tree", commit]);
        let all = checked(&mut list, "cannot list the files of a commit")?;
        Ok(parts(&all).filter_map(Entry::parse).collect())
    }

    /// The objects with the bytes of files as they lie in the working trees, by the objects that a filter made of them:
    /// of files that are unchanged.
    fn unfiltered(&self, nested: &[Worktree]) -> Result<HashMap<String, String>> {
        let mut known = HashMap::new();
        for worktree in std::iter::once(&self.worktree).chain(nested) {
            let index = self.index(worktree, "known.files")?;
            let unchanged = worktree.listed()?.into_iter();
            let unchanged = unchanged.filter(|listed| listed.is_unchanged);
            let unchanged = unchanged.map(|listed| listed.entry);
            let filtered = index.filtered(unchanged, &worktree.filters, &[])?;
            index.add(filtered.iter().map(|entry| &entry.path))?;
            // Both are in the order of an index.
            let pairs = filtered.into_iter().zip(index.entries()?);
            known.extend(pairs.map(|(filtered, as_it_lies)| (filtered.object, as_it_lies.object)));
        }
        Ok(known)
    }

    /// The tree of the working tree with staged, unstaged and untracked changes, without what is ignored and without
    /// changes of `excluded`, files and directories that may lie in it.
    pub(super) fn current(&self, excluded: &[PathBuf]) -> Result<String> {
        let cannot = "cannot take a snapshot of the working tree";
        let entries = self.capture(&self.worktree, excluded).context(cannot)?;
        let index = self.index(&self.worktree, "tree.files")?;
        index.set(&entries)?;
        index.write_tree()
    }

    fn capture(&self, worktree: &Worktree, excluded: &[PathBuf]) -> Result<Vec<Entry>> {
        self.lenders.borrow_mut().push(worktree.objects.clone());
        let is_excluded = |path: &Path| {
            let path = worktree.root.join(path);
            excluded.iter().any(|excluded| path.starts_with(excluded))
        };
        let is_there = |path: &Path| is_file_at(&worktree.root, path);
        let mut all = Vec::new();
        for listed in worktree.listed()? {
            if listed.entry.is_directory() {
                // A sparse checkout leaves it out.
                let left_out = |file: Entry| Listed {
                    entry: file.below(&listed.entry.path),
                    is_skipped: true,
                    is_unchanged: false,
                };
                let files = self.files(&listed.entry.object)?.into_iter();
                all.extend(files.map(left_out));
            } else {
                all.push(listed);
            }
        }
        let (mut kept, mut changed, mut places) = (Vec::new(), Vec::new(), Vec::new());
        for listed in all {
            let path = &listed.entry.path;
            let is_left = is_excluded(path);
            let is_here = if listed.entry.is_commit() {
                worktree.root.join(path).is_dir()
            } else {
                is_there(path)
            };
            if !is_left && is_here && listed.entry.is_commit() {
                places.push(path.clone());
            } else if !is_left && is_here && !listed.is_unchanged {
                changed.push(path.clone());
            }
            if is_left || is_here || listed.is_skipped {
                kept.push(listed.entry);
            }
        }
        let index = self.index(worktree, "tree.files")?;
        index.set(&kept)?;
        let (new, repositories) = index.others()?;
        let is_wanted = |path: &PathBuf| !is_excluded(path);
        changed.extend(new.into_iter().filter(is_wanted));
        places.extend(repositories.into_iter().filter(is_wanted));
        let here = kept.into_iter().filter(|entry| is_there(&entry.path));
        let filtered = index.filtered(here, &worktree.filters, &[])?;
        changed.extend(filtered.into_iter().map(|entry| entry.path));
        index.add(&changed)?;

        let mut entries = index.entries()?;
        for place in places {
            // What is not checked out stays a commit, which is written out as an empty directory.
            if let Some(nested) = worktree.below(&place)? {
                entries.retain(|entry| entry.path != place);
                let files = self.capture(&nested, excluded)?.into_iter();
                entries.extend(files.map(|file| file.below(&place)));
            }
        }
        Ok(entries)
    }
}
