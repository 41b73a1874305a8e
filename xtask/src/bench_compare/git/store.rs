//! The command's own repository: bare, below the target directory, with objects of its own. It borrows from the user's
//! object directories, and knows nothing of the user's refs, hooks, filters and submodules.

use std::cell::RefCell;
use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::call::{checked, git_in, line, quoted, remove, run};
use super::worktree::{INFO, SHARED, Worktree};

/// Variables that bring the settings of others.
const CONFIGURATIONS: [&str; 3] = ["GIT_CONFIG", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT"];

/// The repository.
pub(super) struct Store {
    dir: PathBuf,
    /// Object directories of the user's.
    lenders: RefCell<Vec<PathBuf>>,
}

/// Where objects that are written are looked for before.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Objects {
    /// Only in the command's own: git would renew the time of one that it finds with the user.
    Own,
    /// With the user too.
    All,
}

impl Store {
    /// Opens the one at `dir`, or makes it, for objects as `worktree` has them.
    pub(super) fn open(dir: &Path, worktree: &Worktree) -> Result<Self> {
        let store = Self {
            dir: dir.to_owned(),
            lenders: RefCell::new(vec![worktree.objects.clone()]),
        };
        let ask = ["rev-parse", "--show-object-format"];
        let format = run(store.bare(Objects::Own).args(ask))?;
        // Another kind, or what a process left that was killed.
        if !format.status.success() || line(&format.stdout) != worktree.format {
            match fs::remove_dir_all(dir) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(error).with_context(|| format!("cannot remove {}", dir.display()));
                }
                _ => {}
            }
            fs_err::create_dir_all(dir)?;
            let mut init = store.bare(Objects::Own);
            init.args(["init", "--quiet", "--bare", "--template="]);
            init.arg(format!("--object-format={}", worktree.format));
            checked(&mut init, &format!("cannot create {}", dir.display()))?;
        }
        let cannot = || format!("cannot read {}", dir.display());
        for entry in fs::read_dir(dir).with_context(cannot)? {
            let entry = entry.with_context(cannot)?;
            if entry.file_name().as_bytes().starts_with(SHARED) {
                remove(&entry.path())?;
            }
        }
        Ok(store)
    }

    /// A file of its own.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Also borrows from another repository.
    pub(super) fn borrow_from(&self, worktree: &Worktree) {
        let mut lenders = self.lenders.borrow_mut();
        if !lenders.contains(&worktree.objects) {
            lenders.push(worktree.objects.clone());
        }
    }

    /// A command that needs neither an index nor files.
    pub(super) fn bare(&self, objects: Objects) -> Command {
        self.command(&self.dir, objects)
    }

    fn command(&self, at: &Path, objects: Objects) -> Command {
        let mut command = git_in(at);
        for name in CONFIGURATIONS {
            command.env_remove(name);
        }
        command
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_DIR", &self.dir);
        if objects == Objects::All {
            let mut all = OsString::new();
            for lender in &*self.lenders.borrow() {
                if !all.is_empty() {
                    all.push(":");
                }
                all.push(quoted(lender));
            }
            command.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", all);
        }
        command
    }

    /// The way to call git for files of `worktree`.
    pub(super) fn with<'a>(&'a self, worktree: &'a Worktree, index: &'a Path) -> Result<With<'a>> {
        self.with_files(worktree, &worktree.root, index)
    }

    /// The way to call git for files that lie in `root` and are otherwise as those of `worktree`.
    pub(super) fn with_files<'a>(
        &'a self,
        worktree: &'a Worktree,
        root: &'a Path,
        index: &'a Path,
    ) -> Result<With<'a>> {
        let info = self.dir.join("info");
        fs_err::create_dir_all(&info)?;
        for name in INFO {
            let theirs = worktree.git_path(&format!("info/{name}"))?;
            let bytes = fs::read(theirs).unwrap_or_default();
            let path = info.join(name);
            fs_err::write(&path, bytes)?;
        }
        Ok(With {
            store: self,
            settings: &worktree.settings,
            root,
            index,
        })
    }
}

/// Calls of git for an index and files.
pub(super) struct With<'a> {
    store: &'a Store,
    settings: &'a [OsString],
    pub(super) root: &'a Path,
    index: &'a Path,
}

impl With<'_> {
    /// A command.
    pub(super) fn git(&self, objects: Objects, args: &[&str]) -> Command {
        let mut command = self.store.command(self.root, objects);
        for setting in self.settings {
            command.arg("-c").arg(setting);
        }
        command
            .args(["-c", "core.safecrlf=false"])
            .env("GIT_WORK_TREE", self.root)
            .env("GIT_INDEX_FILE", self.index)
            .args(args);
        command
    }
}
