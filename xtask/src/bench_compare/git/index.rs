//! What an index says, and changes of one: the command's own, never the user's.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::call::{as_path, checked, fed, joined, line, parts, quoted};
use super::store::{Objects, With};

/// The mode of a commit of another repository.
const COMMIT: &[u8] = b"160000";

/// A file in an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) mode: Vec<u8>,
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

    /// For [`With::set`]: nothing is at its path.
    pub(super) fn gone(&self) -> Self {
        Self {
            mode: b"0".to_vec(),
            object: "0".repeat(self.object.len()),
            path: self.path.clone(),
        }
    }

    /// Reads `MODE OBJECT STAGE\tPATH`.
    fn parse(part: &[u8]) -> Option<Self> {
        let at = part.iter().position(|byte| *byte == b'\t')?;
        let mut words = part[..at].split(|byte| *byte == b' ');
        Some(Self {
            mode: words.next()?.to_vec(),
            object: line(words.next()?),
            path: part[at + 1..].to_vec(),
        })
    }
}

impl With<'_> {
    /// The files of the index.
    pub(super) fn entries(&self) -> Result<Vec<Entry>> {
        let mut command = self.git(Objects::All, &["ls-files", "--stage", "-z"]);
        let all = checked(&mut command, "cannot list the files of an index")?;
        Ok(parts(&all).filter_map(Entry::parse).collect())
    }

    /// The files of the index that lie as they are in the working tree by time and size.
    pub(super) fn unchanged(&self) -> Result<Vec<Entry>> {
        let mut command = self.git(Objects::All, &["ls-files", "--stage", "--debug", "-z"]);
        let all = checked(&mut command, "cannot list the files of an index")?;
        let mut found = Vec::new();
        let mut rest = &all[..];
        while let Some(end) = rest.iter().position(|byte| *byte == 0) {
            let entry = Entry::parse(&rest[..end]);
            rest = &rest[end + 1..];
            // Five lines follow.
            let mut lines = rest.splitn(6, |byte| *byte == b'\n');
            let noted: Vec<_> = lines.by_ref().take(5).map(line).collect();
            rest = lines.next().unwrap_or_default();
            if let Some(entry) = entry
                && is_as_noted(&self.root.join(as_path(&entry.path)), &noted)
            {
                found.push(entry);
            }
        }
        Ok(found)
    }

    /// Makes the index list these with their objects; one that is [`Entry::gone`] is taken off.
    pub(super) fn set<'e>(&self, entries: impl IntoIterator<Item = &'e Entry>) -> Result<()> {
        let mut input = Vec::new();
        for entry in entries {
            input.extend_from_slice(&entry.mode);
            input.extend_from_slice(format!(" {}\t", entry.object).as_bytes());
            input.extend_from_slice(&entry.path);
            input.push(0);
        }
        let mut command = self.git(Objects::All, &["update-index", "-z", "--index-info"]);
        fed(&mut command, &input, "cannot write an index").map(drop)
    }

    /// Makes `update-index` do what `flag` says with these paths.
    pub(super) fn flag(&self, flag: &str, paths: &[Vec<u8>]) -> Result<()> {
        if paths.is_empty() {
            return Ok(());
        }
        let input = joined(paths.iter().map(Vec::as_slice));
        let args = ["update-index", "-z", flag, "--stdin"];
        let mut command = self.git(Objects::Own, &args);
        fed(&mut command, &input, "cannot write an index").map(drop)
    }

    /// Lists the files of a tree below `path`, in the place of what is at the path.
    pub(super) fn graft(&self, path: &[u8], tree: &str) -> Result<()> {
        let mut prefix = std::ffi::OsString::from("--prefix=");
        prefix.push(as_path(path));
        prefix.push("/");
        let mut command = self.git(Objects::All, &["read-tree"]);
        command.arg(prefix).arg(tree);
        checked(&mut command, "cannot read the tree of a submodule").map(drop)
    }

    /// The tree of what the index lists. All of its trees are written to the command's own objects.
    pub(super) fn write_tree(&self) -> Result<String> {
        // The files themselves may lie with the user.
        let mut command = self.git(Objects::Own, &["write-tree", "--missing-ok"]);
        checked(&mut command, "cannot write a tree").map(|output| line(&output))
    }

    /// Which of the files go through one of these filters.
    pub(super) fn filtered(
        &self,
        entries: Vec<Entry>,
        filters: &BTreeSet<Vec<u8>>,
        args: &[&str],
    ) -> Result<Vec<Entry>> {
        let input = joined(entries.iter().map(|entry| &entry.path[..]));
        let mut command = self.git(Objects::All, &["check-attr", "-z", "--stdin"]);
        command.args(args).arg("filter");
        let all = fed(&mut command, &input, "cannot read attributes")?;
        // A path, the attribute and its value.
        let parts: Vec<_> = parts(&all).collect();
        let found: HashMap<_, _> = parts.chunks_exact(3).map(|p| (p[0], p[2])).collect();
        let has = |entry: &Entry| {
            let filter = found.get(&entry.path[..]);
            entry.is_file() && filter.is_some_and(|filter| filters.contains(*filter))
        };
        Ok(entries.into_iter().filter(has).collect())
    }

    /// Lists for each entry the bytes of a file as they are.
    pub(super) fn take_bytes(
        &self,
        mut entries: Vec<Entry>,
        file: impl Fn(&Entry) -> PathBuf,
    ) -> Result<()> {
        let mut input = Vec::new();
        for entry in &entries {
            input.extend_from_slice(quoted(&file(entry)).as_bytes());
            input.push(b'\n');
        }
        let args = ["hash-object", "-w", "--no-filters", "--stdin-paths"];
        let mut command = self.git(Objects::Own, &args);
        let all = fed(&mut command, &input, "cannot read the files of the tree")?;
        for (entry, object) in entries.iter_mut().zip(all.split(|byte| *byte == b'\n')) {
            entry.object = line(object);
        }
        self.set(&entries)
    }
}

/// Whether a file is as the lines of `ls-files --debug` say, among them `mtime: SECONDS:NANOSECONDS` and `size: BYTES`.
fn is_as_noted(file: &Path, noted: &[String]) -> bool {
    let Ok(data) = fs::symlink_metadata(file) else {
        return false;
    };
    let after = |name: &str| {
        let line = noted
            .iter()
            .find_map(|l| l.trim_start().strip_prefix(name))?;
        line.split_whitespace().next()
    };
    let Some((seconds, nanos)) = after("mtime:").and_then(|time| time.split_once(':')) else {
        return false;
    };
    // The low half is noted. Some who write an index know no parts of seconds.
    let low = |number: u64| (number as u32).to_string();
    data.is_file()
        && seconds == low(data.mtime() as u64)
        && (nanos == "0" || nanos == low(data.mtime_nsec() as u64))
        && after("size:") == Some(&low(data.size()))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File, FileTimes};
    use std::time::{Duration, SystemTime};

    use super::{Entry, is_as_noted};

    #[test]
    fn entries_are_read_with_odd_paths() {
        let entry = Entry::parse(b"160000 0a1b 0\ta\tb \n").expect("an entry");
        assert!(entry.is_commit());
        assert_eq!((&*entry.object, &entry.path[..]), ("0a1b", &b"a\tb \n"[..]));
        assert_eq!(Entry::parse(b"no entry"), None);
    }

    #[test]
    fn a_file_is_as_noted_by_its_time_and_size() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("file");
        fs::write(&path, "four").expect("writable");
        let time = SystemTime::UNIX_EPOCH + Duration::new(1_700_000_000, 12);
        let file = File::options()
            .write(true)
            .open(&path)
            .expect("it is there");
        let times = FileTimes::new().set_modified(time);
        file.set_times(times).expect("ours");
        let noted = |time: &str, size: &str| {
            let lines = [
                "  ctime: 1:2",
                time,
                "  dev: 1\tino: 2",
                "  uid: 0\tgid: 0",
                size,
            ];
            is_as_noted(&path, &lines.map(str::to_owned))
        };
        assert!(noted("  mtime: 1700000000:12", "  size: 4\tflags: 0"));
        assert!(noted("  mtime: 1700000000:0", "  size: 4\tflags: 0"));
        assert!(!noted("  mtime: 1700000000:13", "  size: 4\tflags: 0"));
        assert!(!noted("  mtime: 1700000001:12", "  size: 4\tflags: 0"));
        assert!(!noted("  mtime: 1700000000:12", "  size: 5\tflags: 0"));
        assert!(!noted("", ""));
    }
}
