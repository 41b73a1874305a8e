//! What an index lists, and changes of one: the command's own, never the user's.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::Repository;
use super::call::{as_path, checked, fed, joined, line, parts, quoted};
use super::store::Objects;

/// The mode of a commit of another repository.
const COMMIT: &[u8] = b"160000";

/// A file in a tree or an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    mode: Vec<u8>,
    pub(super) object: String,
    pub(super) path: Vec<u8>,
}

impl Entry {
    /// Whether it is a commit of another repository.
    pub(super) fn is_commit(&self) -> bool {
        self.mode == COMMIT
    }

    /// Whether it is neither a link nor a commit.
    fn is_file(&self) -> bool {
        self.mode.starts_with(b"100")
    }

    /// The same in the directory `place`.
    pub(super) fn below(mut self, place: &[u8]) -> Self {
        self.path = [place, b"/", &self.path].concat();
        self
    }

    /// Reads `MODE OBJECT STAGE\tPATH` of an index, and `MODE KIND OBJECT\tPATH` of a tree.
    pub(super) fn parse(part: &[u8]) -> Option<Self> {
        let at = part.iter().position(|byte| *byte == b'\t')?;
        let mut words = part[..at].split(|byte| *byte == b' ');
        let mode = words.next()?.to_vec();
        Some(Self {
            mode,
            object: line(words.max_by_key(|word| word.len())?),
            path: part[at + 1..].to_vec(),
        })
    }
}

/// Calls of git for an index of the command's own and files.
pub(super) struct Index<'a> {
    pub(super) own: &'a Repository,
    /// Of the user's working tree, `key=value`.
    pub(super) settings: &'a [OsString],
    /// Where the files lie.
    pub(super) root: PathBuf,
    pub(super) file: PathBuf,
}

impl Index<'_> {
    pub(super) fn git(&self, objects: Objects, args: &[&str]) -> Command {
        let mut command = self.own.git_at(&self.root, objects);
        for setting in self.settings {
            command.arg("-c").arg(setting);
        }
        command
            .args(["-c", "core.safecrlf=false"])
            .env("GIT_WORK_TREE", &self.root)
            .env("GIT_INDEX_FILE", &self.file)
            .args(args);
        command
    }

    /// What it lists.
    pub(super) fn entries(&self) -> Result<Vec<Entry>> {
        let mut command = self.git(Objects::Own, &["ls-files", "--stage", "-z"]);
        let all = checked(&mut command, "cannot list the files of an index")?;
        Ok(parts(&all).filter_map(Entry::parse).collect())
    }

    /// Files that it does not list and git does not ignore; repositories end with a slash.
    pub(super) fn others(&self) -> Result<Vec<Vec<u8>>> {
        let args = ["ls-files", "--others", "--exclude-standard", "-z"];
        let all = checked(&mut self.git(Objects::Own, &args), "cannot list new files")?;
        Ok(parts(&all).map(<[u8]>::to_vec).collect())
    }

    /// Makes it list these; of two with one path the later counts.
    pub(super) fn set<'e>(&self, entries: impl IntoIterator<Item = &'e Entry>) -> Result<()> {
        let mut input = Vec::new();
        for Entry { mode, object, path } in entries {
            input.extend([mode, &b" "[..], object.as_bytes(), b"\t", path, b"\0"].concat());
        }
        let mut command = self.git(Objects::Own, &["update-index", "-z", "--index-info"]);
        fed(&mut command, &input, "cannot write an index").map(drop)
    }

    /// Makes it list these files as they lie there.
    pub(super) fn add(&self, paths: &[Vec<u8>]) -> Result<()> {
        let args = ["update-index", "--add", "--replace", "-z", "--stdin"];
        // Not with the user's objects: git would renew the time of those that it finds there.
        let mut command = self.git(Objects::Own, &args);
        let input = joined(paths.iter().map(Vec::as_slice));
        fed(&mut command, &input, "cannot read changed files").map(drop)
    }

    /// The tree of what it lists. All of its trees are written to the command's own objects.
    pub(super) fn write_tree(&self) -> Result<String> {
        // The files themselves may lie with the user.
        let mut command = self.git(Objects::Own, &["write-tree", "--missing-ok"]);
        checked(&mut command, "cannot write a tree").map(|output| line(&output))
    }

    /// Which of the files go through one of these filters.
    pub(super) fn filtered(
        &self,
        entries: impl IntoIterator<Item = Entry>,
        filters: &BTreeSet<Vec<u8>>,
        args: &[&str],
    ) -> Result<Vec<Entry>> {
        let mut files: Vec<Entry> = entries.into_iter().filter(Entry::is_file).collect();
        if filters.is_empty() {
            return Ok(Vec::new());
        }
        let mut command = self.git(Objects::All, &["check-attr", "-z", "--stdin"]);
        let input = joined(files.iter().map(|entry| &entry.path[..]));
        let all = fed(
            command.args(args).arg("filter"),
            &input,
            "cannot read attributes",
        )?;
        // A path, the attribute and its value.
        let parts: Vec<_> = parts(&all).collect();
        let found: HashMap<_, _> = parts.chunks_exact(3).map(|p| (p[0], p[2])).collect();
        files.retain(|entry| {
            let filter = found.get(&entry.path[..]);
            filter.is_some_and(|filter| filters.contains(*filter))
        });
        Ok(files)
    }

    /// The entries with the bytes of a file as they are.
    pub(super) fn with_bytes(
        &self,
        mut entries: Vec<Entry>,
        file: impl Fn(&Entry) -> PathBuf,
    ) -> Result<Vec<Entry>> {
        let mut input = Vec::new();
        for entry in &entries {
            input.extend(quoted(&file(entry)));
            input.push(b'\n');
        }
        let args = ["hash-object", "-w", "--no-filters", "--stdin-paths"];
        let mut command = self.git(Objects::Own, &args);
        let all = fed(&mut command, &input, "cannot read the files of the tree")?;
        for (entry, object) in entries.iter_mut().zip(all.split(|byte| *byte == b'\n')) {
            entry.object = line(object);
        }
        Ok(entries)
    }

    /// Where the file lies.
    pub(super) fn place(&self, entry: &Entry) -> PathBuf {
        self.root.join(as_path(&entry.path))
    }
}

/// Whether there is a file or a link, and it is not behind a link below `root`.
pub(super) fn is_file_at(root: &Path, path: &Path) -> bool {
    let data = root.join(path).symlink_metadata();
    let mut above = path.ancestors().skip(1);
    data.is_ok_and(|data| !data.is_dir()) && !above.any(|above| root.join(above).is_symlink())
}

#[cfg(test)]
mod tests {
    use super::Entry;

    #[test]
    fn entries_are_read_with_odd_paths() {
        for kind in ["160000 0a1b2c3d 0", "160000 commit 0a1b2c3d"] {
            let entry = Entry::parse(format!("{kind}\ta\tb \n").as_bytes()).expect("an entry");
            assert!(entry.is_commit());
            let entry = entry.below(b"c");
            assert_eq!(
                (&*entry.object, &entry.path[..]),
                ("0a1b2c3d", &b"c/a\tb \n"[..])
            );
        }
        assert_eq!(Entry::parse(b"no entry"), None);
    }
}
