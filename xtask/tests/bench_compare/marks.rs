//! Programs of a user's that leave a mark when they are run.

use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::fixture::Fixture;

/// A script beside the repository that leaves a mark and passes on what it is given.
pub(crate) fn marking(fixture: &Fixture, name: &str, rest: &str) -> PathBuf {
    let path = fixture.beside(name);
    let mark = fixture.beside("mark");
    let text = format!("#!/bin/sh\necho {name} >> '{}'\n{rest}\n", mark.display());
    by_sh(
        "printf %s \"$1\" > \"$2\" && chmod +x \"$2\"",
        &[text.as_ref(), path.as_os_str()],
    );
    path
}

/// Another process writes programs: a process that a parallel test starts would inherit an open file, and such a program cannot be
/// started ("text file busy").
pub(crate) fn by_sh(script: &str, args: &[&OsStr]) {
    let mut sh = Command::new("sh");
    let status = sh.args(["-c", script, "sh"]).args(args).status();
    assert!(status.expect("sh starts").success());
}

/// Forgets marks that the test's own use of git has left.
pub(crate) fn forget_marks(fixture: &Fixture) {
    let _ = fs::remove_file(fixture.beside("mark"));
}

#[track_caller]
pub(crate) fn no_marks(fixture: &Fixture) {
    let marks = fs::read_to_string(fixture.beside("mark")).unwrap_or_default();
    assert_eq!(marks, "", "programs of the user's were run");
}

/// Files `*.dat` go through programs that write digits as letters, and must not be stored otherwise.
pub(crate) fn with_filter(fixture: &Fixture) {
    let clean = marking(fixture, "clean", "tr 0-9 a-j");
    let smudge = marking(fixture, "smudge", "tr a-j 0-9");
    for (key, value) in [
        ("clean", clean.display().to_string()),
        ("smudge", smudge.display().to_string()),
        ("required", "true".to_owned()),
    ] {
        fixture.git(&["config", &format!("filter.letters.{key}"), &value]);
    }
    fixture.write(".gitattributes", "*.dat filter=letters\n");
}
