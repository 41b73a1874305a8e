//! Bench programs that count instructions under callgrind: gungraun's, called `instr_LAYER`.
//!
//! Their functions are workloads, the names of a function's benches are `CONTENDER__PARAM`, with `_` for the `-` of a
//! param: `instr_local`, `spawn_one`, `static_local__1` is `local/spawn_one/static_local/1`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::child::{self, Ended};
use super::criterion::{Program, Run};
use super::files;

/// What runs the benches under valgrind; as a package of the lock file, too.
const RUNNER: &str = "gungraun-runner";
/// Programs with this prefix count instructions, the others measure time.
pub(crate) const PREFIX: &str = "instr_";
/// Below the target directory: where it is installed.
const TOOLS: &str = "tools";
/// All benches of a program.
const LIMIT: Duration = Duration::from_secs(60 * 60);

/// What counting needs.
#[derive(Clone, Debug)]
pub(crate) struct Counter {
    /// The search path, with the runner in front.
    path: OsString,
}

/// What was counted of a bench.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Count {
    /// `layer/workload/contender/param`.
    pub(crate) id: String,
    /// An iteration.
    pub(crate) instructions: f64,
    /// What callgrind wrote of it, below the home of the run.
    pub(crate) profile: Option<PathBuf>,
}

/// Where the instructions are in what the runner prints for a bench.
const INSTRUCTIONS: &str = "/profiles/0/data/total/metrics/Ir/values/new";

impl Counter {
    /// Installs the runner that belongs to the lock file of the workspace at `root`, if it is not there.
    ///
    /// # Errors
    ///
    /// If it does not build, and without valgrind.
    pub(crate) fn new(root: &Path, target: &Path) -> Result<Self> {
        let lock = std::fs::read_to_string(root.join("Cargo.lock"))
            .with_context(|| format!("cannot read the lock file of {}", root.display()))?;
        Self::of_lock(&lock, target)
    }

    /// The same for the text of a lock file.
    ///
    /// # Errors
    ///
    /// As [`Counter::new`].
    pub(crate) fn of_lock(lock: &str, target: &Path) -> Result<Self> {
        let valgrind = Command::new("valgrind")
            .arg("--version")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status();
        ensure!(
            valgrind.is_ok_and(|status| status.success()),
            "counting instructions needs valgrind: install it, on Debian by `apt-get install valgrind`"
        );
        let version = locked(lock).with_context(|| format!("{RUNNER} is not in Cargo.lock"))?;
        let tools = target.join(TOOLS).join(&version);
        if !is_installed(&tools, &version) {
            install(&tools, &version)?;
        }
        let mut paths = vec![tools.join("bin")];
        paths.extend(std::env::split_paths(
            &std::env::var_os("PATH").unwrap_or_default(),
        ));
        let path = std::env::join_paths(paths).context("the search path has an odd character")?;
        Ok(Self { path })
    }

    /// The ids of a program's benches.
    ///
    /// # Errors
    ///
    /// If it fails; and `Interrupted`.
    pub(crate) fn list(&self, program: &Program) -> Result<Vec<String>> {
        let ended = self.call(program, &["--list", "--format", "terse"])?;
        let lines = ended.stdout.lines().filter(|l| !l.trim().is_empty());
        let listed = |line: &str| {
            let path = line.strip_suffix(": benchmark");
            let (path, name) = path
                .and_then(|path| path.rsplit_once("::"))
                .with_context(|| format!("{} listed `{line}`, which is no bench", program.name))?;
            id(layer(program), path, Some(name))
        };
        lines.map(listed).collect()
    }

    /// Runs all benches of a program; what they write goes below `home`.
    ///
    /// # Errors
    ///
    /// If one fails; and `Interrupted`.
    pub(crate) fn count(&self, program: &Program, home: &Path) -> Result<Vec<Count>> {
        let at = format!("--home={}", home.display());
        let args = ["--output-format=json", "--nosummary", &at];
        let ended = self.call(program, &args)?;
        let lines = ended.stdout.lines().filter(|line| line.starts_with('{'));
        lines
            .map(|line| counted(layer(program), line, home))
            .collect()
    }

    /// One run of a program, as its benches of these ids have it.
    ///
    /// # Errors
    ///
    /// As [`Counter::count`], and if one was not counted.
    pub(crate) fn runs(&self, program: &Program, ids: &[String]) -> Result<Vec<Run>> {
        let home = tempfile::tempdir().context("cannot make a temporary directory")?;
        let counts = self.count(program, home.path())?;
        let run = |id: &String| {
            let count = counts.iter().find(|count| count.id == *id);
            let count = count.with_context(|| format!("`{id}` was not counted"))?;
            Ok(Run {
                wall: count.instructions,
                cpu: None,
            })
        };
        ids.iter().map(run).collect()
    }

    fn call(&self, program: &Program, args: &[&str]) -> Result<Ended> {
        let folder = program.path.parent().unwrap_or(Path::new("."));
        let mut command = Command::new(&program.path);
        command
            .arg("--bench")
            .args(args)
            .env("PATH", &self.path)
            // Else the runner asks cargo for the workspace around the program, and a target directory may be outside of one.
            .env("GUNGRAUN_WORKSPACE_ROOT", folder)
            .env("GUNGRAUN_HOME", folder)
            .current_dir(folder);
        child::run(&mut command, LIMIT, |_, _| {})?.checked(&format!("{} failed", program.name))
    }
}

impl Program {
    /// Whether it counts instructions, which criterion's programs do not.
    pub(crate) fn counts(&self) -> bool {
        self.name.starts_with(PREFIX)
    }
}

/// The layer whose instructions a program counts.
fn layer(program: &Program) -> &str {
    program.name.strip_prefix(PREFIX).unwrap_or(&program.name)
}

/// The id of the bench `name` of the function at `path`.
fn id(layer: &str, path: &str, name: Option<&str>) -> Result<String> {
    let workload = path.rsplit("::").next().unwrap_or_default();
    let parts = name.and_then(|name| name.split_once("__"));
    let (contender, param) = parts.with_context(|| {
        format!("a bench of {path} is not called CONTENDER__PARAM; see benches/README.md")
    })?;
    Ok(format!(
        "{layer}/{workload}/{contender}/{}",
        param.replace('_', "-")
    ))
}

/// What a line of the runner says, and the profile of that bench below `home`.
fn counted(layer: &str, line: &str, home: &Path) -> Result<Count> {
    let other = "the runner of the instruction benches printed something else";
    let summary: Value = serde_json::from_str(line).context(other)?;
    let path = summary["module_path"].as_str().context(other)?;
    let name = summary["id"].as_str();
    let id = id(layer, path, name)?;
    let instructions = summary.pointer(INSTRUCTIONS).and_then(Value::as_f64);
    let instructions = instructions.with_context(|| format!("{path} has no counts"))?;
    let function = path.rsplit("::").next().unwrap_or_default();
    let bench = format!("{function}.{}", name.unwrap_or_default());
    let profile = format!("{bench}/callgrind.{bench}.out");
    Ok(Count {
        id,
        instructions,
        profile: files(home, &profile)?.pop(),
    })
}

/// The version of the runner in a lock file.
fn locked(lock: &str) -> Option<String> {
    let (_, package) = lock.split_once(&format!("name = \"{RUNNER}\"\nversion = \""))?;
    Some(package.split_once('"')?.0.to_owned())
}

fn is_installed(tools: &Path, version: &str) -> bool {
    let list = std::fs::read_to_string(tools.join(".crates.toml")).unwrap_or_default();
    list.contains(&format!("\"{RUNNER} {version} ")) && runner(tools).is_file()
}

fn runner(tools: &Path) -> PathBuf {
    tools.join("bin").join(RUNNER)
}

fn install(tools: &Path, version: &str) -> Result<()> {
    eprintln!("installing {RUNNER} {version} into {}", tools.display());
    // It only starts valgrind and reads what that writes: the cheapest build of it will do.
    let status = Command::new("cargo")
        .args(["install", "--debug", "--locked", RUNNER, "--version"])
        .arg(format!("={version}"))
        .arg("--root")
        .arg(tools)
        // Build products of its own, which cargo removes.
        .env_remove("CARGO_TARGET_DIR")
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .stdin(Stdio::null())
        .status()
        .context("cannot start cargo; is it on the PATH?")?;
    ensure!(
        status.success(),
        "cannot install {RUNNER} {version}: `cargo install` failed, {status}; is the registry reachable?"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Count, counted, locked};

    fn line(id: &str) -> String {
        format!(
            r#"{{"module_path":"instr_fork::rows::empty_children","id":{id},"profiles":[{{"data":{{"parts":[],
            "total":{{"metrics":{{"Dr":{{"values":{{"new":3}}}},"Ir":{{"values":{{"new":2139}}}}}}}}}}}}]}}"#
        )
    }

    #[test]
    fn names_become_ids_and_profiles_are_found() {
        let home = tempfile::tempdir().expect("a directory");
        let line = line("\"static_fork__0_t1\"");
        let of = || counted("fork", &line, home.path()).expect("a summary");
        assert_eq!(of().profile, None);
        let bench = "empty_children.static_fork__0_t1";
        let directory = home.path().join("package").join("group").join(bench);
        std::fs::create_dir_all(&directory).expect("writable");
        let profile = directory.join(format!("callgrind.{bench}.out"));
        std::fs::write(&profile, "").expect("space");
        let expected = Count {
            id: "fork/empty_children/static_fork/0-t1".to_owned(),
            instructions: 2139.0,
            profile: Some(profile),
        };
        assert_eq!(of(), expected);
    }

    #[test]
    fn other_names_are_errors() {
        for id in ["\"ring_64\"", "null"] {
            let error = counted("queue", &line(id), ".".as_ref()).expect_err("no id");
            assert!(error.to_string().contains("CONTENDER__PARAM"), "{error}");
        }
        assert!(counted("queue", "{}", ".".as_ref()).is_err());
    }

    #[test]
    fn the_version_is_read_from_the_lock_file() {
        let lock = "[[package]]\nname = \"gungraun-runner\"\nversion = \"1.2.3\"\n";
        assert_eq!(locked(lock).as_deref(), Some("1.2.3"));
        assert_eq!(locked("[[package]]\nname = \"gungraun\"\n"), None);
    }
}
