//! `cargo xtask bench-compare --self-test`: the command on a small repository with real criterion benches.
//!
//! The same commit is identical, a commit against itself flags nothing, and a loop that is a fifth longer flags its
//! bench alone.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::process::{program, said};
use crate::report::{
    self,
    model::{self, Comparison, Verdict},
};
use crate::workspace::Workspace;

/// The bench that gets slower; there is one that does not.
const CHANGED: &str = "spin/changed/loop/1";
/// Two commits, and the turns of the loop in them.
pub(crate) const COMMITS: [(&str, u32); 2] = [("fast", 10_000), ("slow", 12_000)];
/// The files beside the library with the turns; `VERSION` is that of criterion.
const FILES: [(&str, &str); 6] = [
    (".gitignore", "/target\n"),
    ("Cargo.toml", include_str!("self_test/workspace.toml")),
    ("benches/Cargo.toml", include_str!("self_test/benches.toml")),
    ("benches/benches/spin.rs", include_str!("self_test/spin.rs")),
    ("benches/src/lib.rs", "//! Two loops.\n"),
    (
        "code/Cargo.toml",
        "[package]\nname = \"code\"\nversion = \"0.1.0\"\nedition = \"2024\"\n",
    ),
];
/// Whatever the user's configuration.
const GIT: &str = "git -c user.name=self-test -c user.email=self-test@localhost -c commit.gpgSign=false -c tag.gpgSign=false";

/// Proves the command on this machine.
pub(super) fn run() -> Result<()> {
    let dir = tempfile::tempdir().context("cannot create a temporary directory")?;
    let root = dir.path();
    create(root, &Workspace::find()?)?;

    println!("self-test: the same commit");
    let same = compare(root, "fast fast")?;
    ensure!(
        same.benches.len() == 2 && same.benches.iter().all(|b| b.identical),
        "the same commit is not identical"
    );
    println!("self-test: a commit against itself");
    let found = flagged(&compare(root, "fast --aa --rounds=8")?);
    ensure!(found.is_empty(), "{found:?} differ from themselves");
    for args in ["--rounds=8", "--rounds=24 --resume"] {
        println!("self-test: a loop that is a fifth longer, {args}");
        let found = flagged(&compare(root, &format!("fast slow {args}"))?);
        let slower = (CHANGED.to_owned(), Verdict::Slower);
        ensure!(
            found.iter().all(|found| *found == slower),
            "{found:?} where only {CHANGED} got slower"
        );
        if !found.is_empty() {
            println!("self-test passed");
            return Ok(());
        }
    }
    anyhow::bail!("a loop that is a fifth longer was not found; is the machine busy?")
}

/// What got slower or faster, once for each metric.
fn flagged(result: &Comparison) -> Vec<(String, Verdict)> {
    let mut found = Vec::new();
    for bench in &result.benches {
        let verdicts = bench.results.iter().map(|result| result.judgement.verdict);
        let changed = verdicts.filter(|v| matches!(v, Verdict::Slower | Verdict::Faster));
        found.extend(changed.map(|verdict| (bench.id.clone(), verdict)));
    }
    found
}

/// Makes the repository, each commit with a tag.
fn create(root: &Path, ws: &Workspace) -> Result<()> {
    // The version that the workspace's benches ask for.
    let mut dependencies = ws.metadata.packages.iter().flat_map(|p| &p.dependencies);
    let criterion = dependencies.find(|d| d.name == "criterion");
    let criterion = criterion.context("no package of the workspace uses criterion")?;
    for (path, text) in FILES {
        report::write(
            &root.join(path),
            &text.replace("VERSION", &criterion.req.to_string()),
        )?;
    }
    for (commit, turns) in COMMITS {
        let text = format!("//! How long the loop is.\n\npub const TURNS: u32 = {turns};\n");
        report::write(&root.join("code/src/lib.rs"), &text)?;
        if commit == COMMITS[0].0 {
            // The versions that the workspace has already; what it does not need is dropped by the next command.
            fs_err::copy(ws.root.join("Cargo.lock"), root.join("Cargo.lock"))?;
            said(here(root, program("cargo tree --quiet")))?;
            said(here(root, program("git init --quiet")))?;
        }
        for words in [
            "add --all",
            &format!("commit --quiet --message {commit}"),
            &format!("tag {commit}"),
        ] {
            said(here(root, program(&format!("{GIT} {words}"))))?;
        }
    }
    Ok(())
}

/// In the repository, with nothing of this workspace's build.
fn here(root: &Path, mut command: Command) -> Command {
    command.current_dir(root);
    for name in ["CARGO_TARGET_DIR", "RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS"] {
        command.env_remove(name);
    }
    command
}

/// Runs this program's command in the repository.
fn compare(root: &Path, words: &str) -> Result<Comparison> {
    // Not by its name where that can be helped: a build in an earlier part of `ci` may have replaced the file.
    let running = Some(PathBuf::from("/proc/self/exe")).filter(|path| path.exists());
    let this = running.map_or_else(std::env::current_exe, Ok);
    let mut command = here(
        root,
        Command::new(this.context("this program has no path")?),
    );
    command.arg("bench-compare").args(words.split(' '));
    let status = command.status().context("cannot start this program")?;
    // With a regression it ends with 1.
    ensure!(
        matches!(status.code(), Some(0 | 1)),
        "`bench-compare {words}` ended with {status}"
    );
    model::read(&root.join("target/bench-compare/report/compare.json"))
}
