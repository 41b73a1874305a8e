//! A small repository with a package of benches, and the command run in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// Benches of the program `costs`, whose times come from the library.
pub(crate) const COSTS: [&str; 3] = [
    "alpha/one/ours/1",
    "alpha/two/ours/1",
    "beta/one/ours/t1024",
];
/// The bench of the program `constant`, which uses no library.
pub(crate) const CONSTANT: &str = "gamma/one/ours/1";
/// The first lines of the library; what they cost is the fixture's to say.
const LIBRARY: &str =
    "//! What the benches cost.\n\npub fn cost(id: &str) -> f64 {\n    match id {\n";

/// The repository, in a temporary directory.
pub(crate) struct Fixture {
    dir: TempDir,
}

/// How the command ended.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stderr: String,
}

impl Fixture {
    /// One commit, with the tag `start`.
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let fixture = Self { dir };
        fixture.git(&["init", "--quiet", "--initial-branch=main"]);
        fixture.git(&["config", "user.name", "Fixture"]);
        fixture.git(&["config", "user.email", "fixture@localhost"]);
        fixture.write(".gitignore", "/target\n/out\n");
        fixture.write(
            "Cargo.toml",
            "[workspace]\nresolver = \"3\"\nmembers = [\"code\", \"benches\"]\n",
        );
        fixture.write(
            "Cargo.lock",
            "version = 4\n\n[[package]]\nname = \"code\"\nversion = \"0.1.0\"\n\n[[package]]\nname = \"fixture-benches\"\nversion = \"0.1.0\"\ndependencies = [\n \"code\",\n]\n",
        );
        fixture.write(
            "code/Cargo.toml",
            "[package]\nname = \"code\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[features]\nslow = []\n",
        );
        fixture.costs(100.0);
        fixture.write(
            "benches/Cargo.toml",
            "[package]\nname = \"fixture-benches\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
             [features]\nslow = [\"code/slow\"]\n\n[dev-dependencies]\ncode = { path = \"../code\" }\n\n\
             [lib]\nbench = false\n\n\
             [[bench]]\nname = \"costs\"\nharness = false\n\n[[bench]]\nname = \"constant\"\nharness = false\n",
        );
        fixture.write("benches/src/lib.rs", include_str!("harness.rs"));
        let ids = COSTS.map(|id| format!("\"{id}\"")).join(", ");
        fixture.write(
            "benches/benches/costs.rs",
            &format!("fn main() {{\n    fixture_benches::main(&[{ids}], code::cost);\n}}\n"),
        );
        fixture.write(
            "benches/benches/constant.rs",
            &format!("fn main() {{\n    fixture_benches::main(&[\"{CONSTANT}\"], |_| 7.0);\n}}\n"),
        );
        fixture.commit("start");
        fixture.git(&["tag", "start"]);
        fixture
    }

    /// Says what the first bench costs; the others cost 100.
    pub(crate) fn costs(&self, first: f64) {
        let arms = format!(
            "        \"{}\" => {first:?},\n        \"panic\" => panic!(\"no such cost\"),\n        _ => 100.0,\n    }}\n}}\n",
            COSTS[0]
        );
        self.write("code/src/lib.rs", &format!("{LIBRARY}{arms}"));
    }

    /// Makes the library something else.
    pub(crate) fn library(&self, arms: &str) {
        self.write("code/src/lib.rs", &format!("{LIBRARY}{arms}"));
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path().join(path);
        let parent = path.parent().expect("it lies in the fixture");
        fs::create_dir_all(parent).expect("the fixture is writable");
        fs::write(path, text).expect("the fixture is writable");
    }

    pub(crate) fn append(&self, path: &str, text: &str) {
        let all = fs::read_to_string(self.path().join(path)).expect("it is there");
        self.write(path, &(all + text));
    }

    pub(crate) fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", message]);
    }

    /// What git prints; it must succeed.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        git(self.path(), args)
    }

    /// The command, not started.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        command(self.path(), args)
    }

    /// Runs the command to its end, measuring little.
    pub(crate) fn compare(&self, args: &[&str]) -> Ended {
        compare(self.path(), args)
    }

    /// The result in the directory for reports.
    pub(crate) fn result(&self) -> Comparison {
        let path = self.report().join("compare.json");
        let text = fs::read_to_string(&path).expect("there is a result");
        Comparison(serde_json::from_str(&text).expect("it is JSON"))
    }

    pub(crate) fn report(&self) -> PathBuf {
        self.path().join("target/bench-compare/report")
    }

    /// The runs that were noted.
    pub(crate) fn runs(&self) -> Vec<String> {
        let text = fs::read_to_string(self.report().join("runs.jsonl")).unwrap_or_default();
        let lines = text.lines().skip(1).filter(|line| line.ends_with('}'));
        lines.map(str::to_owned).collect()
    }
}

pub(crate) fn git(dir: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .arg("-C")
        .arg(dir)
        .args(args)
        .env("GIT_OPTIONAL_LOCKS", "0")
        .output()
        .expect("git starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {args:?}: {stderr}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn command(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.arg("bench-compare").args(args).current_dir(dir);
    for name in [
        "CARGO_TARGET_DIR",
        "RUSTFLAGS",
        "CARGO_ENCODED_RUSTFLAGS",
        "CARGO_BUILD_TARGET",
    ] {
        command.env_remove(name);
    }
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

pub(crate) fn compare(dir: &Path, args: &[&str]) -> Ended {
    let args = [args, &["--metric", "wall", "--time", "1"]].concat();
    ended(command(dir, &args).output().expect("the command starts"))
}

pub(crate) fn ended(output: Output) -> Ended {
    Ended {
        code: output.status.code(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

impl Ended {
    /// Asserts the exit code, and that the error is one line that says all of `parts`.
    #[track_caller]
    pub(crate) fn fails(&self, code: i32, parts: &[&str]) {
        assert_eq!(self.code, Some(code), "{}", self.stderr);
        let errors: Vec<&str> = self
            .stderr
            .lines()
            .filter(|l| l.starts_with("error: "))
            .collect();
        for part in parts {
            assert!(
                errors.iter().any(|e| e.contains(part)),
                "{part} is not in {}",
                self.stderr
            );
        }
    }

    #[track_caller]
    pub(crate) fn succeeds(&self) {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
    }
}

/// `compare.json`.
pub(crate) struct Comparison(pub(crate) Value);

impl Comparison {
    fn benches(&self) -> &Vec<Value> {
        self.0["benches"].as_array().expect("an array")
    }

    /// The ids of the benches that were not timed.
    pub(crate) fn identical(&self) -> Vec<&str> {
        let benches = self.benches().iter().filter(|b| b["identical"] == true);
        benches
            .map(|b| b["id"].as_str().expect("a string"))
            .collect()
    }

    /// The ids with this verdict.
    pub(crate) fn with_verdict(&self, verdict: &str) -> Vec<&str> {
        let has = |b: &&Value| {
            let results = b["results"].as_array().expect("an array");
            results.iter().any(|r| r["verdict"] == verdict)
        };
        let benches = self.benches().iter().filter(has);
        benches
            .map(|b| b["id"].as_str().expect("a string"))
            .collect()
    }
}
