//! Builds of the bench programs of a tree, such that the same code gives the same bytes wherever the
//! tree lies.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use cargo_metadata::{Message, TargetKind};

use super::child;

/// What paths below the tree are called in the programs.
const REMAPPED: &str = "/source";
/// A build may take this long before it counts as hanging.
const LIMIT: Duration = Duration::from_secs(3 * 60 * 60);
/// Lines of the compiler's output that an error shows.
const TAIL: usize = 30;
/// Targets with this prefix count instructions, the others measure time.
pub(super) const INSTRUCTION_PREFIX: &str = "instr_";

/// A tree with a package of benches.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    /// The root, absolute.
    pub(crate) root: PathBuf,
    /// The package of the benches, below the root.
    pub(crate) package: PathBuf,
    /// The target directory, of no other tree.
    pub(crate) target: PathBuf,
    /// Further arguments for `cargo bench`. Without a `--bench NAME` among them all benches are built.
    pub(crate) args: Vec<String>,
    /// For errors: which side, and of which ref.
    pub(crate) side: String,
}

/// A bench program.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Executable {
    /// The file in `benches/`, without extension.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
}

/// Whether a bench program of this name counts instructions, which criterion's programs do not.
pub(crate) fn counts_instructions(name: &str) -> bool {
    name.starts_with(INSTRUCTION_PREFIX)
}

impl Tree {
    /// Builds all bench programs. What cargo says goes to the terminal if there is one, and into the
    /// error if the build fails.
    ///
    /// # Errors
    ///
    /// If it does not build; and `Interrupted`.
    pub(crate) fn build(&self) -> Result<Vec<Executable>> {
        let mut command = self.command();
        command.stdin(Stdio::null());
        let terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
        let ended = child::run(&mut command, LIMIT, |bytes, _| {
            if terminal {
                // Only what a user sees of the progress; the error has it all.
                let _ = std::io::Write::write_all(&mut std::io::stderr(), bytes);
            }
        })?;
        ensure!(
            ended.succeeded(),
            "the benches of {} do not build ({}); to see it alone: `{}`{}",
            self.side,
            ended.how(LIMIT),
            self.shown(),
            ended.tail(TAIL)
        );
        let mut executables = Vec::new();
        for message in Message::parse_stream(ended.stdout.as_bytes()) {
            let message = message.context("cargo printed a message that cannot be read")?;
            if let Message::CompilerArtifact(artifact) = message
                && artifact.target.kind.contains(&TargetKind::Bench)
                && let Some(path) = artifact.executable
            {
                executables.push(Executable {
                    name: artifact.target.name,
                    path: path.into_std_path_buf(),
                });
            }
        }
        if executables.is_empty() {
            bail!("{} of {} has no benches", self.package.display(), self.side);
        }
        executables.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(executables)
    }

    fn command(&self) -> Command {
        let mut command = Command::new("cargo");
        command
            .args(["bench", "--no-run", "--locked"])
            .args(self.all())
            .arg("--message-format=json-render-diagnostics")
            .arg("--manifest-path")
            .arg(self.root.join(&self.package).join("Cargo.toml"))
            .arg("--target-dir")
            .arg(&self.target)
            .args(&self.args)
            .current_dir(&self.root);
        let remap = format!("--remap-path-prefix={}={REMAPPED}", self.root.display());
        // Flags from the environment replace those of the configuration, and then have to be all.
        match inherited_flags() {
            Some(flags) => {
                command.env_remove("RUSTFLAGS");
                command.env("CARGO_ENCODED_RUSTFLAGS", extended(&flags, &remap));
            }
            None => {
                let value = serde_json::Value::String(remap);
                command
                    .arg("--config")
                    .arg(format!("build.rustflags=[{value}]"));
            }
        }
        // Its own incremental state would be one more difference between two trees.
        command.env("CARGO_INCREMENTAL", "0");
        command
    }

    fn all(&self) -> Option<&'static str> {
        let named = self.args.iter().any(|arg| arg == "--bench");
        (!named).then_some("--benches")
    }

    fn shown(&self) -> String {
        let mut words = vec!["cargo bench --no-run --locked".to_owned()];
        words.extend(self.all().map(str::to_owned));
        words.extend(self.args.iter().cloned());
        format!(
            "cd {} && {}",
            self.root.join(&self.package).display(),
            words.join(" ")
        )
    }
}

/// The flags for rustc in the environment, encoded as cargo does.
pub(crate) fn inherited_flags() -> Option<String> {
    if let Ok(flags) = std::env::var("CARGO_ENCODED_RUSTFLAGS") {
        return Some(flags);
    }
    let flags = std::env::var("RUSTFLAGS").ok()?;
    Some(flags.split_whitespace().collect::<Vec<_>>().join("\u{1f}"))
}

/// Encoded flags with one more. Flags that are set and empty are none: rustc would take an empty one for
/// the name of a file.
fn extended(flags: &str, more: &str) -> String {
    if flags.is_empty() {
        more.to_owned()
    } else {
        format!("{flags}\u{1f}{more}")
    }
}

/// A hash of the file's bytes as git computes it.
pub(crate) fn hash(path: &Path) -> Result<String> {
    let output = Command::new("git")
        .args(["hash-object", "--no-filters", "--"])
        .arg(path)
        .stdin(Stdio::null())
        .output()
        .context("cannot start git; is it on the PATH?")?;
    ensure!(
        output.status.success(),
        "cannot hash {}: {}",
        path.display(),
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::extended;

    #[test]
    fn empty_flags_are_no_flag() {
        assert_eq!(extended("", "-x"), "-x");
        assert_eq!(extended("-a\u{1f}-b", "-x"), "-a\u{1f}-b\u{1f}-x");
    }
}
