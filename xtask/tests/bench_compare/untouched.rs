//! Whatever the repository's configuration, nothing of it changes: every file of it is compared, with its bytes and
//! its time, and programs of the user's leave a mark if they are run.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::fixture::{COSTS, Fixture, command, ended, git};
use crate::marks::{by_sh, marking, with_filter};

/// All hooks that git knows leave a mark.
fn with_hooks(fixture: &Fixture, dir: &Path) {
    for name in [
        "post-index-change",
        "post-checkout",
        "post-commit",
        "post-merge",
        "pre-commit",
        "pre-auto-gc",
        "reference-transaction",
        "fsmonitor-watchman",
    ] {
        let script = marking(fixture, &format!("hook-{name}"), "");
        fs::create_dir_all(dir).expect("writable");
        let hook = dir.join(name);
        by_sh("cp \"$1\" \"$2\"", &[script.as_os_str(), hook.as_os_str()]);
    }
}

#[test]
fn no_hook_is_run() {
    for own_path in [false, true] {
        let fixture = Fixture::new();
        let hooks = fixture.beside("hooks");
        if own_path {
            fixture.git(&["config", "core.hooksPath", &hooks.display().to_string()]);
            with_hooks(&fixture, &hooks);
        } else {
            with_hooks(&fixture, &fixture.path().join(".git/hooks"));
        }
        let monitor = marking(&fixture, "monitor", "");
        fixture.git(&["config", "core.fsmonitor", &monitor.display().to_string()]);
        fixture.costs(120.0);
        let ended = fixture.left_alone(&["start"]);
        ended.fails(1, &["slower", COSTS[0]]);
    }
}

#[test]
fn a_linked_worktree_with_its_own_configuration_is_left_alone() {
    let fixture = Fixture::new();
    fixture.costs(120.0);
    fixture.commit("slow");
    fixture.git(&["config", "extensions.worktreeConfig", "true"]);
    let linked = fixture.beside("linked");
    let path = linked.display().to_string();
    fixture.git(&["worktree", "add", "--quiet", "--detach", &path]);
    with_hooks(&fixture, &fixture.beside("hooks"));
    let hooks = fixture.beside("hooks").display().to_string();
    git(&linked, &["config", "--worktree", "core.hooksPath", &hooks]);
    git(&linked, &["config", "--worktree", "core.bare", "false"]);
    fs::write(linked.join("more.txt"), "more\n").expect("writable");
    let ended = fixture.left_alone_in(&linked, &["start", "--layer=alpha"]);
    ended.fails(1, &["slower", COSTS[0]]);
}

#[test]
fn a_sparse_checkout_with_a_sparse_split_index_is_left_alone() {
    for (key, value) in [("index.sparse", "true"), ("core.splitIndex", "true")] {
        let fixture = Fixture::new();
        fixture.write("far/away/file.txt", "left out\n");
        fixture.commit("more");
        fixture.git(&["config", key, value]);
        fixture.git(&["sparse-checkout", "set", "--cone", "code", "benches"]);
        fixture.git(&["update-index", "--refresh"]);
        assert!(!fixture.path().join("far").exists(), "it is left out");
        fixture.costs(120.0);
        let ended = fixture.left_alone(&["start"]);
        ended.fails(1, &["slower", COSTS[0]]);
        let files = fixture.snapshot_files();
        assert!(files.contains("far/away/file.txt"), "{files}");
    }
}

/// Git renews the time of a shared index that it reads.
#[test]
fn a_split_index_is_left_alone() {
    let fixture = Fixture::new();
    fixture.costs(120.0);
    fixture.git(&["update-index", "--split-index"]);
    let shared = fixture.git(&["rev-parse", "--shared-index-path"]);
    assert!(fixture.path().join(shared.trim()).is_file(), "it is split");
    fixture
        .left_alone(&["start"])
        .fails(1, &["slower", COSTS[0]]);
}

#[test]
fn changes_that_git_was_told_to_overlook_are_measured() {
    for flag in ["--assume-unchanged", "--skip-worktree"] {
        let fixture = Fixture::new();
        fixture.git(&["update-index", flag, "code/src/lib.rs"]);
        fixture.costs(120.0);
        let ended = fixture.left_alone(&["start"]);
        ended.fails(1, &["slower", COSTS[0]]);
    }
}

#[test]
fn shallow_and_partial_clones_are_left_alone() {
    for filter in ["--depth=1", "--filter=blob:none"] {
        let fixture = Fixture::new();
        fixture.git(&["config", "uploadpack.allowFilter", "true"]);
        fixture.write("code/once.txt", "once\n");
        fixture.commit("once");
        fs::remove_file(fixture.path().join("code/once.txt")).expect("it is there");
        fixture.commit("no more");
        let clone = fixture.beside("clone");
        let url = format!("file://{}", fixture.path().display());
        let path = clone.display().to_string();
        git(
            &fixture.beside(""),
            &["clone", "--quiet", filter, &url, &path],
        );
        fs::write(clone.join("code/more.txt"), "more\n").expect("writable");
        let ended = fixture.left_alone_in(&clone, &["HEAD", "--layer=gamma"]);
        ended.succeeds();
        // What the clone lacks is not fetched.
        let ended = fixture.left_alone_in(&clone, &["HEAD~1"]);
        if filter == "--depth=1" {
            ended.fails(2, &["`HEAD~1`", "--unshallow"]);
        } else {
            ended.fails(2, &["HEAD~1", "partial"]);
        }
    }
}

#[test]
fn odd_names_are_taken_as_they_are() {
    let fixture = Fixture::called(OsStr::new("a b # 'c' \"d\" é"));
    let odd: [&[u8]; 6] = [
        b"a # b",
        b"\"quoted\"",
        b"line\nbreak",
        b"not \xff utf-8",
        b"-dash",
        b":(top)magic ",
    ];
    for name in odd {
        let path = fixture.path().join(OsStr::from_bytes(name));
        fs::write(path, "odd\n").expect("writable");
    }
    with_filter(&fixture);
    fixture.write("\"odd\n.dat", "100\n");
    fixture.commit("odd");
    for name in odd {
        let path = fixture.path().join(OsStr::from_bytes(name));
        fs::write(path, "odd and changed\n").expect("writable");
    }
    fixture.write(" odd\t#\n.dat", "120\n");
    fixture.costs(120.0);
    let ended = fixture.left_alone(&["HEAD"]);
    ended.fails(1, &["slower", COSTS[0]]);
    assert!(!fixture.warnings().contains("filter"));
    let head = fixture.path().join("target/bench-compare/src/head");
    for name in odd {
        let text = fs::read(head.join(OsStr::from_bytes(name))).expect("it was written out");
        assert_eq!(text, b"odd and changed\n");
    }
}

#[test]
fn a_root_that_is_no_unicode_needs_another_target_directory() {
    let fixture = Fixture::called(OsStr::from_bytes(b"r\xfft \n"));
    fixture.costs(120.0);
    let before = fixture.everything(fixture.path());
    fixture.compare(&["start"]).fails(2, &["CARGO_TARGET_DIR"]);
    before.is_still(&fixture.everything(fixture.path()));
    let target = fixture.beside("elsewhere");
    let args = ["start", "--metric=wall", "--time=1"];
    let mut command = command(fixture.path(), &args);
    command.env("CARGO_TARGET_DIR", target.join("target"));
    ended(command.output().expect("the command starts")).fails(1, &["slower", COSTS[0]]);
    fs::remove_dir_all(&target).expect("there is a target directory");
    before.is_still(&fixture.everything(fixture.path()));
}
