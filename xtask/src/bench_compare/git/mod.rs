//! The user's repository, read only: refs, a snapshot of the working tree, and trees written out.
//!
//! Nothing of it is changed, whatever its configuration, and no program of the user's is run. Git is asked about the
//! user's repository only where names lie and what they stand for (`worktree`); everything else happens in a repository
//! of the command's own: bare, below the target directory, with its own objects, index and settings. It borrows from the
//! user's object directories, and knows nothing of the user's refs, hooks, filters and submodules.

mod call;
mod index;
mod trees;
mod worktree;

use std::cell::RefCell;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use self::call::{checked, fed, git_in, line, quoted, run};
use self::index::Index;
pub(super) use self::worktree::Worktree;
use crate::report::model::WORKING_TREE;
use crate::workspace::empty;

/// Files of a git directory that say which files there are and what their bytes are.
const INFO: [&str; 2] = ["exclude", "attributes"];

/// The variable that lists directories from which git borrows objects.
const LENDERS: &str = "GIT_ALTERNATE_OBJECT_DIRECTORIES";

/// A commit, or a snapshot of the working tree.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Revision {
    /// As the user called it.
    pub(super) name: String,
    /// The hash of the commit; of a snapshot with changes the hash of its tree.
    pub(super) commit: String,
    /// What is built: the commit's tree, with the files of submodules and without what filters did.
    pub(super) tree: String,
    /// Whether it is a snapshot with changes that are not committed.
    pub(super) dirty: bool,
    /// In what the tree differs from a checkout.
    pub(super) notes: Vec<String>,
}

/// A hash of bytes.
pub(super) fn hash(bytes: &[u8]) -> Result<String> {
    let mut command = Command::new("git");
    command.args(["hash-object", "--stdin"]);
    fed(&mut command, bytes, "cannot hash").map(|output| line(&output))
}

/// The repository around a directory, and the command's own beside it.
pub(super) struct Repository {
    worktree: Worktree,
    /// Of the command's own repository.
    dir: PathBuf,
    /// Object directories of the user's, from which it borrows.
    lenders: RefCell<Vec<PathBuf>>,
}

impl Repository {
    /// Opens the one at `dir`, or makes it, for objects as `worktree` has them.
    pub(super) fn open(worktree: Worktree, dir: &Path) -> Result<Self> {
        let format = worktree.query(&["rev-parse", "--show-object-format"])?;
        let format = format!("--object-format={}", line(&format));
        let own = Self {
            lenders: RefCell::new(vec![worktree.objects.clone()]),
            worktree,
            dir: dir.to_owned(),
        };
        let init = || {
            fs_err::create_dir_all(dir)?;
            let mut init = own.git_at(dir);
            init.args(["init", "--quiet", "--bare", "--template=", &format]);
            checked(&mut init, &format!("cannot create {}", dir.display()))
        };
        // Git refuses one with objects of another kind.
        if init().is_err() {
            fs_err::remove_dir_all(dir)?;
            init()?;
        }
        Ok(own)
    }

    /// The commit a user's name stands for.
    pub(super) fn resolve(&self, name: &str) -> Result<Revision> {
        let Some(commit) = self.worktree.commit(name)? else {
            let ask = ["rev-parse", "--is-shallow-repository"];
            let next = if line(&self.worktree.query(&ask)?) == "true" {
                "the clone is shallow, `git fetch --unshallow` gets the rest"
            } else {
                "`git log --oneline --all` shows what there is, `git fetch` gets more"
            };
            bail!("`{name}` is no commit of this repository; {next}");
        };
        let (tree, notes) = self.committed(&commit, name)?;
        Ok(Revision {
            name: name.to_owned(),
            commit,
            tree,
            dirty: false,
            notes,
        })
    }

    /// The working tree as it is, with staged, unstaged and untracked changes, without what is ignored and
    /// without changes of `excluded`, files and directories that may lie in it.
    pub(super) fn snapshot(&self, excluded: &[PathBuf]) -> Result<Revision> {
        let head = self.worktree.commit("HEAD")?;
        let head = head.context("the repository has no commit yet; commit something first")?;
        let (committed, _) = self.committed(&head, "HEAD")?;
        let tree = self.current(excluded)?;
        let dirty = tree != committed;
        Ok(Revision {
            name: WORKING_TREE.to_owned(),
            commit: if dirty { tree.clone() } else { head },
            tree,
            dirty,
            notes: Vec::new(),
        })
    }

    /// The object at `path` in a revision.
    pub(super) fn object(&self, revision: &Revision, path: &str) -> Result<Option<String>> {
        let name = format!("{}:{path}", revision.tree);
        let mut find = self.git_at(&self.dir);
        let output = run(find.args(["rev-parse", "--verify", "--quiet", &name]))?;
        Ok(output.status.success().then(|| line(&output.stdout)))
    }

    /// Makes `dir` hold the revision's files and no others that git knew of there; files that are the same
    /// already are not touched. `index` keeps what was written.
    pub(super) fn write_out(&self, revision: &Revision, dir: &Path, index: &Path) -> Result<()> {
        if !index.exists() || self.check_out(revision, dir, index).is_err() {
            self.write_anew(revision, dir, index)?;
        }
        Ok(())
    }

    /// Writes all files of the revision, whatever is in `dir`: a run that was killed may have left anything.
    pub(super) fn write_anew(&self, revision: &Revision, dir: &Path, index: &Path) -> Result<()> {
        let _ = fs_err::remove_file(index);
        let _ = fs_err::remove_file(index.with_extension("index.lock"));
        empty(dir)?;
        self.check_out(revision, dir, index)
    }

    /// Git writes again what was changed there by hand. It fails where a run that was killed has left its lock.
    fn check_out(&self, revision: &Revision, dir: &Path, index: &Path) -> Result<()> {
        let index = self.index_of(&self.worktree, dir, index)?;
        let hint = self.worktree.hint();
        let what = format!("cannot write {} to {}{hint}", revision.name, dir.display());
        let mut write = index.git(&["read-tree", "--reset", "-u", &revision.tree]);
        checked(&mut write, &what).map(drop)
    }

    /// A command in the command's own repository, which also finds the user's objects.
    fn git_at(&self, at: &Path) -> Command {
        let mut command = git_in(at);
        let lenders = self.lenders.borrow();
        let lenders: Vec<Vec<u8>> = lenders.iter().map(|lender| quoted(lender)).collect();
        let lenders = OsString::from_vec(lenders.join(&b':'));
        command
            .env_remove("GIT_CONFIG_PARAMETERS")
            .env_remove("GIT_CONFIG_COUNT")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_DIR", &self.dir)
            .env(LENDERS, lenders);
        command
    }

    /// An empty index of this name, for the files of `worktree`.
    fn index<'a>(&'a self, worktree: &'a Worktree, name: &str) -> Result<Index<'a>> {
        let dir = self.dir.join(name);
        empty(&dir)?;
        self.index_of(worktree, &worktree.root, &dir.join("index"))
    }

    /// The index in `file`, for files that lie in `root` and are otherwise as those of `worktree`.
    fn index_of<'a>(
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
