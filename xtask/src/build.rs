//! Calls of cargo with flags of their own, each kind in a target directory of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use cargo_metadata::Message;

use crate::workspace::Workspace;

/// The words of a line, and further arguments.
pub(crate) fn words<'w>(line: &'w str, more: impl IntoIterator<Item = &'w str>) -> Vec<&'w str> {
    line.split(' ').chain(more).collect()
}

const NO_CARGO: &str = "cannot start cargo; is it on the PATH?";

/// One kind of build: flags, environment, target directory.
#[derive(Clone)]
pub(crate) struct Build {
    root: PathBuf,
    /// Printed before the command.
    env: Vec<(String, String)>,
    target: PathBuf,
}

#[derive(Clone, Debug)]
pub(crate) struct Binary {
    /// The name of the target; of a test the file in `tests/`.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
}

impl Binary {
    /// The call that runs one test of it.
    pub(crate) fn test(&self, name: &str) -> Command {
        let mut command = Command::new(&self.path);
        command.args(["--exact", name, "--nocapture", "--test-threads=1"]);
        command.env("RUST_BACKTRACE", "0");
        command
    }
}

impl Build {
    /// The kind of build that `cargo build` does.
    pub(crate) fn plain(ws: &Workspace) -> Self {
        let (root, target) = (ws.root.clone(), ws.target.clone());
        Self {
            root,
            env: Vec::new(),
            target,
        }
    }

    /// A build in the subdirectory `dir` of the target directory, with these flags for rustc.
    pub(crate) fn special(ws: &Workspace, dir: &str, rustflags: &str) -> Self {
        Self::of(&ws.root, ws.target.join(dir)).env("RUSTFLAGS", rustflags)
    }

    /// The same as [`plain`](Self::plain), with what it makes in the subdirectory `dir`: the documentation of two kinds has one place otherwise.
    pub(crate) fn beside(ws: &Workspace, dir: &str) -> Self {
        let build = Self::of(&ws.root, ws.target.join(dir));
        build.env("CARGO_BUILD_BUILD_DIR", ws.target.display().to_string())
    }

    /// A build of the package in `root`, whose artifacts go to `target`.
    pub(crate) fn of(root: &Path, target: PathBuf) -> Self {
        let env = vec![("CARGO_TARGET_DIR".to_owned(), target.display().to_string())];
        let root = root.to_owned();
        Self { root, env, target }
    }

    /// The same build of a copy of the workspace. Cargo tells the artifacts of the copy from others by what else differs.
    pub(crate) fn in_copy(self, root: PathBuf) -> Self {
        let target = self.target.display().to_string();
        Self { root, ..self }.env("CARGO_TARGET_DIR", target)
    }

    pub(crate) fn env(self, key: &str, value: impl Into<String>) -> Self {
        self.envs([(key, value.into())])
    }

    pub(crate) fn envs<'k>(mut self, all: impl IntoIterator<Item = (&'k str, String)>) -> Self {
        let all = all.into_iter().map(|(key, value)| (key.to_owned(), value));
        self.env.extend(all);
        self
    }

    pub(crate) fn environment(&self) -> impl Iterator<Item = (&str, &str)> {
        self.env.iter().map(|(k, v)| (k.as_str(), v.as_str()))
    }

    pub(crate) fn target(&self) -> &PathBuf {
        &self.target
    }

    /// `cargo ARGS` with the flags, not started yet.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new("cargo");
        command.args(args).current_dir(&self.root);
        command.envs(self.env.iter().map(|(k, v)| (k, v)));
        command
    }

    /// Prints and runs `cargo ARGS`; an exit code other than 0 is an error.
    pub(crate) fn cargo(&self, args: &[&str]) -> Result<()> {
        eprintln!("{}", self.shown(args));
        self.quiet_cargo(args)
    }

    /// Like [`Build::cargo`], without printing the command.
    pub(crate) fn quiet_cargo(&self, args: &[&str]) -> Result<()> {
        let status = self.command(args).status().context(NO_CARGO)?;
        ensure!(
            status.success(),
            "`cargo {}` failed: {status}",
            args.join(" ")
        );
        Ok(())
    }

    /// Builds tests by `cargo test --no-run ARGS` and returns the programs. What the compiler says
    /// goes to standard error, or with `quiet` into the error.
    pub(crate) fn test_binaries(&self, args: &[&str], quiet: bool) -> Result<Vec<Binary>> {
        self.binaries(&[&["test", "--no-run"], args].concat(), quiet)
    }

    /// The programs that `cargo ARGS` builds.
    pub(crate) fn binaries(&self, args: &[&str], quiet: bool) -> Result<Vec<Binary>> {
        let mut command = self.command(args);
        command.arg("--message-format=json-render-diagnostics");
        command.stdin(Stdio::null());
        if !quiet {
            eprintln!("{}", self.shown(args));
            command.stderr(Stdio::inherit());
        }
        let output = command.output().context(NO_CARGO)?;
        let (args, said) = (args.join(" "), String::from_utf8_lossy(&output.stderr));
        ensure!(
            output.status.success(),
            "`cargo {args}` failed: {}\n{said}",
            output.status
        );
        let mut binaries = Vec::new();
        for message in Message::parse_stream(&*output.stdout) {
            if let Message::CompilerArtifact(artifact) = message? {
                let (name, program) = (artifact.target.name, artifact.executable);
                binaries.extend(program.map(|path| Binary {
                    name,
                    path: path.into(),
                }));
            }
        }
        Ok(binaries)
    }

    fn shown(&self, args: &[&str]) -> String {
        let env = self.env.iter().map(|(k, v)| format!("{k}='{v}' "));
        format!("$ {}cargo {}", env.collect::<String>(), args.join(" "))
    }
}
