//! What is measured is what cargo would build: the files of submodules, and bytes that no program has changed. The
//! repository and those in it stay as they were.

use std::fs;

use crate::fixture::{COSTS, Fixture, git};
use crate::marks::with_filter;

/// A submodule `sub` whose file `cost.rs` says what the first bench costs.
fn with_submodule() -> Fixture {
    let fixture = Fixture::new();
    let origin = fixture.beside("origin");
    fs::create_dir(&origin).expect("writable");
    fs::write(origin.join("cost.rs"), "pub const COST: f64 = 100.0;\n").expect("writable");
    git(&origin, &["init", "--quiet", "--initial-branch=main"]);
    git(&origin, &["config", "user.name", "Fixture"]);
    git(&origin, &["config", "user.email", "fixture@localhost"]);
    git(&origin, &["add", "--all"]);
    git(&origin, &["commit", "--quiet", "--message=cost"]);
    let url = origin.display().to_string();
    fixture.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        &url,
        "sub",
    ]);
    fixture.cost_of("#[path = \"../../sub/cost.rs\"]\nmod cost;", "cost::COST");
    fixture.commit("with a submodule");
    fixture
}

#[test]
fn a_submodule_with_recursion_on_is_measured_and_left_alone() {
    let fixture = with_submodule();
    fixture.git(&["config", "submodule.recurse", "true"]);
    fixture.write("sub/cost.rs", "pub const COST: f64 = 120.0;\n");
    fixture.write("sub/new.rs", "a file that git does not know\n");
    let ended = fixture.left_alone(&["HEAD"]);
    ended.fails(1, &["slower", COSTS[0]]);
    let files = fixture.snapshot_files();
    assert!(files.contains("sub/new.rs"), "{files}");
}

#[test]
fn commits_with_other_commits_of_a_submodule_are_compared() {
    let fixture = with_submodule();
    fixture.git(&["config", "submodule.recurse", "true"]);
    let sub = fixture.path().join("sub");
    fixture.write("sub/cost.rs", "pub const COST: f64 = 120.0;\n");
    git(&sub, &["config", "user.name", "Fixture"]);
    git(&sub, &["config", "user.email", "fixture@localhost"]);
    git(&sub, &["commit", "--quiet", "--all", "--message=slower"]);
    fixture.commit("a slower submodule");
    let ended = fixture.left_alone(&["HEAD~1", "HEAD"]);
    ended.fails(1, &["slower", COSTS[0]]);
    // The working tree is HEAD: nothing is dirty.
    fixture.left_alone(&["HEAD"]).succeeds();
    assert!(!fixture.is_dirty());
}

#[test]
fn a_submodule_that_is_not_there_is_said() {
    let fixture = with_submodule();
    fixture.git(&["submodule", "--quiet", "deinit", "--force", "sub"]);
    fixture.costs(100.0);
    fixture.commit("no use of it");
    fixture.left_alone(&["HEAD", "--layer=gamma"]).succeeds();
    assert!(!fixture.is_dirty());
    assert!(fixture.warnings().contains("sub"));
}

#[test]
fn a_repository_in_the_tree_is_part_of_it() {
    let fixture = Fixture::new();
    fixture.write("inner/cost.rs", "pub const COST: f64 = 120.0;\n");
    // Without a commit it is nothing that git could add.
    git(&fixture.path().join("inner"), &["init", "--quiet"]);
    fixture.cost_of("#[path = \"../../inner/cost.rs\"]\nmod cost;", "cost::COST");
    let ended = fixture.left_alone(&["start"]);
    ended.fails(1, &["slower", COSTS[0]]);
}

#[test]
fn no_filter_is_run_and_the_bytes_of_the_tree_are_measured() {
    let fixture = Fixture::new();
    with_filter(&fixture);
    // As it is stored it is no number.
    fixture.write("code/src/kept.dat", "100\n");
    fixture.cost_of(
        "",
        "include_str!(\"kept.dat\").trim().parse().expect(\"a number\")",
    );
    fixture.commit("filtered");
    assert_eq!(fixture.git(&["show", "HEAD:code/src/kept.dat"]), "baa\n");
    fixture.write("code/src/new.dat", "120\n");
    fixture.cost_of(
        "",
        "(include_str!(\"new.dat\").trim().parse::<f64>().expect(\"a number\")\
         * include_str!(\"kept.dat\").trim().parse::<f64>().expect(\"a number\")) / 100.0",
    );
    let ended = fixture.left_alone(&["HEAD"]);
    ended.fails(1, &["slower", COSTS[0]]);
    assert!(!fixture.warnings().contains("filter"));

    // What the working tree does not have is written as it is stored, and that is said.
    fixture.commit("one more");
    fixture.write("code/src/new.dat", "130\n");
    let ended = fixture.left_alone(&["HEAD"]);
    ended.fails(3, &["base (HEAD"]);
    ended.says("files of HEAD are measured as they are stored");
    ended.says("code/src/new.dat");
}

#[test]
fn a_filtered_tree_without_a_change_is_the_commit() {
    let fixture = Fixture::new();
    with_filter(&fixture);
    fixture.write("code/src/kept.dat", "100\n");
    let link = fixture.path().join("link.dat");
    std::os::unix::fs::symlink("code/src/kept.dat", &link).expect("writable");
    fixture.commit("filtered");
    fixture.left_alone(&["HEAD"]).succeeds();
    assert!(!fixture.is_dirty());
}

#[test]
fn line_ends_are_converted_as_a_checkout_does() {
    let fixture = Fixture::new();
    fixture.git(&["config", "core.autocrlf", "true"]);
    fixture.write(".gitattributes", "*.txt text eol=crlf\n");
    fixture.write("code/src/text.txt", "text\r\n");
    fixture.cost_of(
        "const _: () = assert!(include_str!(\"text.txt\").len() == 6);",
        "100.0",
    );
    fixture.commit("lines");
    fixture.left_alone(&["HEAD"]).succeeds();
    assert!(!fixture.is_dirty());
}
