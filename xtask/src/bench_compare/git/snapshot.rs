//! The working tree as it is: a copy of its index, brought up to date for files and objects of the command's own.

use std::collections::HashSet;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::Repository;
use super::call::{as_path, checked, fed, joined, parts, run};
use super::index::Entry;
use super::store::{Objects, With};
use super::worktree::Worktree;

/// What errors of this module begin with.
const WHAT: &str = "cannot take a snapshot of the working tree";

impl Repository {
    /// The tree of the working tree with staged, unstaged and untracked changes, without what is ignored and without
    /// changes of `excluded`, files and directories that may lie in it.
    pub(super) fn current(&self, excluded: &[PathBuf]) -> Result<String> {
        self.capture(&self.worktree, excluded, 0)
    }

    fn capture(&self, worktree: &Worktree, excluded: &[PathBuf], depth: usize) -> Result<String> {
        let index = self.store.path(&format!("snapshot-{depth}.index"));
        worktree.copy_index(&index, &self.store.path(""))?;
        self.store.borrow_from(worktree);
        let with = self.store.with(worktree, &index)?;
        let sparse = unhide(&with)?;

        let commits: Vec<_> = with
            .entries()?
            .into_iter()
            .filter(Entry::is_commit)
            .collect();
        let mut places: Vec<Vec<u8>> = commits.iter().map(|e| e.path.clone()).collect();
        places.extend(repositories(&with)?);
        let is_excluded = |place: &Vec<u8>| {
            let path = worktree.root.join(as_path(place));
            excluded.iter().any(|excluded| path.starts_with(excluded))
        };
        places.retain(|place| !is_excluded(place));
        places.sort();
        places.dedup();
        // Git would look for changes in them, with their filters.
        let gone: Vec<_> = commits.iter().map(Entry::gone).collect();
        with.set(&gone)?;
        let mut left_out: Vec<PathBuf> = places.iter().map(|p| as_path(p).to_owned()).collect();
        let below = excluded
            .iter()
            .filter_map(|p| p.strip_prefix(&worktree.root).ok());
        left_out.extend(below.map(Path::to_owned));
        add_all(&with, &left_out)?;

        let mut there = HashSet::new();
        for place in &places {
            let Some(nested) = worktree.below(as_path(place))? else {
                continue;
            };
            let tree = self.capture(&nested, excluded, depth + 1)?;
            with.graft(place, &tree)?;
            there.insert(place);
        }
        // Those that are not checked out are empty directories.
        let is_empty = |entry: &&Entry| {
            let is_dir = || with.root.join(as_path(&entry.path)).is_dir();
            !there.contains(&entry.path) && (sparse.contains(&entry.path) || is_dir())
        };
        with.set(commits.iter().filter(is_empty))?;
        let inside = |entry: &Entry| {
            let path = as_path(&entry.path);
            there.iter().any(|place| path.starts_with(as_path(place)))
        };
        if !worktree.filters.is_empty() {
            // The information about attributes may be that of a nested one by now.
            let with = self.store.with(worktree, &index)?;
            let file = |entry: &Entry| with.root.join(as_path(&entry.path));
            let is_here = |entry: &Entry| !inside(entry) && is_file(&file(entry));
            let files = with.entries()?.into_iter().filter(is_here).collect();
            let filtered = with.filtered(files, &worktree.filters, &[])?;
            with.take_bytes(filtered, file)?;
        }
        with.write_tree()
    }
}

fn is_file(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|data| data.is_file())
}

/// Takes the marks off by which git overlooks files that are there; the paths that are left out of a sparse checkout.
fn unhide(with: &With<'_>) -> Result<HashSet<Vec<u8>>> {
    let all = checked(&mut with.git(Objects::All, &["ls-files", "-v", "-z"]), WHAT)?;
    let (mut unchanged, mut skipped, mut sparse) = (Vec::new(), Vec::new(), HashSet::new());
    // A letter and a blank before each path: small if it is assumed to be unchanged, `S` if it is skipped.
    for part in parts(&all) {
        let ([tag, b' '], path) = part.split_at(2.min(part.len())) else {
            continue;
        };
        if tag.is_ascii_lowercase() {
            unchanged.push(path.to_vec());
        }
        if !tag.eq_ignore_ascii_case(&b'S') {
            continue;
        }
        if with.root.join(as_path(path)).symlink_metadata().is_ok() {
            skipped.push(path.to_vec());
        } else {
            sparse.insert(path.to_vec());
        }
    }
    with.flag("--no-assume-unchanged", &unchanged)?;
    with.flag("--no-skip-worktree", &skipped)?;
    Ok(sparse)
}

/// Repositories in the working tree that it does not list.
fn repositories(with: &With<'_>) -> Result<Vec<Vec<u8>>> {
    let args = ["ls-files", "--others", "--exclude-standard", "-z"];
    let all = checked(&mut with.git(Objects::All, &args), WHAT)?;
    let directories = parts(&all).filter_map(|part| part.strip_suffix(b"/"));
    Ok(directories.map(<[u8]>::to_vec).collect())
}

/// Adds all that has changed but what is left out.
fn add_all(with: &With<'_>, left_out: &[PathBuf]) -> Result<()> {
    let mut specs = vec![OsString::from(":/")];
    for path in left_out {
        // Git refuses to exclude what is ignored anyway.
        let mut ask = with.git(Objects::All, &["check-ignore", "--quiet", "--"]);
        // Nothing in a name is magic behind a directory.
        if !run(ask.arg(Path::new(".").join(path)))?.status.success() {
            let mut spec = b":(top,exclude,literal)".to_vec();
            spec.extend_from_slice(path.as_os_str().as_bytes());
            specs.push(OsString::from_vec(spec));
        }
    }
    let args = [
        "add",
        "--all",
        "--pathspec-from-file=-",
        "--pathspec-file-nul",
    ];
    let input = joined(specs.iter().map(|spec| spec.as_bytes()));
    // Not with the user's objects: git would renew the time of those that it finds there.
    fed(&mut with.git(Objects::Own, &args), &input, WHAT).map(drop)
}
