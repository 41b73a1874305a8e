//! The command's own repository: bare, below the target directory, with objects of its own. It borrows from the user's
//! object directories, and knows nothing of the user's refs, hooks, filters and submodules.

use std::cell::RefCell;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::Repository;
use super::call::{checked, forget, git_in, quoted};
use super::index::Index;
use super::worktree::Worktree;

/// Variables that bring the settings of others.
const CONFIGURATIONS: [&str; 3] = ["GIT_CONFIG", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT"];
/// Files of a git directory that say which files there are and what their bytes are.
const INFO: [&str; 2] = ["exclude", "attributes"];

/// Where objects that are written are looked for before.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Objects {
    /// Only in the command's own: git would renew the time of one that it finds with the user.
    Own,
    /// With the user too.
    All,
}

impl Repository {
    /// Opens the one at `dir`, or makes it, for objects as `worktree` has them.
    pub(in crate::bench_compare) fn open(worktree: Worktree, dir: &Path) -> Result<Self> {
        let own = Self {
            lenders: RefCell::new(vec![worktree.objects.clone()]),
            worktree,
            dir: dir.to_owned(),
        };
        let init = || {
            fs_err::create_dir_all(dir)?;
            let mut init = own.git(Objects::Own);
            init.args(["init", "--quiet", "--bare", "--template="]);
            init.arg(format!("--object-format={}", own.worktree.format));
            checked(&mut init, &format!("cannot create {}", dir.display()))
        };
        // Git refuses one with objects of another kind.
        if init().is_err() {
            fs_err::remove_dir_all(dir)?;
            init()?;
        }
        Ok(own)
    }

    /// Also borrows from another repository.
    pub(super) fn borrow_from(&self, worktree: &Worktree) {
        let mut lenders = self.lenders.borrow_mut();
        if !lenders.contains(&worktree.objects) {
            lenders.push(worktree.objects.clone());
        }
    }

    /// A command that needs neither an index nor files.
    pub(super) fn git(&self, objects: Objects) -> Command {
        self.git_at(&self.dir, objects)
    }

    pub(super) fn git_at(&self, at: &Path, objects: Objects) -> Command {
        let mut command = git_in(at);
        for name in CONFIGURATIONS {
            command.env_remove(name);
        }
        command
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_DIR", &self.dir);
        if objects == Objects::All {
            let lenders = self.lenders.borrow();
            let lenders: Vec<Vec<u8>> = lenders.iter().map(|lender| quoted(lender)).collect();
            let lenders = OsString::from_vec(lenders.join(&b':'));
            command.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", lenders);
        }
        command
    }

    /// An empty index of this name, for the files of `worktree`.
    pub(super) fn index<'a>(&'a self, worktree: &'a Worktree, name: &str) -> Result<Index<'a>> {
        let file = self.dir.join(name);
        forget(&file)?;
        self.index_of(worktree, &worktree.root, &file)
    }

    /// The index in `file`, for files that lie in `root` and are otherwise as those of `worktree`.
    pub(super) fn index_of<'a>(
        &'a self,
        worktree: &'a Worktree,
        root: &Path,
        file: &Path,
    ) -> Result<Index<'a>> {
        let info = self.dir.join("info");
        fs_err::create_dir_all(&info)?;
        for name in INFO {
            let theirs = worktree.git_path(&format!("info/{name}"))?;
            fs_err::write(info.join(name), std::fs::read(theirs).unwrap_or_default())?;
        }
        Ok(Index {
            own: self,
            settings: &worktree.settings,
            root: root.to_owned(),
            file: file.to_owned(),
        })
    }
}
