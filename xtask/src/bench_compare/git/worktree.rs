//! A working tree of the user's, or of a submodule in it: where its parts lie, how it is set up, and what its index lists.
//! It is only read.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Result;

use super::call::{checked, git_in, line, parts, path, run};
use super::index::Entry;

/// Settings that say what the bytes of a file are and which files there are; all others stay behind.
const KEPT: [&str; 8] = [
    "core.filemode",
    "core.symlinks",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.autocrlf",
    "core.eol",
    "core.excludesfile",
    "core.attributesfile",
];

/// A working tree.
#[derive(Default)]
pub(in crate::bench_compare) struct Worktree {
    /// Its top.
    pub(in crate::bench_compare) root: PathBuf,
    pub(super) objects: PathBuf,
    /// `key=value`, to be given with `-c`.
    pub(super) settings: Vec<OsString>,
    /// Names of filters for which a program is given.
    pub(super) filters: BTreeSet<Vec<u8>>,
    /// Whether objects may be left with a server.
    is_partial: bool,
}

/// What the index lists.
pub(super) struct Listed {
    pub(super) entry: Entry,
    /// Whether git was told to leave it out of the working tree, and it is.
    pub(super) is_skipped: bool,
    /// Whether the file is as it was when the index was written, by its time and size.
    pub(super) is_unchanged: bool,
}

impl Worktree {
    /// The one around `dir`, if there is one.
    pub(in crate::bench_compare) fn find(dir: &Path) -> Result<Option<Self>> {
        let output = run(git_in(dir).args(["rev-parse", "--show-toplevel"]))?;
        if !output.status.success() {
            return Ok(None);
        }
        let mut found = Self {
            root: printed_path(&output.stdout),
            ..Self::default()
        };
        found.objects = found.git_path("objects")?;
        for entry in parts(&found.query(&["config", "-z", "--list"])?) {
            // Without a value the key stands alone, and means `true`.
            let at = entry.iter().position(|byte| *byte == b'\n');
            let key = String::from_utf8_lossy(&entry[..at.unwrap_or(entry.len())]);
            if KEPT.contains(&&*key) {
                let mut setting = entry.to_vec();
                at.into_iter().for_each(|at| setting[at] = b'=');
                found.settings.push(OsString::from_vec(setting));
            }
            // `filter.NAME.clean`, where the name may have points.
            if let Some((name, _)) = key.strip_prefix("filter.").and_then(|k| k.rsplit_once('.')) {
                found.filters.insert(name.as_bytes().to_vec());
            }
            found.is_partial |= key == "extensions.partialclone";
            found.is_partial |= key.starts_with("remote.") && key.ends_with(".promisor");
        }
        Ok(Some(found))
    }

    /// The repository at `path` of this working tree, if there is one of its own.
    pub(super) fn below(&self, path: &Path) -> Result<Option<Self>> {
        let root = self.root.join(path);
        if root.join(".git").symlink_metadata().is_err() {
            return Ok(None);
        }
        Ok(Self::find(&root)?.filter(|found| found.root == root))
    }

    /// The commit that a name stands for, if there is one.
    pub(super) fn commit(&self, name: &str) -> Result<Option<String>> {
        let name = format!("{name}^{{commit}}");
        let find = [
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &name,
        ];
        let output = run(git_in(&self.root).args(find))?;
        Ok(output.status.success().then(|| line(&output.stdout)))
    }

    /// What an error about an object that is missing adds.
    pub(super) fn hint(&self) -> &'static str {
        if self.is_partial {
            " (the clone is partial; `git archive --output=/dev/null REF` gets the files of REF)"
        } else {
            ""
        }
    }

    /// What a command prints that only asks.
    pub(super) fn query(&self, args: &[&str]) -> Result<Vec<u8>> {
        let what = format!("`git {}` failed", args.join(" "));
        checked(git_in(&self.root).args(args), &what)
    }

    /// A file of the git directory.
    pub(super) fn git_path(&self, name: &str) -> Result<PathBuf> {
        let args = ["rev-parse", "--path-format=absolute", "--git-path", name];
        self.query(&args).map(|output| printed_path(&output))
    }

    /// What the index lists, and how the files are.
    pub(super) fn listed(&self) -> Result<Vec<Listed>> {
        let written = fs::metadata(self.git_path("index")?).and_then(|data| data.modified());
        let written = written.unwrap_or(SystemTime::UNIX_EPOCH);
        let all = self.listing()?;
        let mut listed = Vec::new();
        let mut rest = &all[..];
        while let Some(end) = rest.iter().position(|byte| *byte == 0) {
            // A letter and a blank stand before each: `S` if it is skipped.
            let (tag, entry) = rest[..end].split_at(2.min(end));
            // Five lines follow.
            let mut lines = rest[end + 1..].splitn(6, |byte| *byte == b'\n');
            let noted: Vec<_> = lines.by_ref().take(5).map(line).collect();
            let noted = noted.join("\n");
            rest = lines.next().unwrap_or_default();
            let Some(entry) = Entry::parse(entry) else {
                continue;
            };
            let file = self.root.join(&entry.path);
            listed.push(Listed {
                is_skipped: tag.eq_ignore_ascii_case(b"S ") && file.symlink_metadata().is_err(),
                is_unchanged: is_as_noted(&file, &noted, written),
                entry,
            });
        }
        Ok(listed)
    }
}

impl Worktree {
    /// The index as git prints it.
    fn listing(&self) -> Result<Vec<u8>> {
        // A directory that is left out as a whole stays one: to expand it git would write trees.
        let args = ["ls-files", "-v", "--stage", "--sparse", "--debug", "-z"];
        let index = self.git_path("index")?;
        let files = index.parent().map(fs::read_dir).transpose()?;
        let files = files.into_iter().flatten().filter_map(Result::ok);
        let is_shared = |file: &fs::DirEntry| {
            let name = file.file_name();
            name.as_encoded_bytes().starts_with(b"sharedindex.")
        };
        let shared: Vec<_> = files.filter(is_shared).map(|file| file.path()).collect();
        if shared.is_empty() {
            return self.query(&args);
        }
        // Git renews the time of a shared index that it reads. So it reads copies, in a repository without anything else.
        let copy = tempfile::tempdir()?;
        let format = line(&self.query(&["rev-parse", "--show-object-format"])?);
        let format = format!("--object-format={format}");
        let init = ["init", "--quiet", "--bare", "--template=", &format];
        checked(git_in(copy.path()).args(init), "cannot make a repository")?;
        for file in shared.iter().chain([&index]) {
            let name = file.file_name().unwrap_or_default();
            fs_err::copy(file, copy.path().join(name))?;
        }
        let mut list = git_in(&self.root);
        list.args(args).env("GIT_DIR", copy.path());
        list.env("GIT_WORK_TREE", &self.root);
        checked(&mut list, "cannot list the index")
    }
}

/// A path that was printed: all but the end of the line is part of it.
fn printed_path(output: &[u8]) -> PathBuf {
    path(output.strip_suffix(b"\n").unwrap_or(output))
}

/// Whether a file is as the lines of `ls-files --debug` say, among them `mtime: SECONDS:NANOSECONDS` and `size: BYTES`. One
/// that was written when the index was, or later, may have been changed without a trace in these.
fn is_as_noted(file: &Path, noted: &str, index: SystemTime) -> bool {
    let Ok(data) = fs::symlink_metadata(file) else {
        return false;
    };
    // The low half is noted. Some who write an index know no parts of seconds.
    let (seconds, size) = (data.mtime() as u32, data.size() as u32);
    let times = [0, data.mtime_nsec()].map(|nanos| format!(" mtime: {seconds}:{nanos}\n"));
    !data.is_dir()
        && data.modified().is_ok_and(|modified| modified < index)
        && times.iter().any(|time| noted.contains(time))
        && noted.contains(&format!(" size: {size}\t"))
}

#[cfg(test)]
mod tests {
    use std::fs::{File, FileTimes};
    use std::time::{Duration, SystemTime};

    use super::is_as_noted;

    #[test]
    fn a_file_is_as_noted_by_its_time_and_size() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("file");
        std::fs::write(&path, "four").expect("writable");
        let time = SystemTime::UNIX_EPOCH + Duration::new(1_700_000_000, 12);
        let file = File::options().write(true).open(&path);
        let times = FileTimes::new().set_modified(time);
        file.and_then(|file| file.set_times(times)).expect("ours");
        let later = time + Duration::from_nanos(1);
        for (mtime, size, index, expected) in [
            ("1700000000:12", "4", later, true),
            ("1700000000:0", "4", later, true),
            ("1700000000:13", "4", later, false),
            ("1700000001:12", "4", later, false),
            ("1700000000:12", "5", later, false),
            ("1700000000:12", "4", time, false),
        ] {
            let noted = format!("  ctime: 1:2\n  mtime: {mtime}\n  size: {size}\tflags: 0");
            assert_eq!(is_as_noted(&path, &noted, index), expected, "{noted}");
        }
    }
}
