//! The user's tree: a snapshot has all of it, and afterwards it is as it was.

use std::fs;

use crate::fixture::{COSTS, Fixture, compare, git};

#[test]
fn a_dirty_tree_is_compared_and_left_as_it_was() {
    let fixture = Fixture::new();
    fixture.write("notes.txt", "to be deleted\n");
    fixture.write("code/more.txt", "to be changed\n");
    fixture.commit("more files");
    fixture.write("staged.txt", "staged\n");
    fixture.git(&["add", "staged.txt"]);
    fixture.write("staged.txt", "staged, then changed\n");
    fixture.write("code/more.txt", "changed\n");
    fs::remove_file(fixture.path().join("notes.txt")).expect("it is there");
    // The build needs what git does not know: it is in the snapshot, or nothing is slower.
    fixture.write(
        "code/src/a file with spaces.rs",
        "pub const COST: f64 = 120.0;\n",
    );
    let items = "#[path = \"a file with spaces.rs\"]\nmod extra;";
    fixture.cost_of(items, "extra::COST");
    let status = fixture.git(&["status", "--porcelain"]);
    let ended = fixture.left_alone(&["start"]);
    ended.fails(1, &["slower", COSTS[0]]);
    for line in [
        " M code/more.txt",
        " D notes.txt",
        "AM staged.txt",
        "?? \"code/src/a file",
    ] {
        assert!(status.contains(line), "{line} is not in {status}");
    }
}

#[test]
fn files_directories_and_links_may_take_each_others_place() {
    let fixture = Fixture::new();
    fixture.write("directory/file.txt", "text\n");
    fixture.write("file", "text\n");
    fixture.commit("more files");
    fs::remove_dir_all(fixture.path().join("directory")).expect("it is there");
    std::os::unix::fs::symlink("code", fixture.path().join("directory")).expect("writable");
    fs::remove_file(fixture.path().join("file")).expect("it is there");
    fixture.write("file/below.txt", "text\n");
    fixture.left_alone(&["start", "--layer=gamma"]).succeeds();
    let files = fixture.snapshot_files();
    let is_of_these = |file: &&str| matches!(file.split('/').next(), Some("file" | "directory"));
    let of_these: Vec<&str> = files.lines().filter(is_of_these).collect();
    assert_eq!(of_these, ["directory", "file/below.txt"]);
}

#[test]
fn it_works_from_a_directory_below_and_with_a_broken_manifest_in_the_tree() {
    let fixture = Fixture::new();
    fixture.write("Cargo.toml", "this is no manifest\n");
    compare(&fixture.path().join("code"), &["start", "start"]).succeeds();
    let ended = fixture.compare(&["start"]);
    ended.fails(3, &["head (working tree", "cargo bench"]);
}

#[test]
fn what_an_earlier_run_left_half_done_is_repaired() {
    let fixture = Fixture::new();
    fixture.costs(120.0);
    let args = ["start", "--layer=alpha", "--rounds=3"];
    fixture.compare(&args).fails(1, &["slower"]);
    let state = fixture.path().join("target/bench-compare");
    fs::remove_dir_all(state.join("bin")).expect("it is there");
    fs::write(state.join("src/head.index.lock"), "").expect("it is writable");
    fs::write(state.join("src/base.index"), "no index").expect("it is writable");
    fs::write(state.join("src/head/code/src/lib.rs"), "broken").expect("it is writable");
    fs::create_dir_all(state.join("home/left/new")).expect("it is writable");
    fixture.compare(&args).fails(1, &["slower", COSTS[0]]);
}

#[test]
fn a_target_directory_that_git_does_not_ignore_is_left_out() {
    let fixture = Fixture::new();
    fixture.git(&["rm", "--quiet", ".gitignore"]);
    // Nor is a repository in it taken for a part of the tree.
    fixture.write("target/inner/file.txt", "text\n");
    git(&fixture.path().join("target/inner"), &["init", "--quiet"]);
    fixture.compare(&["start", "--layer=gamma"]).succeeds();
    let files = fixture.snapshot_files();
    assert!(files.contains("code/src/lib.rs"), "{files}");
    assert!(!files.contains("target/"), "{files}");
}

#[test]
fn reports_in_the_tree_are_no_change_of_it() {
    let fixture = Fixture::new();
    fixture.costs(120.0);
    let args = ["start", "--layer=alpha", "--rounds=3", "--out=reports"];
    fixture.compare(&args).fails(1, &["slower", COSTS[0]]);
    assert!(fixture.path().join("reports/report.html").is_file());
    let resumed = fixture.compare(&[&args[..], &["--resume"]].concat());
    resumed.fails(1, &["slower", COSTS[0]]);
    resumed.says("taken over");
}
