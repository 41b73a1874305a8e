//! What an index lists, and changes of one: the command's own, never the user's.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::call::{checked, fed, line, parts, path};
use super::{LENDERS, Repository};

/// The mode of a commit of another repository.
const COMMIT: &[u8] = b"160000";
/// The mode of a directory; an index has them where a sparse checkout leaves them out.
const DIRECTORY: &[u8] = b"040000";

/// A file in a tree or an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    mode: Vec<u8>,
    pub(super) object: String,
    pub(super) path: PathBuf,
}

impl Entry {
    /// Whether it is a commit of another repository.
    pub(super) fn is_commit(&self) -> bool {
        self.mode == COMMIT
    }

    pub(super) fn is_directory(&self) -> bool {
        self.mode == DIRECTORY
    }

    /// Whether it is neither a link nor a commit.
    fn is_file(&self) -> bool {
        self.mode.starts_with(b"100")
    }

    /// The same in the directory `place`.
    pub(super) fn below(mut self, place: &Path) -> Self {
        self.path = place.join(self.path);
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
            path: path(&part[at + 1..]),
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
    pub(super) fn git(&self, args: &[&str]) -> Command {
        let mut command = self.own.git_at(&self.root);
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

    /// The same without the user's objects: git would renew the time of one that it finds there instead of writing it.
    fn writing(&self, args: &[&str]) -> Command {
        let mut command = self.git(args);
        command.env_remove(LENDERS);
        command
    }

    /// What it lists.
    pub(super) fn entries(&self) -> Result<Vec<Entry>> {
        let mut command = self.git(&["ls-files", "--stage", "-z"]);
        let all = checked(&mut command, "cannot list the files of an index")?;
        Ok(parts(&all).filter_map(Entry::parse).collect())
    }

    /// Files that it does not list and git does not ignore, and repositories.
    pub(super) fn others(&self) -> Result<(Vec<PathBuf>, Vec<PathBuf>)> {
        let args = ["ls-files", "--others", "--exclude-standard", "-z"];
        let all = checked(&mut self.git(&args), "cannot list new files")?;
        let (repositories, files): (Vec<_>, Vec<_>) =
            parts(&all).partition(|path| path.ends_with(b"/"));
        let paths = |all: Vec<&[u8]>| all.into_iter().map(path).collect();
        Ok((paths(files), paths(repositories)))
    }

    /// Makes it list these; of two with one path the later counts.
    pub(super) fn set<'e>(&self, entries: impl IntoIterator<Item = &'e Entry>) -> Result<()> {
        let mut input = Vec::new();
        for Entry { mode, object, path } in entries {
            let path = path.as_os_str().as_bytes();
            input.extend([mode, &b" "[..], object.as_bytes(), b"\t", path, b"\0"].concat());
        }
        let mut command = self.writing(&["update-index", "-z", "--index-info"]);
        fed(&mut command, &input, "cannot write an index").map(drop)
    }

    /// Makes it list these files as they lie there: the command's own repository has no filters.
    pub(super) fn add<'p>(&self, paths: impl IntoIterator<Item = &'p PathBuf>) -> Result<()> {
        let args = ["update-index", "--add", "--replace", "-z", "--stdin"];
        let mut command = self.writing(&args);
        fed(&mut command, &joined(paths), "cannot read changed files").map(drop)
    }

    /// The tree of what it lists. All of its trees are written to the command's own objects.
    pub(super) fn write_tree(&self) -> Result<String> {
        // The files themselves may lie with the user.
        let mut command = self.writing(&["write-tree", "--missing-ok"]);
        checked(&mut command, "cannot write a tree").map(|output| line(&output))
    }

    /// Which of the files go through one of these filters.
    pub(super) fn filtered(
        &self,
        entries: impl IntoIterator<Item = Entry>,
        filters: &BTreeSet<Vec<u8>>,
        args: &[&str],
    ) -> Result<Vec<Entry>> {
        if filters.is_empty() {
            return Ok(Vec::new());
        }
        let files: Vec<Entry> = entries.into_iter().filter(Entry::is_file).collect();
        let mut command = self.git(&["check-attr", "-z", "--stdin"]);
        let all = fed(
            command.args(args).arg("filter"),
            &joined(files.iter().map(|entry| &entry.path)),
            "cannot read attributes",
        )?;
        // Of each file the path, the attribute and its value.
        let values = parts(&all).skip(2).step_by(3);
        let files = files.into_iter().zip(values);
        let files = files.filter(|(_, value)| filters.contains(*value));
        Ok(files.map(|(entry, _)| entry).collect())
    }
}

/// The paths, each with a NUL behind it.
fn joined<'p>(paths: impl IntoIterator<Item = &'p PathBuf>) -> Vec<u8> {
    let mut all = Vec::new();
    for path in paths {
        all.extend_from_slice(path.as_os_str().as_bytes());
        all.push(0);
    }
    all
}

/// Whether there is a file or a link, and it is not behind a link below `root`.
pub(super) fn is_file_at(root: &Path, path: &Path) -> bool {
    let data = root.join(path).symlink_metadata();
    let mut above = path.ancestors().skip(1);
    data.is_ok_and(|data| !data.is_dir()) && !above.any(|above| root.join(above).is_symlink())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::Entry;

    #[test]
    fn entries_are_read_with_odd_paths() {
        for kind in ["160000 0a1b2c3d 0", "160000 commit 0a1b2c3d"] {
            let entry = Entry::parse(format!("{kind}\ta\tb \n").as_bytes()).expect("an entry");
            assert!(entry.is_commit());
            let entry = entry.below(Path::new("c"));
            assert_eq!(entry.object, "0a1b2c3d");
            assert_eq!(entry.path, Path::new("c/a\tb \n"));
        }
        assert_eq!(Entry::parse(b"no entry"), None);
    }
}
