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
/// Between flags, as cargo encodes them in the environment.
const SEPARATOR: &str = "\u{1f}";
/// A build may take this long before it counts as hanging.
const LIMIT: Duration = Duration::from_secs(3 * 60 * 60);

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
    /// Variables of the environment that choose another compiler than the one in use.
    pub(crate) env: Vec<(&'static str, String)>,
    /// Further flags for rustc.
    pub(crate) flags: Vec<String>,
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

/// The bench programs of a package.
pub(crate) struct Listing {
    /// Their names, and the features that each requires.
    pub(crate) programs: Vec<(String, Vec<String>)>,
    /// Whether they need no other features, as the package's manifest may say: `default-features = false` in
    /// `[package.metadata.bench-compare]`.
    pub(crate) needs_no_defaults: bool,
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
    /// Its bench programs; `None` where cargo cannot tell.
    pub(crate) fn listing(&self) -> Option<Listing> {
        let manifest = self.root.join(&self.package).join("Cargo.toml");
        let metadata = MetadataCommand::new()
            .manifest_path(&manifest)
            .current_dir(&self.root)
            .no_deps()
            .other_options(["--offline".to_owned()])
            .exec()
            .ok()?;
        let mut packages = metadata.packages.into_iter();
        let package = packages.find(|package| package.manifest_path == manifest)?;
        let benches = package.targets.into_iter().filter(Target::is_bench);
        Some(Listing {
            programs: benches.map(|b| (b.name, b.required_features)).collect(),
            needs_no_defaults: package.metadata["bench-compare"]["default-features"] == false,
        })
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
                    variables: Vec::new(),
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
            .arg("--message-format=json-render-diagnostics")
            .arg("--manifest-path")
            .arg(self.root.join(&self.package).join("Cargo.toml"))
            .arg("--target-dir")
            .arg(&self.target)
            .current_dir(&self.root);
        let mut roots: Vec<&PathBuf> = self.others.iter().chain([&self.root]).collect();
        roots.sort();
        roots.dedup();
        let remap = |root: &&PathBuf| format!("--remap-path-prefix={}={REMAPPED}", root.display());
        let remaps = roots.iter().map(remap);
        let flags: Vec<String> = remaps.chain(self.flags.iter().cloned()).collect();
        command.envs(self.env.iter().map(|(key, value)| (key, value)));
        // Flags from the environment replace those of the configuration, and then have to be all.
        match inherited_flags() {
            Some(inherited) => {
                // Set and empty they are none: rustc would take an empty one for the name of a file.
                let inherited = inherited.split(SEPARATOR).filter(|flag| !flag.is_empty());
                let all: Vec<&str> = inherited.chain(flags.iter().map(String::as_str)).collect();
                command.env_remove("RUSTFLAGS");
                command.env("CARGO_ENCODED_RUSTFLAGS", all.join(SEPARATOR));
            }
            None => {
                // TOML reads a list of JSON's strings alike.
                let list = serde_json::Value::from(flags);
                let setting = format!("build.rustflags={list}");
                command.args(["--config", &setting]);
            }
        }
        // Its own incremental state would be one more difference between two trees.
        command.env("CARGO_INCREMENTAL", "0");
        // A build script that asks git for its version asks the repository around the tree: not to refresh its index.
        command.env("GIT_OPTIONAL_LOCKS", "0");
        command
    }

    /// The arguments that choose programs and features.
    fn chosen(&self) -> Vec<String> {
        let mut chosen: Vec<String> = Vec::new();
        if self.benches.is_empty() && !chooses_benches(&self.args) {
            chosen.push("--benches".to_owned());
        }
        chosen.extend(self.benches.iter().map(|name| format!("--bench={name}")));
        if let Some(features) = &self.features {
            chosen.push("--no-default-features".to_owned());
            chosen.push(format!("--features={}", features.join(",")));
        }
        chosen.extend(self.args.iter().cloned());
        chosen
    }

    fn shown(&self) -> String {
        let (package, chosen) = (self.root.join(&self.package), self.chosen().join(" "));
        let package = package.display();
        format!("cd {package} && cargo bench --no-run --locked {chosen}")
    }
}

/// The flags for rustc in the environment, encoded as cargo does.
pub(crate) fn inherited_flags() -> Option<String> {
    if let Ok(flags) = std::env::var("CARGO_ENCODED_RUSTFLAGS") {
        return Some(flags);
    }
    let flags = std::env::var("RUSTFLAGS").ok()?;
    Some(flags.split_whitespace().collect::<Vec<_>>().join(SEPARATOR))
}

#[cfg(test)]
mod tests {
    use super::chooses_features;

    #[test]
    fn arguments_choose_features() {
        for (arg, expected) in [
            ("--features=a", true),
            ("-Fa", true),
            ("--no-default-features", true),
            ("--profile=dev", false),
        ] {
            assert_eq!(chooses_features(&[arg.to_owned()]), expected, "{arg}");
        }
    }
}
