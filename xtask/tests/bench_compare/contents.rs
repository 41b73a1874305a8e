//! What is measured is what cargo would build: the files of submodules, and bytes that no program has changed. The
//! repository and those in it stay as they were.

use std::fs;

use crate::fixture::{COSTS, Fixture, git};
use crate::marks::{forget_marks, no_marks, with_filter};

/// A submodule `sub` whose file `cost.rs` says what the first bench costs.
fn with_submodule() -> Fixture {
    let fixture = Fixture::new();
    let origin = fixture.beside("origin");
    fs::create_dir(&origin).expect("writable");
    fs::write(origin.join("cost.rs"), "pub const COST: f64 = 100.0;\n").expect("writable");
    let identity = [
        "-c",
        "user.name=Fixture",
        "-c",
        "user.email=fixture@localhost",
    ];
    git(&origin, &["init", "--quiet", "--initial-branch=main"]);
    git(&origin, &["add", "--all"]);
    let commit = ["commit", "--quiet", "--message=cost"];
    git(&origin, &[&identity[..], &commit].concat());
    let url = origin.display().to_string();
    let add = [
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
    ];
    fixture.git(&[&add[..], &[&url, "sub"]].concat());
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
    let before = fixture.everything();
    let status = fixture.git(&["status", "--porcelain"]);
    fixture.compare(&["HEAD"]).fails(1, &["slower", COSTS[0]]);
    before.is_still(&fixture.everything());
    let result = fixture.result();
    let commit = result.0["head"]["commit"].as_str().expect("a string");
    let files = fixture.snapshot_files(commit);
    assert!(files.contains("sub/new.rs"), "{files}");
    fixture.clean(&status);
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
    let before = fixture.everything();
    fixture
        .compare(&["HEAD~1", "HEAD"])
        .fails(1, &["slower", COSTS[0]]);
    // The working tree is HEAD: nothing is dirty.
    fixture.compare(&["HEAD"]).succeeds();
    assert_eq!(fixture.result().0["head"]["dirty"], false);
    before.is_still(&fixture.everything());
    fixture.clean("");
}

#[test]
fn a_submodule_that_is_not_there_is_said() {
    let fixture = with_submodule();
    fixture.git(&["submodule", "--quiet", "deinit", "--force", "sub"]);
    fixture.costs(100.0);
    fixture.commit("no use of it");
    let before = fixture.everything();
    fixture.compare(&["HEAD", "--layer=gamma"]).succeeds();
    let result = fixture.result();
    assert_eq!(result.0["head"]["dirty"], false);
    let warnings = result.0["warnings"].to_string();
    assert!(warnings.contains("sub"), "{warnings}");
    before.is_still(&fixture.everything());
    fixture.clean("");
}

#[test]
fn a_repository_in_the_tree_is_part_of_it() {
    let fixture = Fixture::new();
    fixture.write("inner/cost.rs", "pub const COST: f64 = 120.0;\n");
    // Without a commit it is nothing that git could add.
    git(&fixture.path().join("inner"), &["init", "--quiet"]);
    fixture.cost_of("#[path = \"../../inner/cost.rs\"]\nmod cost;", "cost::COST");
    let before = fixture.everything();
    let status = fixture.git(&["status", "--porcelain"]);
    fixture.compare(&["start"]).fails(1, &["slower", COSTS[0]]);
    before.is_still(&fixture.everything());
    fixture.clean(&status);
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
    let status = fixture.git(&["status", "--porcelain"]);
    forget_marks(&fixture);
    let before = fixture.everything();
    fixture.compare(&["HEAD"]).fails(1, &["slower", COSTS[0]]);
    no_marks(&fixture);
    before.is_still(&fixture.everything());
    let warnings = fixture.result().0["warnings"].to_string();
    assert!(!warnings.contains("filter"), "{warnings}");

    // What the working tree does not have is written as it is stored, and that is said.
    fixture.commit("one more");
    fixture.write("code/src/new.dat", "130\n");
    forget_marks(&fixture);
    let before = fixture.everything();
    let ended = fixture.compare(&["HEAD"]);
    ended.fails(3, &["base (HEAD"]);
    no_marks(&fixture);
    before.is_still(&fixture.everything());
    let noted = "files of HEAD are measured as they are stored";
    assert!(ended.stderr.contains(noted), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("code/src/new.dat"),
        "{}",
        ended.stderr
    );
    assert!(status.contains("new.dat"), "{status}");
    fixture.clean(" M code/src/new.dat\n");
}

#[test]
fn a_filtered_tree_without_a_change_is_the_commit() {
    let fixture = Fixture::new();
    with_filter(&fixture);
    fixture.write("code/src/kept.dat", "100\n");
    let link = fixture.path().join("link.dat");
    std::os::unix::fs::symlink("code/src/kept.dat", &link).expect("writable");
    fixture.commit("filtered");
    forget_marks(&fixture);
    let before = fixture.everything();
    fixture.compare(&["HEAD"]).succeeds();
    no_marks(&fixture);
    assert_eq!(fixture.result().0["head"]["dirty"], false);
    before.is_still(&fixture.everything());
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
    let before = fixture.everything();
    fixture.compare(&["HEAD"]).succeeds();
    assert_eq!(fixture.result().0["head"]["dirty"], false);
    before.is_still(&fixture.everything());
}
