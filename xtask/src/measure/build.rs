//! Builds of the bench programs of a tree, such that the same code gives the same bytes wherever the
//! tree lies.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use cargo_metadata::{Message, MetadataCommand, Target, TargetKind};

use super::child;
use super::criterion::Program;

/// What paths below the tree are called in the programs.
const REMAPPED: &str = "/source";
/// A build may take this long before it counts as hanging.
const LIMIT: Duration = Duration::from_secs(3 * 60 * 60);

/// What differs from the compiler in use.
#[derive(Clone, Debug, Default)]
pub(crate) struct Special {
    /// Variables of the environment.
    pub(crate) env: Vec<(&'static str, String)>,
    /// Flags for rustc.
    pub(crate) flags: Vec<String>,
}

/// A tree with a package of benches.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    /// The root, absolute.
    pub(crate) root: PathBuf,
    /// The package of the benches, below the root.
    pub(crate) package: PathBuf,
    /// The target directory, of no other tree.
    pub(crate) target: PathBuf,
    /// The programs to build; without any all of them, but for a `--bench NAME` among the arguments.
    pub(crate) benches: Vec<String>,
    /// The features to build them with, in place of the default ones.
    pub(crate) features: Option<Vec<String>>,
    /// Further arguments for `cargo bench`.
    pub(crate) args: Vec<String>,
    /// Another compiler than the one in use, and what it is told.
    pub(crate) special: Special,
    /// Roots that are remapped beside this one: trees whose flags are the same can share what they depend on.
    pub(crate) others: Vec<PathBuf>,
    /// For errors: which side, and of which ref.
    pub(crate) side: String,
}

/// Whether arguments for `cargo bench` choose programs themselves.
pub(crate) fn chooses_benches(args: &[String]) -> bool {
    args.iter()
        .any(|arg| arg == "--bench" || arg.starts_with("--bench="))
}

/// A bench program of a package.
pub(crate) struct Listed {
    pub(crate) name: String,
    /// Features that it requires.
    pub(crate) features: Vec<String>,
}

/// Whether programs need no features but those that they require, as the package's manifest may say: `default-features = false` in
/// `[package.metadata.bench-compare]`.
pub(crate) fn needs_no_defaults(manifest: &[u8]) -> bool {
    let manifest = toml::from_slice::<toml::Value>(manifest).ok();
    let path = ["package", "metadata", "bench-compare", "default-features"];
    let found = path
        .iter()
        .try_fold(manifest.as_ref(), |table, key| Some(table?.get(key)));
    found.flatten().and_then(toml::Value::as_bool) == Some(false)
}

/// Whether arguments for `cargo bench` choose features.
pub(crate) fn chooses_features(args: &[String]) -> bool {
    let starts = [
        "--features",
        "--all-features",
        "--no-default-features",
        "-F",
    ];
    let chooses = |arg: &String| starts.iter().any(|start| arg.starts_with(start));
    args.iter().any(chooses)
}

impl Tree {
    /// A tree whose programs are built as cargo builds them by default, with the compiler in use.
    pub(crate) fn new(root: PathBuf, side: String) -> Self {
        Self {
            root,
            side,
            ..Self::default()
        }
    }

    /// Its bench programs; `None` where cargo cannot tell.
    pub(crate) fn programs(&self) -> Option<Vec<Listed>> {
        let manifest = self.root.join(&self.package).join("Cargo.toml");
        let metadata = MetadataCommand::new()
            .manifest_path(&manifest)
            .current_dir(&self.root)
            .no_deps()
            .other_options(["--offline".to_owned()])
            .exec()
            .ok()?;
        let package = metadata.packages.iter();
        let package = package.into_iter().find(|p| p.manifest_path == manifest)?;
        let benches = package.targets.iter().filter(|target| target.is_bench());
        let listed = |bench: &Target| Listed {
            name: bench.name.clone(),
            features: bench.required_features.clone(),
        };
        Some(benches.map(listed).collect())
    }

    /// Builds the bench programs. What cargo says goes to the terminal if there is one, and into the
    /// error if the build fails.
    pub(crate) fn build(&self) -> Result<Vec<Program>> {
        let mut command = self.command();
        command.stdin(Stdio::null());
        let terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
        let what = format!(
            "the benches of {} do not build; to see it alone: `{}`",
            self.side,
            self.shown()
        );
        let ended = child::run(&mut command, LIMIT, |bytes, _| {
            if terminal {
                // Only what a user sees of the progress; the error has its end.
                let _ = std::io::Write::write_all(&mut std::io::stderr(), bytes);
            }
        })?;
        let ended = ended.checked(&what)?;
        let mut programs = Vec::new();
        for message in Message::parse_stream(ended.stdout.as_bytes()) {
            let message = message.context("cargo printed a message that cannot be read")?;
            if let Message::CompilerArtifact(artifact) = message
                && artifact.target.kind.contains(&TargetKind::Bench)
                && let Some(path) = artifact.executable
            {
                programs.push(Program {
                    name: artifact.target.name,
                    path: path.into_std_path_buf(),
                    side: self.side.clone(),
                });
            }
        }
        ensure!(
            !programs.is_empty(),
            "{} of {} has no benches",
            self.package.display(),
            self.side
        );
        programs.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(programs)
    }

    fn command(&self) -> Command {
        let mut command = Command::new("cargo");
        command
            .args(["bench", "--no-run", "--locked"])
            .args(self.chosen())
            .args(self.featured())
            .arg("--message-format=json-render-diagnostics")
            .arg("--manifest-path")
            .arg(self.root.join(&self.package).join("Cargo.toml"))
            .arg("--target-dir")
            .arg(&self.target)
            .args(&self.args)
            .current_dir(&self.root);
        let mut roots: Vec<&PathBuf> = self.others.iter().chain([&self.root]).collect();
        roots.sort();
        roots.dedup();
        let remap = |root: &&PathBuf| format!("--remap-path-prefix={}={REMAPPED}", root.display());
        let remaps: Vec<String> = (roots.iter().map(remap))
            .chain(self.special.flags.iter().cloned())
            .collect();
        command.envs(self.special.env.iter().map(|(key, value)| (key, value)));
        // Flags from the environment replace those of the configuration, and then have to be all.
        match inherited_flags() {
            Some(flags) => {
                command.env_remove("RUSTFLAGS");
                command.env("CARGO_ENCODED_RUSTFLAGS", extended(&flags, &remaps));
            }
            None => {
                // TOML reads a list of JSON's strings alike.
                let list = serde_json::Value::from(remaps);
                command
                    .arg("--config")
                    .arg(format!("build.rustflags={list}"));
            }
        }
        // Its own incremental state would be one more difference between two trees.
        command.env("CARGO_INCREMENTAL", "0");
        // A build script that asks git for its version asks the repository around the tree: not to refresh its index.
        command.env("GIT_OPTIONAL_LOCKS", "0");
        command
    }

    /// The arguments that choose programs.
    fn chosen(&self) -> Vec<&str> {
        if self.benches.is_empty() && !chooses_benches(&self.args) {
            return vec!["--benches"];
        }
        let names = self.benches.iter();
        names.flat_map(|name| ["--bench", name]).collect()
    }

    /// The arguments that choose features.
    fn featured(&self) -> Vec<String> {
        let Some(features) = &self.features else {
            return Vec::new();
        };
        let listed = format!("--features={}", features.join(","));
        vec!["--no-default-features".to_owned(), listed]
    }

    fn shown(&self) -> String {
        let mut words = vec!["cargo bench --no-run --locked".to_owned()];
        words.extend(self.chosen().into_iter().map(str::to_owned));
        words.extend(self.featured());
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

/// Encoded flags with more of them. Flags that are set and empty are none: rustc would take an empty one for
/// the name of a file.
fn extended(flags: &str, more: &[String]) -> String {
    let flags = Some(flags).filter(|flags| !flags.is_empty());
    let all = flags.into_iter().chain(more.iter().map(String::as_str));
    all.collect::<Vec<_>>().join("\u{1f}")
}

#[cfg(test)]
mod tests {
    use super::{chooses_features, extended, needs_no_defaults};

    #[test]
    fn a_manifest_says_that_defaults_are_not_needed() {
        let of = |text: &str| needs_no_defaults(text.as_bytes());
        assert!(of(
            "[package.metadata.bench-compare]\ndefault-features = false\n"
        ));
        assert!(!of(
            "[package.metadata.bench-compare]\ndefault-features = true\n"
        ));
        assert!(!of("[package]\nname = \"benches\"\n"));
        assert!(!of("no manifest"));
    }

    #[test]
    fn arguments_choose_features() {
        let of = |arg: &str| chooses_features(&[arg.to_owned()]);
        assert!(of("--features=a") && of("-Fa") && of("--no-default-features"));
        assert!(!of("--profile=dev"));
    }

    #[test]
    fn empty_flags_are_no_flag() {
        let more = ["-x".to_owned()];
        assert_eq!(extended("", &more), "-x");
        assert_eq!(extended("-a\u{1f}-b", &more), "-a\u{1f}-b\u{1f}-x");
    }
}
