//! A working tree of the user's, or of a submodule in it: where its parts lie and how it is set up. It is only read.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::call::{checked, git_in, line, lock_of, parts, path, remove, run};

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
/// Files of the git directory that say the same.
pub(super) const INFO: [&str; 2] = ["exclude", "attributes"];
/// What the names of files begin with that several indices share.
pub(super) const SHARED: &[u8] = b"sharedindex.";

/// A working tree.
pub(in crate::bench_compare) struct Worktree {
    /// Its top.
    pub(in crate::bench_compare) root: PathBuf,
    pub(super) objects: PathBuf,
    /// The kind of names that objects have.
    pub(super) format: String,
    /// `key=value`, to be given with `-c`.
    pub(super) settings: Vec<OsString>,
    /// Names of filters for which a program is given.
    pub(super) filters: BTreeSet<Vec<u8>>,
    /// Whether objects may be left with a server.
    pub(super) is_partial: bool,
}

impl Worktree {
    /// The one around `dir`, if there is one.
    pub(super) fn find(dir: &Path) -> Result<Option<Self>> {
        let output = run(git_in(dir).args(["rev-parse", "--show-toplevel"]))?;
        if !output.status.success() {
            return Ok(None);
        }
        let mut found = Self {
            root: path(&output.stdout),
            objects: PathBuf::new(),
            format: String::new(),
            settings: Vec::new(),
            filters: BTreeSet::new(),
            is_partial: false,
        };
        found.objects = found.git_path("objects")?;
        found.format = line(&found.query(&["rev-parse", "--show-object-format"])?);
        found.read_settings()?;
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

    /// The commit that is checked out, if there is one.
    pub(super) fn head(&self) -> Result<Option<String>> {
        let find = ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"];
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

    fn read_settings(&mut self) -> Result<()> {
        let all = self.query(&["config", "-z", "--list"])?;
        for entry in parts(&all) {
            // Without a value the key stands alone, and means `true`.
            let at = entry.iter().position(|byte| *byte == b'\n');
            let key = String::from_utf8_lossy(&entry[..at.unwrap_or(entry.len())]);
            if KEPT.contains(&&*key) {
                let mut setting = entry.to_vec();
                if let Some(at) = at {
                    setting[at] = b'=';
                }
                self.settings.push(OsString::from_vec(setting));
            }
            // `filter.NAME.clean`, where the name may have points.
            if let Some((name, _)) = key.strip_prefix("filter.").and_then(|k| k.rsplit_once('.')) {
                self.filters.insert(name.as_bytes().to_vec());
            }
            self.is_partial |= key == "extensions.partialclone";
            self.is_partial |= key.starts_with("remote.") && key.ends_with(".promisor");
        }
        Ok(())
    }

    /// What a command prints that only asks.
    pub(super) fn query(&self, args: &[&str]) -> Result<Vec<u8>> {
        let what = format!("`git {}` failed", args.join(" "));
        checked(git_in(&self.root).args(args), &what)
    }

    /// A file of the git directory.
    pub(super) fn git_path(&self, name: &str) -> Result<PathBuf> {
        let args = ["rev-parse", "--path-format=absolute", "--git-path", name];
        self.query(&args).map(|output| path(&output))
    }

    /// Copies the index to `to`, if there is one, with its time: a file that was changed in the second in which the
    /// index was written looks the same by its time, and git knows by the index's time which files to read. What the
    /// index shares with others goes into `shared`.
    pub(super) fn copy_index(&self, to: &Path, shared: &Path) -> Result<()> {
        remove(to)?;
        remove(&lock_of(to))?;
        let from = self.git_path("index")?;
        if !from.exists() {
            return Ok(());
        }
        let copy = |from: &Path, to: &Path| -> std::io::Result<()> {
            fs::copy(from, to)?;
            let modified = fs::metadata(from)?.modified()?;
            let times = fs::FileTimes::new().set_modified(modified);
            fs::File::options().write(true).open(to)?.set_times(times)
        };
        let cannot = || format!("cannot copy the index to {}", to.display());
        copy(&from, to).with_context(cannot)?;
        let Some(directory) = from.parent() else {
            return Ok(());
        };
        for entry in fs::read_dir(directory).with_context(cannot)? {
            let entry = entry.with_context(cannot)?;
            let name = entry.file_name();
            if name.as_bytes().starts_with(SHARED) {
                copy(&entry.path(), &shared.join(name)).with_context(cannot)?;
            }
        }
        Ok(())
    }
}
