//! Bench programs that count instructions under callgrind: gungraun's, called `instr_LAYER`.
//!
//! Their functions are workloads, the names of a function's benches are `CONTENDER__PARAM`, with `_` for the `-` of a
//! param: `instr_local`, `spawn_one`, `static_local__1` is `local/spawn_one/static_local/1`.
//!
//! A program of gungraun starts a runner, and tells it which benches it has. The runner is this program, under another
//! name: it prints them. valgrind then runs each bench, and counts.

use std::io::Read;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use gungraun_runner::api::{EntryPoint, LibraryBenchmarkConfig, LibraryBenchmarkGroups, Tool};
use serde::{Deserialize, Serialize};

use super::child;
use super::criterion::Program;
use crate::process::{program, said};

/// What the programs start.
const RUNNER: &str = "gungraun-runner";
/// Of gungraun: what its programs tell differs from version to version. The manifest has the same.
const VERSION: &str = "0.20.0";
/// Where gungraun puts the function that a bench measures.
const MEASURED: &str = "*::__gungraun_wrapper_mod::*";
/// How a program is told to run one bench as it is.
const ONE: [&str; 2] = ["--gungraun-run", "d:d:000000"];
/// Programs with this prefix count instructions, the others measure time.
pub(crate) const PREFIX: &str = "instr_";
/// Of one bench.
const LIMIT: Duration = Duration::from_secs(20 * 60);

/// A bench, as the runner prints it.
#[derive(Deserialize, Serialize)]
struct Bench {
    function: String,
    /// `CONTENDER__PARAM`.
    name: String,
    /// The functions that are counted; without them all are.
    counted: Option<String>,
    /// Its group, the function in that, and the bench of the function.
    place: [usize; 3],
}

/// What was counted of a bench.
pub(crate) struct Count {
    /// An iteration.
    pub(crate) instructions: f64,
    /// What callgrind wrote of it.
    pub(crate) profile: PathBuf,
}

/// Whether this program was started as gungraun's runner; then it has printed the benches of the program that did,
/// unless that is of another version of gungraun.
pub(crate) fn stands_in() -> Result<bool> {
    let args: Vec<String> = std::env::args().collect();
    let [name, version, .., length] = &args[..] else {
        return Ok(false);
    };
    if Path::new(name).file_name() != Some(RUNNER.as_ref()) {
        return Ok(false);
    }
    ensure!(
        version == VERSION,
        "the benches are made with gungraun {version}, and this command reads {VERSION}"
    );
    let mut told = Vec::new();
    let input = std::io::stdin().lock();
    input.take(length.parse()?).read_to_end(&mut told)?;
    let config = bincode_next::config::legacy();
    for bench in benches(&bincode_next::serde::decode_from_slice(&told, config)?.0) {
        println!("{}", serde_json::to_string(&bench)?);
    }
    Ok(true)
}

fn benches(all: &LibraryBenchmarkGroups) -> Vec<Bench> {
    let mut benches = Vec::new();
    for (group_at, group) in all.groups.iter().enumerate() {
        for (function_at, function) in group.library_benchmarks.iter().enumerate() {
            for (at, bench) in function.benches.iter().enumerate() {
                // The innermost says which functions are counted.
                let outer = [&bench.config, &function.config, &group.config];
                let configs = outer.into_iter().flatten().chain([&all.config]);
                let counted = match configs.flat_map(entry_point).next() {
                    Some(EntryPoint::None) => None,
                    Some(EntryPoint::Custom(functions)) => Some(functions.clone()),
                    Some(EntryPoint::Default) | None => Some(MEASURED.to_owned()),
                };
                benches.push(Bench {
                    function: bench.function_name.clone(),
                    name: bench.id.clone().unwrap_or_default(),
                    counted,
                    place: [group_at, function_at, at],
                });
            }
        }
    }
    benches
}

fn entry_point(config: &LibraryBenchmarkConfig) -> Option<&EntryPoint> {
    let specs = config.tool_specs_override.as_ref();
    let mut specs = specs.unwrap_or(&config.tool_specs).0.iter();
    let callgrind = specs.find(|spec| spec.tool == Tool::Callgrind)?;
    callgrind.entry_point.as_ref()
}

/// Fails without valgrind.
pub(crate) fn needs_valgrind() -> Result<()> {
    let version = said(program("valgrind --version"));
    version.map(drop).context(
        "counting instructions needs valgrind: install it, on Debian by `apt-get install valgrind`",
    )
}

impl Program {
    /// Whether it counts instructions, which criterion's programs do not.
    pub(crate) fn counts(&self) -> bool {
        self.name.starts_with(PREFIX)
    }

    /// The ids of its benches that count, each with what [`Program::count`] has to be told.
    pub(crate) fn list_counted(&self) -> Result<Vec<(String, String)>> {
        let runner = tempfile::tempdir().context("cannot make a temporary directory")?;
        symlink(
            format!("/proc/{}/exe", std::process::id()),
            runner.path().join(RUNNER),
        )?;
        let mut command = self.command();
        command.arg("--bench").env("PATH", runner.path());
        let ended = child::run(&mut command, LIMIT, |_, _| {})?;
        let ended = ended.checked(&format!("{} does not list its benches", self.name))?;
        let listed = ended.stdout.lines().map(|line| {
            let bench = serde_json::from_str(line);
            let bench = bench.with_context(|| format!("{} listed what is no bench", self.name))?;
            Ok((self.id(&bench)?, line.to_owned()))
        });
        listed.collect()
    }

    /// Counts a bench; the profile goes to `home`.
    pub(crate) fn count(&self, listed: &str, home: &Path) -> Result<Count> {
        let bench: Bench = serde_json::from_str(listed)?;
        let id = self.id(&bench)?;
        let profile = home.join(id.replace('/', "."));
        let functions = bench.counted.iter();
        let mut command = Command::new("setarch");
        command
            .args(["-R", "valgrind", "--tool=callgrind", "--vgdb=no"])
            .arg(format!("--callgrind-out-file={}", profile.display()))
            .args(functions.map(|functions| format!("--toggle-collect={functions}")))
            .arg(&self.path)
            .args(ONE)
            .args(bench.place.map(|number| format!("{number:05}")))
            // The environment lies on the stack, where its length moves what is measured.
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default());
        let ended = child::run(&mut command, LIMIT, |_, _| {})?;
        ended.checked(&format!("`{id}` failed under callgrind on {}", self.side))?;
        let text = fs_err::read(&profile).with_context(|| format!("`{id}` has no profile"))?;
        let total = total(&String::from_utf8_lossy(&text));
        let instructions = total.with_context(|| format!("`{id}` has no counts"))?;
        Ok(Count {
            instructions,
            profile,
        })
    }

    fn id(&self, Bench { function, name, .. }: &Bench) -> Result<String> {
        let layer = self.name.strip_prefix(PREFIX).unwrap_or(&self.name);
        let (contender, param) = name.split_once("__").with_context(|| {
            format!("a bench of {function} is not called CONTENDER__PARAM; see benches/README.md")
        })?;
        let param = param.replace('_', "-");
        Ok(format!("{layer}/{function}/{contender}/{param}"))
    }
}

/// The instructions in what callgrind wrote.
fn total(profile: &str) -> Option<f64> {
    let mut lines = profile.lines();
    let total = lines.find_map(|line| line.strip_prefix("totals: "))?;
    let total = total.split_whitespace().next()?.parse().ok();
    // Of nothing there is no ratio.
    total.filter(|total| *total > 0.0)
}

#[cfg(test)]
mod tests {
    use gungraun_runner::api::{
        EntryPoint, LibraryBenchmark, LibraryBenchmarkBench, LibraryBenchmarkConfig,
        LibraryBenchmarkGroup, LibraryBenchmarkGroups, Tool, ToolSpec, ToolSpecs,
    };

    use super::{MEASURED, Program, VERSION, benches, total};

    #[test]
    fn benches_have_ids_places_and_functions_to_count() {
        let function = |name: &str, config| LibraryBenchmark {
            benches: vec![LibraryBenchmarkBench {
                function_name: name.to_owned(),
                id: Some("static_fork__0_t1".to_owned()),
                ..Default::default()
            }],
            config,
        };
        let mut spec = ToolSpec::new(Tool::Callgrind);
        spec.entry_point = Some(EntryPoint::Custom("*look*".to_owned()));
        let config = LibraryBenchmarkConfig {
            tool_specs: ToolSpecs(vec![spec]),
            ..Default::default()
        };
        let group = LibraryBenchmarkGroup {
            library_benchmarks: vec![function("a", None), function("b", Some(config))],
            ..Default::default()
        };
        let all = LibraryBenchmarkGroups {
            command_line_args: Vec::new(),
            config: Default::default(),
            default_tool: Tool::Callgrind,
            groups: vec![Default::default(), group],
            has_setup: false,
            has_teardown: false,
        };
        let program = Program {
            name: "instr_fork".to_owned(),
            ..Program::test()
        };
        let mut found = benches(&all);
        for (at, (function, counted)) in [("a", MEASURED), ("b", "*look*")].into_iter().enumerate()
        {
            let id = program.id(&found[at]).expect("a name");
            assert_eq!(id, format!("fork/{function}/static_fork/0-t1"));
            assert_eq!(found[at].counted.as_deref(), Some(counted));
            assert_eq!(found[at].place, [1, at, 0]);
        }
        found[0].name = "ring_64".to_owned();
        let error = program.id(&found[0]).expect_err("no id").to_string();
        assert!(error.contains("CONTENDER__PARAM"), "{error}");
    }

    #[test]
    fn the_total_is_that_of_instructions() {
        let profile = "events: Ir Dr\n\nfn=a\n1 2 3\n\nsummary: 5 3\n\n\ntotals: 2139 3\n";
        assert_eq!(total(profile), Some(2139.0));
        assert_eq!(total("fn=a\n"), None);
    }

    #[test]
    fn the_manifest_has_the_version() {
        let manifest = include_str!("../../Cargo.toml");
        assert!(manifest.contains(&format!("gungraun-runner = {{ version = \"={VERSION}\"")));
    }
}
