//! A small repository with a package of benches, and the command run in it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::SystemTime;

use serde_json::Value;
use tempfile::TempDir;

use crate::marks::{forget_marks, no_marks};

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
    root: PathBuf,
}

/// Everything in some directories: what lies there, when it was written, and its bytes.
#[derive(PartialEq)]
pub(crate) struct Everything(BTreeMap<PathBuf, (SystemTime, Vec<u8>)>);

/// How the command ended.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stderr: String,
}

impl Fixture {
    /// One commit, with the tag `start`.
    pub(crate) fn new() -> Self {
        Self::called(OsStr::new("repository"))
    }

    /// The same in a directory of this name.
    pub(crate) fn called(name: &OsStr) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = dir.path().join(name);
        fs::create_dir(&root).expect("the temporary directory is writable");
        let fixture = Self { dir, root };
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
        self.cost_of("", &format!("{first:?}"));
    }

    /// From now on two runs of the first bench cost 100, the next two 300, and so on. In each round the sides are alike, and a side
    /// is not like itself.
    pub(crate) fn noise(&self) {
        let runs = self.beside("noise");
        let items = format!(
            "fn noise() -> f64 {{\n    use std::io::Write;\n    let mut runs = std::fs::OpenOptions::new().create(true).append(true).open({runs:?})\
             .unwrap();\n    runs.write_all(b\".\").unwrap();\n    if (runs.metadata().unwrap().len() - 1) % 4 < 2 {{ 100.0 }} else {{ 300.0 }}\n}}\n"
        );
        self.cost_of(&items, "noise()");
    }

    /// The first bench costs what `number`, an expression, says; `items` are added to the library.
    pub(crate) fn cost_of(&self, items: &str, number: &str) {
        self.library(&format!("\"{}\" => {number}", COSTS[0]), items);
    }

    /// Says what the benches of an arm of a match cost; the others cost 100.
    pub(crate) fn library(&self, arm: &str, items: &str) {
        let rest = "        _ => 100.0,\n    }\n}\n";
        self.write(
            "code/src/lib.rs",
            &format!("{LIBRARY}        {arm},\n{rest}\n{items}\n"),
        );
    }

    pub(crate) fn path(&self) -> &Path {
        &self.root
    }

    /// A path beside the repository.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Runs the command to its end in `dir`. Nothing of the repository and beside it changes, no program of the user's is
    /// run, and git does not miss the target directory.
    #[track_caller]
    pub(crate) fn left_alone_in(&self, dir: &Path, args: &[&str]) -> Ended {
        let status = || {
            git(
                dir,
                &["-c", "core.fsmonitor=false", "status", "--porcelain"],
            )
        };
        let status_before = status();
        forget_marks(self);
        let before = self.everything(dir);
        let ended = compare(dir, args);
        no_marks(self);
        before.is_still(&self.everything(dir));
        let (target, away) = (dir.join("target"), self.beside("away"));
        fs::rename(&target, &away).expect("there is a target directory");
        assert_eq!(status(), status_before);
        fs::rename(&away, &target).expect("it was there");
        ended
    }

    /// The same in the root of the repository.
    #[track_caller]
    pub(crate) fn left_alone(&self, args: &[&str]) -> Ended {
        self.left_alone_in(self.path(), args)
    }

    /// Everything in the repository and beside it, but for the time of `dir`: the target directory comes and goes there.
    pub(crate) fn everything(&self, dir: &Path) -> Everything {
        let mut all = BTreeMap::new();
        collect(self.dir.path(), &mut all);
        all.remove(dir);
        Everything(all)
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

    /// The names of the files in the snapshot, which is where the repository does not see it.
    pub(crate) fn snapshot_files(&self) -> String {
        let result = self.result();
        let tree = result.0["head"]["commit"].as_str().expect("a string");
        let store = self.path().join("target/bench-compare/repository");
        let store = format!("--git-dir={}", store.display());
        self.git(&[&store, "ls-tree", "-r", "--name-only", tree])
    }

    /// Whether HEAD was something else than a commit.
    pub(crate) fn is_dirty(&self) -> bool {
        self.result().0["head"]["dirty"] == true
    }

    /// The warnings in the result.
    pub(crate) fn warnings(&self) -> String {
        self.result().0["warnings"].to_string()
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

impl Everything {
    /// Fails with the names of what is different now.
    #[track_caller]
    pub(crate) fn is_still(&self, now: &Self) {
        let paths = self.0.keys().chain(now.0.keys());
        let mut changed: Vec<_> = paths
            .filter(|&path| self.0.get(path) != now.0.get(path))
            .collect();
        changed.sort();
        changed.dedup();
        assert!(changed.is_empty(), "changed, new or gone: {changed:#?}");
    }
}

fn collect(dir: &Path, all: &mut BTreeMap<PathBuf, (SystemTime, Vec<u8>)>) {
    for entry in fs::read_dir(dir).expect("it is a directory") {
        let path = entry.expect("it can be read").path();
        if path.ends_with("target") {
            continue;
        }
        let data = path.symlink_metadata().expect("it is there");
        let bytes = if data.is_dir() {
            collect(&path, all);
            Vec::new()
        } else if data.is_symlink() {
            let target = fs::read_link(&path).expect("a link");
            target.as_os_str().as_bytes().to_vec()
        } else {
            fs::read(&path).expect("it can be read")
        };
        let time = data.modified().expect("there is a time");
        all.insert(path, (time, bytes));
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

    /// Asserts that this was said.
    #[track_caller]
    pub(crate) fn says(&self, part: &str) {
        assert!(
            self.stderr.contains(part),
            "{part} is not in {}",
            self.stderr
        );
    }
}

/// `compare.json`.
pub(crate) struct Comparison(pub(crate) Value);

impl Comparison {
    fn benches(&self) -> &Vec<Value> {
        self.0["benches"].as_array().expect("an array")
    }

    /// The ids of the benches of which this holds.
    fn ids(&self, holds: impl Fn(&Value) -> bool) -> Vec<&str> {
        let benches = self.benches().iter().filter(|bench| holds(bench));
        let ids = benches.map(|bench| bench["id"].as_str());
        ids.map(|id| id.expect("a string")).collect()
    }

    /// The ids of the benches that were not timed.
    pub(crate) fn identical(&self) -> Vec<&str> {
        self.ids(|bench| bench["identical"] == true)
    }

    /// The ids with this verdict.
    pub(crate) fn with_verdict(&self, verdict: &str) -> Vec<&str> {
        self.ids(|bench| {
            let results = bench["results"].as_array().expect("an array");
            results.iter().any(|result| result["verdict"] == verdict)
        })
    }
}
