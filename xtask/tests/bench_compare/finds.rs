//! What is found: nothing where nothing changed, and a change where it is.

use crate::fixture::{CONSTANT, COSTS, Fixture};

/// All benches in the order of their ids.
fn all() -> Vec<&'static str> {
    COSTS.into_iter().chain([CONSTANT]).collect()
}

#[test]
fn the_same_code_is_identical_without_a_run() {
    let fixture = Fixture::new();
    // First the same commit, then trees that differ: both are built, and the bytes say that they are the same.
    for _ in 0..2 {
        fixture.compare(&["start", "main"]).succeeds();
        assert_eq!(fixture.result().identical(), all());
        assert_eq!(fixture.runs(), [""; 0]);
        fixture.write("README.md", "text\n");
        fixture.git(&["add", "README.md"]);
        fixture.git(&["commit", "--quiet", "--allow-empty", "--message=text"]);
    }
}

#[test]
fn base_against_itself_is_measured_and_flags_nothing() {
    let fixture = Fixture::new();
    fixture.compare(&["start", "--aa"]).succeeds();
    let result = fixture.result();
    assert_eq!(result.with_verdict("same"), all());
    assert_eq!(result.identical(), [""; 0]);
    assert_eq!(fixture.runs().len(), 4 * 4 * 10);
}

#[test]
fn a_slowdown_of_a_fifth_flags_its_bench_alone() {
    let fixture = Fixture::new();
    fixture.costs(120.0);
    let ended = fixture.compare(&["start"]);
    ended.fails(1, &["slower", COSTS[0]]);
    let result = fixture.result();
    assert_eq!(result.with_verdict("slower"), [COSTS[0]]);
    assert_eq!(result.with_verdict("same"), COSTS[1..]);
    assert_eq!(result.identical(), [CONSTANT]);
    assert!(fixture.is_dirty());

    // The other way round it is faster, which fails nothing; the working tree's build is known.
    fixture.commit("slow");
    let ended = fixture.compare(&["main", "start"]);
    ended.succeeds();
    assert!(
        ended.stderr.matches("built before").count() == 2,
        "{}",
        ended.stderr
    );
    assert_eq!(fixture.result().with_verdict("faster"), [COSTS[0]]);
}

#[test]
fn a_bench_with_more_threads_than_cores_fails_nothing() {
    let fixture = Fixture::new();
    fixture.library(&format!("\"{}\" => 200.0", COSTS[2]), "");
    fixture.compare(&["start"]).succeeds();
    assert_eq!(fixture.result().with_verdict("slower"), [COSTS[2]]);
}

#[test]
fn a_side_can_be_built_with_an_argument() {
    let fixture = Fixture::new();
    let arm = format!("\"{}\" if cfg!(feature = \"slow\") => 130.0", COSTS[1]);
    fixture.library(&arm, "");
    fixture.commit("a feature");
    let args = ["main", "main", "--head-arg=--features=slow"];
    let ended = fixture.compare(&[&args[..], &["--filter=alpha"]].concat());
    ended.fails(1, &["slower", COSTS[1]]);
    let result = fixture.result();
    assert_eq!(result.with_verdict("same"), [COSTS[0]]);
    assert_eq!(result.0["head"]["args"][0], "--features=slow");
    // One that is not gated may be slower.
    let ended = fixture.compare(&[&args[..], &["--fail-on=cpu"]].concat());
    ended.succeeds();
}

#[test]
fn layers_and_filters_choose() {
    let fixture = Fixture::new();
    fixture.costs(120.0);
    let args = ["start", "--layer=alpha", "--filter=two", "--rounds=3"];
    fixture.compare(&args).succeeds();
    assert_eq!(fixture.result().with_verdict("same"), [COSTS[1]]);
    assert_eq!(fixture.runs().len(), 4 * 3);
}

#[test]
fn new_and_lost_benches_are_listed() {
    let fixture = Fixture::new();
    let path = "benches/benches/costs.rs";
    let text = std::fs::read_to_string(fixture.path().join(path)).expect("it is there");
    fixture.write(path, &text.replace(COSTS[1], "alpha/three/ours/1"));
    fixture.compare(&["start"]).succeeds();
    let result = fixture.result();
    assert_eq!(result.0["added"][0], "alpha/three/ours/1");
    assert_eq!(result.0["removed"][0], COSTS[1]);
    assert_eq!(result.0["harness_changed"], true);
    let ended = fixture.compare(&["start", "--require-all"]);
    ended.fails(5, &["one side", "alpha/three/ours/1", COSTS[1]]);
}
