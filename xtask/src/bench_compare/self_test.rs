//! `cargo xtask bench-compare --self-test`: the command on a small repository with real criterion benches.
//!
//! The same commit is identical, a commit against itself flags nothing, and a loop that is a fifth longer flags its
//! bench alone.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::process::said;
use crate::report::model::{self, Comparison, Metric, Verdict};
use crate::workspace::Workspace;

/// The bench that gets slower; there is one that does not.
const CHANGED: &str = "spin/changed/loop/1";
/// Turns of the loop before and after.
const TURNS: (u32, u32) = (10_000, 12_000);
/// Rounds of the first attempt, and of the second if the machine was too loud.
const ROUNDS: [u32; 2] = [8, 24];

/// Proves the command on this machine.
pub(super) fn run() -> Result<()> {
    let ws = Workspace::find()?;
    let dir = tempfile::tempdir().context("cannot create a temporary directory")?;
    let repository = Repository { root: dir.path() };
    repository.create(&ws)?;

    println!("self-test: the same commit");
    repository.compare(&["fast", "fast"], &[0])?;
    let same = repository.result()?;
    ensure!(
        same.benches.len() == 2 && same.benches.iter().all(|b| b.identical),
        "the same commit is not identical"
    );

    println!("self-test: a commit against itself");
    let rounds = format!("--rounds={}", ROUNDS[0]);
    repository.compare(&["fast", "--aa", &rounds], &[0])?;
    let result = repository.result()?;
    let flagged = flagged(&result);
    ensure!(flagged.is_empty(), "{flagged:?} differ from themselves");

    println!("self-test: a loop that is a fifth longer");
    for (attempt, rounds) in ROUNDS.into_iter().enumerate() {
        let rounds = format!("--rounds={rounds}");
        let args = ["fast", "slow", &rounds, "--resume"];
        // Without `--resume` the runs of the step before would be in the way.
        repository.compare(if attempt == 0 { &args[..3] } else { &args }, &[0, 1])?;
        let result = repository.result()?;
        let flagged = self::flagged(&result);
        let expected = |f: &(&str, Metric, Verdict)| f.0 == CHANGED && f.2 == Verdict::Slower;
        ensure!(
            flagged.iter().all(expected),
            "{flagged:?} where only {CHANGED} got slower"
        );
        if !flagged.is_empty() {
            println!("self-test passed");
            return Ok(());
        }
        println!("self-test: too noisy to say, once more with more rounds");
    }
    bail!("a loop that is a fifth longer was not found; is the machine busy?")
}

/// This program. Not by its name where that can be helped: a build in an earlier part of `ci` may have replaced the file.
fn this_program() -> Result<PathBuf> {
    let running = PathBuf::from("/proc/self/exe");
    if running.exists() {
        return Ok(running);
    }
    std::env::current_exe().context("this program has no path")
}

/// What got slower or faster.
fn flagged(result: &Comparison) -> Vec<(&str, Metric, Verdict)> {
    let results = result.benches.iter().flat_map(|bench| {
        let id = bench.id.as_str();
        bench
            .results
            .iter()
            .map(move |r| (id, r.metric, r.judgement.verdict))
    });
    results
        .filter(|(_, _, verdict)| matches!(verdict, Verdict::Slower | Verdict::Faster))
        .collect()
}

/// The manifest of what is measured.
const CODE: &str = "[package]\nname = \"code\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
/// Whose commits there are, whatever the user's configuration.
const SETTINGS: [&str; 4] = [
    "user.name=self-test",
    "user.email=self-test@localhost",
    "commit.gpgSign=false",
    "tag.gpgSign=false",
];

struct Repository<'a> {
    root: &'a Path,
}

impl Repository<'_> {
    /// Two commits, tagged `fast` and `slow`.
    fn create(&self, ws: &Workspace) -> Result<()> {
        let criterion = criterion_requirement(ws)?;
        let manifest = include_str!("self_test/benches.toml").replace("VERSION", &criterion);
        for (path, text) in [
            (".gitignore", "/target\n"),
            ("Cargo.toml", include_str!("self_test/workspace.toml")),
            ("benches/Cargo.toml", &manifest),
            ("benches/benches/spin.rs", include_str!("self_test/spin.rs")),
            ("benches/src/lib.rs", "//! Two loops.\n"),
            ("code/Cargo.toml", CODE),
        ] {
            self.write(path, text)?;
        }
        self.turns(TURNS.0)?;
        // The versions that the workspace has already; what it does not need is dropped by the next command.
        fs::copy(ws.root.join("Cargo.lock"), self.root.join("Cargo.lock"))
            .context("the workspace has no Cargo.lock")?;
        self.checked("cargo", &["tree", "--quiet"])?;
        self.git(&["init", "--quiet"])?;
        self.commit("fast")?;
        self.turns(TURNS.1)?;
        self.commit("slow")
    }

    fn turns(&self, turns: u32) -> Result<()> {
        let text = format!("//! How long the loop is.\n\npub const TURNS: u32 = {turns};\n");
        self.write("code/src/lib.rs", &text)
    }

    fn commit(&self, tag: &str) -> Result<()> {
        self.git(&["add", "--all"])?;
        self.git(&["commit", "--quiet", "--message", tag])?;
        self.git(&["tag", tag])
    }

    fn git(&self, args: &[&str]) -> Result<()> {
        let settings = SETTINGS.iter().flat_map(|setting| ["-c", setting]);
        let args: Vec<&str> = settings.chain(args.iter().copied()).collect();
        self.checked("git", &args)
    }

    /// Runs this program's command in the repository.
    fn compare(&self, args: &[&str], codes: &[i32]) -> Result<()> {
        let mut command = Command::new(this_program()?);
        command.arg("bench-compare").args(args);
        let status = self
            .here(&mut command)
            .status()
            .context("cannot start this program")?;
        ensure!(
            status.code().is_some_and(|code| codes.contains(&code)),
            "`bench-compare {}` ended with {status}",
            args.join(" ")
        );
        Ok(())
    }

    fn result(&self) -> Result<Comparison> {
        model::read(&self.root.join("target/bench-compare/report/compare.json"))
    }

    fn checked(&self, program: &str, args: &[&str]) -> Result<()> {
        let mut command = Command::new(program);
        self.here(command.args(args));
        said(command).map(drop)
    }

    /// In the repository, with nothing of this workspace's build.
    fn here<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command
            .current_dir(self.root)
            .env_remove("CARGO_TARGET_DIR")
            .env_remove("RUSTFLAGS")
            .env_remove("CARGO_ENCODED_RUSTFLAGS")
    }

    fn write(&self, path: &str, text: &str) -> Result<()> {
        let path = self.root.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        Ok(fs_err::write(&path, text)?)
    }
}

/// The version of criterion that the workspace's benches ask for.
fn criterion_requirement(ws: &Workspace) -> Result<String> {
    let mut dependencies = ws.metadata.packages.iter().flat_map(|p| &p.dependencies);
    let criterion = dependencies.find(|d| d.name == "criterion");
    let criterion = criterion.context("no package of the workspace uses criterion")?;
    Ok(criterion.req.to_string())
}
