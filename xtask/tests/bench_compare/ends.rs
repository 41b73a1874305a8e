//! How it ends: the exit codes, one line that says what to do, and going on after an interruption.

use std::collections::HashSet;
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use crate::fixture::{CONSTANT, COSTS, Fixture, compare, ended};

#[test]
fn an_unknown_ref_is_named() {
    let fixture = Fixture::new();
    fixture
        .compare(&["no-such-ref"])
        .fails(2, &["`no-such-ref`", "git fetch"]);
    fixture
        .compare(&["start", "--no-such"])
        .fails(2, &["--no-such"]);
    fixture.compare(&["start", "-x"]).fails(2, &["-x"]);
}

#[test]
fn outside_of_a_repository_it_says_so() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    compare(dir.path(), &["main"]).fails(2, &["no git repository"]);
}

#[test]
fn without_a_common_bench_there_is_nothing_to_do() {
    let fixture = Fixture::new();
    fixture
        .compare(&["start", "--filter=nothing"])
        .fails(2, &["no bench", "--filter"]);
    fixture.git(&["rm", "-r", "--quiet", "benches"]);
    fixture.write(
        "Cargo.toml",
        "[workspace]\nresolver = \"3\"\nmembers = [\"code\"]\n",
    );
    fixture
        .compare(&["start"])
        .fails(2, &["head", "no `benches`"]);
}

#[test]
fn a_side_that_does_not_build_is_named() {
    let fixture = Fixture::new();
    fixture.cost_of("", "missing");
    let ended = fixture.compare(&["start"]);
    ended.fails(3, &["head (working tree", "cargo bench"]);
    ended.says("missing");
}

#[test]
fn a_bench_that_panics_is_named_and_the_others_are_measured() {
    let fixture = Fixture::new();
    fixture.cost_of("", "panic!(\"too much\")");
    let ended = fixture.compare(&["start"]);
    ended.fails(3, &[COSTS[0], "head (working tree", "--exact"]);
    ended.says("too much");
    let result = fixture.result();
    assert_eq!(result.with_verdict("same"), COSTS[1..]);
    assert_eq!(result.0["failed"][0]["id"], COSTS[0]);
    assert_eq!(result.identical(), [CONSTANT]);
}

#[test]
fn a_place_that_cannot_be_written_is_found_before_anything_is_built() {
    let fixture = Fixture::new();
    fixture.write("out", "a file\n");
    let ended = fixture.compare(&["start", "--out=out"]);
    ended.fails(2, &["cannot write to out", "--out"]);
    assert!(!ended.stderr.contains("building"), "{}", ended.stderr);
}

#[test]
fn what_is_too_noisy_fails_if_asked() {
    let fixture = Fixture::new();
    fixture.noise();
    fixture.commit("noise");
    fixture
        .compare(&["main", "--aa", "--layer=alpha"])
        .succeeds();
    fixture
        .compare(&["main", "--aa", "--layer=alpha", "--strict"])
        .fails(4, &["too noisy", COSTS[0]]);
}

#[test]
fn one_process_at_a_time() {
    let fixture = Fixture::new();
    let mut first = slow(&fixture, &[]).spawn().expect("the command starts");
    wait_for_runs(&fixture, &mut first, 1);
    fixture
        .compare(&["start"])
        .fails(2, &["another bench-compare"]);
    signal("INT", &first.id().to_string());
    first.wait().expect("it ends");
}

#[test]
fn after_ctrl_c_it_goes_on_and_runs_nothing_twice() {
    stopped_and_resumed("INT", Some(130));
}

#[test]
fn after_being_killed_it_goes_on_and_runs_nothing_twice() {
    stopped_and_resumed("KILL", None);
}

/// The build script says that it runs, and waits to be killed with the rest.
#[test]
fn an_interrupt_ends_a_build_and_the_next_one_is_whole() {
    let fixture = Fixture::new();
    let marker = fixture.path().join("target/builds");
    fs::create_dir_all(fixture.path().join("target")).expect("writable");
    let script = format!(
        "fn main() {{\n    std::fs::write({marker:?}, \"\").unwrap();\n    std::thread::sleep(std::time::Duration::from_secs(600));\n}}\n"
    );
    fixture.write("code/build.rs", &script);
    fixture.commit("a build that takes its time");
    let mut command = fixture.command(&["HEAD~1"]);
    let mut child = command
        .process_group(0)
        .spawn()
        .expect("the command starts");
    let start = Instant::now();
    while !marker.exists() {
        assert!(child.try_wait().expect("a child").is_none(), "it ended");
        assert!(start.elapsed() < Duration::from_secs(300), "no build began");
        std::thread::sleep(Duration::from_millis(10));
    }
    // As a terminal does: all processes in the foreground get it.
    signal("INT", &format!("-{}", child.id()));
    let stopped = ended(child.wait_with_output().expect("it ends"));
    stopped.fails(130, &["interrupted"]);
    assert_eq!(fixture.git(&["status", "--porcelain"]), "");

    fs::remove_file(fixture.path().join("code/build.rs")).expect("it is there");
    fixture.compare(&["HEAD~1"]).succeeds();
}

const ROUNDS: usize = 4;

/// A comparison of two sides that differ, of runs that take their time and are logged.
fn slow(fixture: &Fixture, args: &[&str]) -> Command {
    fixture.costs(120.0);
    let rounds = format!("--rounds={ROUNDS}");
    let usual = ["start", "--metric=wall", "--time=1", &rounds];
    let mut command = fixture.command(&[&usual, args].concat());
    command.env("FIXTURE_SLEEP_MS", "40");
    command.env("FIXTURE_LOG", fixture.path().join("target/log"));
    command
}

fn stopped_and_resumed(name: &str, code: Option<i32>) {
    let fixture = Fixture::new();
    let mut child = slow(&fixture, &[]).spawn().expect("the command starts");
    wait_for_runs(&fixture, &mut child, 5);
    signal(name, &child.id().to_string());
    let stopped = ended(child.wait_with_output().expect("it ends"));
    assert_eq!(stopped.code, code, "{}", stopped.stderr);
    if code.is_some() {
        stopped.fails(130, &["--resume"]);
    }
    let before = fixture.runs();
    let whole = COSTS.len() * 4 * ROUNDS;
    assert!(before.len() < whole, "it was stopped too late");
    assert_eq!(fixture.git(&["worktree", "list"]).lines().count(), 1);

    let resume = || {
        let output = slow(&fixture, &["--resume"]).output();
        ended(output.expect("the command starts"))
    };
    let resumed = resume();
    resumed.fails(1, &["slower", COSTS[0]]);
    assert!(
        resumed.stderr.matches("built before").count() == 2,
        "{}",
        resumed.stderr
    );
    let after = fixture.runs();
    assert_eq!(
        after[..before.len()],
        before[..],
        "what was noted is left as it was"
    );
    assert_eq!(after.len(), whole);
    assert_eq!(after.iter().collect::<HashSet<_>>().len(), whole);
    let log = fs::read_to_string(fixture.path().join("target/log")).expect("runs are logged");
    // The one that was running when it was stopped is the only one that was run again.
    let again = log.lines().count() - whole;
    assert!(again <= 1, "{again} runs too many");
    assert_eq!(fixture.result().0["resumed"], true);

    // Nothing is left to do, and another comparison is refused.
    let done = resume();
    done.fails(1, &["slower"]);
    assert_eq!(fixture.runs().len(), whole);
    fixture.costs(140.0);
    fixture
        .compare(&["start", "--resume"])
        .fails(2, &["another comparison", "--resume"]);
}

/// Waits until that many runs were noted.
fn wait_for_runs(fixture: &Fixture, child: &mut Child, amount: usize) {
    let start = Instant::now();
    while fixture.runs().len() < amount {
        let ended = child.try_wait().expect("it is our child");
        assert_eq!(ended, None, "it ended too early");
        assert!(start.elapsed() < Duration::from_secs(300), "nothing is run");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn signal(name: &str, process: &str) {
    let status = Command::new("kill")
        .args([&format!("-{name}"), "--", process])
        .status()
        .expect("kill starts");
    assert!(status.success());
}
