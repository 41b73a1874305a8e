//! The user's repository, read only: refs, a snapshot of the working tree, and trees written out.
//!
//! Nothing of it is changed: no ref, no index, no stash, no record of a worktree, and new objects go
//! into an object directory of the command's own, which borrows from the repository's.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, ensure};

use super::failure::Failure;
use crate::report::model::WORKING_TREE;

/// Variables with which a caller, a hook for instance, points git somewhere else.
const REDIRECTIONS: [&str; 7] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_PREFIX",
    "GIT_NAMESPACE",
];
/// Settings that would start daemons or leave files out.
const SETTINGS: [&str; 4] = [
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.splitIndex=false",
    "core.sparseCheckout=false",
];
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
    pub(super) tree: String,
    /// Whether it is a snapshot with changes that are not committed.
    pub(super) dirty: bool,
}

/// The repository around a directory.
pub(super) struct Repository {
    /// The top of the working tree.
    pub(super) root: PathBuf,
    git_dir: PathBuf,
    /// Where new objects go, once it is known.
    objects: Option<PathBuf>,
}

impl Repository {
    /// Finds the repository around `dir`.
    pub(super) fn find(dir: &Path) -> Result<Self> {
        let query = |what: &str| -> Result<Option<PathBuf>> {
            let output = git_in(dir).args(["rev-parse", what]).output();
            let output = output.context("cannot start git; install it or put it on the PATH")?;
            Ok(output.status.success().then(|| text(&output).into()))
        };
        let (root, git_dir) = (query("--show-toplevel")?, query("--absolute-git-dir")?);
        let (Some(root), Some(git_dir)) = (root, git_dir) else {
            return Err(Failure::usage(format!(
                "{} is in no git repository with a working tree; go into one and run it again",
                dir.display()
            )));
        };
        Ok(Self {
            root,
            git_dir,
            objects: None,
        })
    }

    /// From now on new objects go to `dir`.
    pub(super) fn write_objects_to(&mut self, dir: &Path) -> Result<()> {
        let real = self.query(&[
            "rev-parse",
            "--path-format=absolute",
            "--git-path",
            "objects",
        ])?;
        let info = dir.join("info");
        std::fs::create_dir_all(&info)
            .with_context(|| format!("cannot create {}", info.display()))?;
        let alternates = info.join("alternates");
        std::fs::write(&alternates, real + "\n")
            .with_context(|| format!("cannot write {}", alternates.display()))?;
        self.objects = Some(dir.to_owned());
        Ok(())
    }

    /// The commit a user's name stands for.
    pub(super) fn resolve(&self, name: &str) -> Result<Revision> {
        match self.commit(name)? {
            Some(commit) => Ok(Revision {
                name: name.to_owned(),
                tree: self.query(&["rev-parse", "--verify", &format!("{commit}^{{tree}}")])?,
                commit,
                dirty: false,
            }),
            None => {
                let shallow = self.query(&["rev-parse", "--is-shallow-repository"])? == "true";
                let next = if shallow {
                    "the clone is shallow, `git fetch --unshallow` gets the rest"
                } else {
                    "`git log --oneline --all` shows what there is, `git fetch` gets more"
                };
                Err(Failure::usage(format!(
                    "`{name}` is no commit of this repository; {next}"
                )))
            }
        }
    }

    fn commit(&self, name: &str) -> Result<Option<String>> {
        let name = format!("{name}^{{commit}}");
        let output = self.run(self.git().args([
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &name,
        ]))?;
        Ok(output.status.success().then(|| text(&output)))
    }

    /// The working tree as it is, with staged, unstaged and untracked changes, without what is ignored and
    /// without changes of `excluded`, files and directories that may lie in it. `index` is a file to work with.
    pub(super) fn snapshot(&self, index: &Path, excluded: &[PathBuf]) -> Result<Revision> {
        let head = self.resolve("HEAD").map_err(|_| {
            Failure::usage("the repository has no commit yet; commit something first")
        })?;
        let real = self.query(&["rev-parse", "--path-format=absolute", "--git-path", "index"])?;
        remove(&index.with_extension("index.lock"))?;
        remove(index)?;
        copy_index(Path::new(&real), index)
            .with_context(|| format!("cannot copy the index to {}", index.display()))?;
        let mut add = self.git();
        add.env("GIT_INDEX_FILE", index);
        add.args([
            "-c",
            "advice.addEmbeddedRepo=false",
            "add",
            "-A",
            "--",
            ":/",
        ]);
        // Git refuses to exclude what is ignored anyway.
        for path in excluded {
            if let Ok(path) = path.strip_prefix(&self.root)
                && !self.ignores(path)?
            {
                add.arg(format!(":(top,exclude,literal){}", path.display()));
            }
        }
        self.checked(&mut add, "cannot take a snapshot of the working tree")?;
        let mut write = self.git();
        write.env("GIT_INDEX_FILE", index).arg("write-tree");
        let tree = self.checked(&mut write, "cannot take a snapshot of the working tree")?;
        remove(index)?;
        let name = WORKING_TREE.to_owned();
        if tree == head.tree {
            return Ok(Revision { name, ..head });
        }
        let mut commit = self.git();
        commit
            .envs(IDENTITY)
            .args(["-c", "commit.gpgSign=false", "commit-tree", &tree])
            .args(["-p", &head.commit, "-m", "snapshot of a working tree"]);
        Ok(Revision {
            name,
            commit: self.checked(&mut commit, "cannot take a snapshot of the working tree")?,
            tree,
            dirty: true,
        })
    }

    fn ignores(&self, path: &Path) -> Result<bool> {
        let output = self.run(self.git().args(["check-ignore", "--quiet"]).arg(path))?;
        Ok(output.status.success())
    }

    /// The object at `path` in a revision.
    pub(super) fn object(&self, revision: &Revision, path: &str) -> Result<Option<String>> {
        let name = format!("{}:{path}", revision.tree);
        let output = self.run(self.git().args(["rev-parse", "--verify", "--quiet", &name]))?;
        Ok(output.status.success().then(|| text(&output)))
    }

    /// The text of a file in a revision.
    pub(super) fn file(&self, revision: &Revision, path: &str) -> Result<String> {
        let name = format!("{}:{path}", revision.tree);
        self.query(&["cat-file", "blob", &name])
    }

    /// Makes `dir` hold the revision's files and no others that git knew of there; files that are the same
    /// already are not touched. `index` keeps what was written.
    pub(super) fn write_out(&self, revision: &Revision, dir: &Path, index: &Path) -> Result<()> {
        remove(&index.with_extension("index.lock"))?;
        if self.try_write_out(revision, dir, index).is_ok() {
            return Ok(());
        }
        // A run that was killed may have left anything.
        remove(index)?;
        if dir.exists() {
            std::fs::remove_dir_all(dir)
                .with_context(|| format!("cannot remove {}", dir.display()))?;
        }
        self.try_write_out(revision, dir, index)
    }

    fn try_write_out(&self, revision: &Revision, dir: &Path, index: &Path) -> Result<()> {
        std::fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
        if !index.exists() && std::fs::read_dir(dir)?.next().is_some() {
            std::fs::remove_dir_all(dir)?;
            std::fs::create_dir_all(dir)?;
        }
        for args in [
            &["read-tree", "--reset", "-u", &revision.tree][..],
            // What was changed there by hand is written again.
            &["checkout-index", "--all", "--force", "--quiet"][..],
        ] {
            let mut command = self.git_at(dir);
            command
                .env("GIT_DIR", &self.git_dir)
                .env("GIT_WORK_TREE", dir)
                .env("GIT_INDEX_FILE", index)
                .args(args);
            let what = format!("cannot write {} to {}", revision.name, dir.display());
            self.checked(&mut command, &what)?;
        }
        Ok(())
    }

    fn git(&self) -> Command {
        self.git_at(&self.root)
    }

    fn git_at(&self, dir: &Path) -> Command {
        let mut command = git_in(dir);
        if let Some(objects) = &self.objects {
            command.env("GIT_OBJECT_DIRECTORY", objects);
        }
        command
    }

    fn run(&self, command: &mut Command) -> Result<Output> {
        command.output().context("cannot start git")
    }

    fn checked(&self, command: &mut Command, what: &str) -> Result<String> {
        let output = self.run(command)?;
        ensure!(
            output.status.success(),
            "{what}: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
        Ok(text(&output))
    }

    fn query(&self, args: &[&str]) -> Result<String> {
        let what = format!("`git {}` failed", args.join(" "));
        self.checked(self.git().args(args), &what)
    }
}

fn git_in(dir: &Path) -> Command {
    let mut command = Command::new("git");
    for name in REDIRECTIONS {
        command.env_remove(name);
    }
    // Not even to refresh the index.
    command.env("GIT_OPTIONAL_LOCKS", "0");
    command.stdin(Stdio::null()).arg("-C").arg(dir);
    for setting in SETTINGS {
        command.args(["-c", setting]);
    }
    command
}

/// Copies an index, if there is one, with its time: a file that was changed in the second in which the index
/// was written looks the same by its time, and git knows by the index's time which files to read.
fn copy_index(from: &Path, to: &Path) -> std::io::Result<()> {
    if !from.exists() {
        return Ok(());
    }
    std::fs::copy(from, to)?;
    let modified = std::fs::metadata(from)?.modified()?;
    let times = std::fs::FileTimes::new().set_modified(modified);
    std::fs::File::options()
        .write(true)
        .open(to)?
        .set_times(times)
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout)
        .trim_end()
        .to_owned()
}

fn remove(file: &Path) -> Result<()> {
    match std::fs::remove_file(file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", file.display()))
        }
        _ => Ok(()),
    }
}
