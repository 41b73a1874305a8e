//! The user's repository, read only: refs, a snapshot of the working tree, and trees written out.
//!
//! Nothing of it is changed, whatever its configuration, and no program of the user's is run. Git is asked about the
//! user's repository only where names lie and what they stand for (`worktree`); everything else happens in a repository
//! of the command's own (`store`), which borrows objects: with its own index and settings, without refs, hooks, filters
//! and submodules.

mod call;
mod index;
mod store;
mod trees;
mod worktree;

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow, bail};

use self::call::{checked, fed, forget, line, run};
use self::store::Objects;
pub(super) use self::worktree::Worktree;
use crate::report::model::WORKING_TREE;

/// Author, committer and time of a snapshot: the same tree gives the same commit.
const IDENTITY: [(&str, &str); 6] = [
    ("GIT_AUTHOR_NAME", "bench-compare"),
    ("GIT_AUTHOR_EMAIL", "bench-compare@localhost"),
    ("GIT_AUTHOR_DATE", "2000-01-01T00:00:00Z"),
    ("GIT_COMMITTER_NAME", "bench-compare"),
    ("GIT_COMMITTER_EMAIL", "bench-compare@localhost"),
    ("GIT_COMMITTER_DATE", "2000-01-01T00:00:00Z"),
];

/// A commit, or a snapshot that looks like one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Revision {
    /// As the user called it.
    pub(super) name: String,
    pub(super) commit: String,
    /// What is built: the commit's tree, with the files of submodules and without what filters did.
    pub(super) tree: String,
    /// Whether it is a snapshot with changes that are not committed.
    pub(super) dirty: bool,
    /// In what the tree differs from a checkout.
    pub(super) notes: Vec<String>,
}

/// A hash of a file's bytes.
pub(super) fn hash(path: &Path) -> Result<String> {
    let mut command = Command::new("git");
    command
        .args(["hash-object", "--no-filters", "--"])
        .arg(path);
    let what = format!("cannot hash {}", path.display());
    checked(&mut command, &what).map(|output| line(&output))
}

/// A hash of a text.
pub(super) fn hash_text(text: &str) -> Result<String> {
    let mut command = Command::new("git");
    command.args(["hash-object", "--stdin"]);
    fed(&mut command, text.as_bytes(), "cannot hash a text").map(|output| line(&output))
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
    /// The working tree around `dir`.
    pub(super) fn find(dir: &Path) -> Result<Worktree> {
        Worktree::find(dir)?.ok_or_else(|| {
            anyhow!(
                "{} is in no git repository with a working tree; go into one and run it again",
                dir.display()
            )
        })
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
        let commit = if dirty {
            let mut commit = self.git(Objects::All);
            commit
                .envs(IDENTITY)
                .args(["-c", "commit.gpgSign=false", "commit-tree", &tree])
                .args(["-p", &head, "-m", "snapshot of a working tree"]);
            line(&checked(&mut commit, "cannot note a snapshot")?)
        } else {
            head
        };
        Ok(Revision {
            name: WORKING_TREE.to_owned(),
            commit,
            tree,
            dirty,
            notes: Vec::new(),
        })
    }

    /// The object at `path` in a revision.
    pub(super) fn object(&self, revision: &Revision, path: &str) -> Result<Option<String>> {
        let name = format!("{}:{path}", revision.tree);
        let mut find = self.git(Objects::All);
        let output = run(find.args(["rev-parse", "--verify", "--quiet", &name]))?;
        Ok(output.status.success().then(|| line(&output.stdout)))
    }

    /// Makes `dir` hold the revision's files and no others that git knew of there; files that are the same
    /// already are not touched. `index` keeps what was written.
    pub(super) fn write_out(&self, revision: &Revision, dir: &Path, index: &Path) -> Result<()> {
        let is_whole = index.exists() && !index.with_extension("index.lock").exists();
        if !is_whole || self.check_out(revision, dir, index).is_err() {
            // A run that was killed may have left anything.
            forget(index)?;
            fs_err::create_dir_all(dir)?;
            fs_err::remove_dir_all(dir)?;
            fs_err::create_dir_all(dir)?;
            self.check_out(revision, dir, index)?;
        }
        Ok(())
    }

    fn check_out(&self, revision: &Revision, dir: &Path, index: &Path) -> Result<()> {
        let index = self.index_of(&self.worktree, dir, index)?;
        let hint = self.worktree.hint();
        let what = format!("cannot write {} to {}{hint}", revision.name, dir.display());
        for args in [
            &["read-tree", "--reset", "-u", &revision.tree][..],
            // What was changed there by hand is written again.
            &["checkout-index", "--all", "--force", "--quiet"][..],
        ] {
            checked(&mut index.git(Objects::All, args), &what)?;
        }
        Ok(())
    }
}
