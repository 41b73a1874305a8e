//! The second side does not compile again what both depend on.
//!
//! A side that was never built starts from a copy of the other one's target directory. Cargo builds the packages of the
//! tree anew if their files are newer than the copy. What comes from a registry is the same for both: the sides have the
//! same flags, and cargo tells from its records whether the version, the features and the compiler are.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::sides::NAMES;
use crate::process::said;

/// Fills the side's directory below `build`, if it is not there, from the other side's; `write_files` writes all files of
/// the side's tree again.
pub(super) fn seed(
    build: &Path,
    name: &str,
    write_files: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let to = build.join(name);
    let from = build.join(NAMES[usize::from(name == NAMES[0])]);
    if to.exists() || !from.exists() {
        return Ok(());
    }
    // Complete or not there: what is half copied is no start.
    let half = build.join("seed");
    let _ = fs::remove_dir_all(&half);
    // With the times of the files, by which cargo tells what is newer.
    let mut copy = Command::new("cp");
    copy.arg("-pR").args([&from, &half]);
    let cannot = || format!("cannot copy {} to {}", from.display(), to.display());
    said(copy).with_context(cannot)?;
    // Before the copy has its name: beside older files cargo would take the other side's programs for this one's.
    write_files()?;
    fs::rename(&half, &to).with_context(cannot)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::seed;

    #[test]
    fn a_side_that_was_never_built_is_a_copy_of_the_other() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        fs::create_dir(dir.path().join("base")).expect("writable");
        fs::write(dir.path().join("base/record"), "bytes").expect("writable");
        let mut seeded = Vec::new();
        for side in ["base", "head", "head"] {
            let write_files = || {
                seeded.push((side, dir.path().join(side).exists()));
                Ok(())
            };
            seed(dir.path(), side, write_files).expect("there is space");
        }
        assert_eq!(seeded, [("head", false)]);
        let [base, head] = ["base", "head"].map(|side| {
            let data = dir.path().join(side).join("record").metadata();
            data.and_then(|data| data.modified()).expect("it is there")
        });
        assert_eq!(base, head);
    }
}
