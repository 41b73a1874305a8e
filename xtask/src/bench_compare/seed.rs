//! The second side does not compile again what both depend on.
//!
//! A side that was never built starts from a copy of the other one's target directory, without the records of the packages
//! that are part of a tree: cargo builds those anew. What comes from a registry is the same for both: the sides have the
//! same flags, and cargo tells from its records whether the version, the features and the compiler are.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::sides::NAMES;
use crate::process::said;

/// Where cargo records what it has built, in each directory of a profile.
const RECORDS: &str = ".fingerprint";
/// Appended to the name of a package in the names of its records: `-` and a hash of so many digits.
const HASH: usize = 16;

/// Fills the side's directory below `build`, if it is not there, from the other side's; `root` has the lock file.
pub(super) fn seed(build: &Path, name: &str, root: &Path) -> Result<()> {
    let to = build.join(name);
    let from = build.join(NAMES[usize::from(name == NAMES[0])]);
    if to.exists() || !from.exists() {
        return Ok(());
    }
    let Some(own) = packages_of_tree(&root.join("Cargo.lock")) else {
        return Ok(());
    };
    // Complete or not there: what is half copied is no start.
    let half = build.join("seed");
    let _ = fs::remove_dir_all(&half);
    // With the times of the files, by which cargo tells what is newer.
    let mut copy = Command::new("cp");
    copy.arg("-pR").args([&from, &half]);
    said(copy)
        .and_then(|_| forget(&half, &own))
        .and_then(|()| Ok(fs::rename(&half, &to)?))
        .with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))
}

/// The packages of a lock file that come from no registry.
fn packages_of_tree(lock: &Path) -> Option<Vec<String>> {
    let lock: toml::Table = fs::read_to_string(lock).ok()?.parse().ok()?;
    let packages = lock.get("package")?.as_array()?.iter();
    let own = packages.filter(|package| package.get("source").is_none());
    own.map(|package| Some(package.get("name")?.as_str()?.to_owned()))
        .collect()
}

/// Removes the records of packages, wherever they lie in a target directory.
fn forget(dir: &Path, own: &[String]) -> Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if dir.ends_with(RECORDS) {
            let package = name.rsplit_once('-').filter(|(_, hash)| hash.len() == HASH);
            if package.is_some_and(|(package, _)| own.iter().any(|own| own == package)) {
                fs::remove_dir_all(path)?;
            }
        } else if path.is_dir() && name != "deps" && name != "build" {
            forget(&path, own)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{RECORDS, seed};

    #[test]
    fn the_other_side_is_copied_but_for_what_is_in_the_tree() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let write = |path: &str, text: &str| {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().expect("it has one")).expect("writable");
            fs::write(path, text).expect("writable");
        };
        write(
            "src/Cargo.lock",
            "[[package]]\nname = \"code\"\n\n[[package]]\nname = \"slab\"\nsource = \"registry\"\n",
        );
        let record = |package: &str| format!("release/{RECORDS}/{package}-0123456789abcdef/x");
        let kept = ["slab", "code-more"].map(record);
        let library = "release/deps/libslab.rlib".to_owned();
        let kept = kept.into_iter().chain([library]);
        write(&format!("base/{}", record("code")), "bytes");
        kept.clone()
            .for_each(|path| write(&format!("base/{path}"), "bytes"));
        for side in ["base", "head"] {
            seed(dir.path(), side, &dir.path().join("src")).expect("there is space");
        }
        let time = |side: &str, path: &str| {
            let data = dir.path().join(side).join(path).metadata();
            data.and_then(|data| data.modified()).ok()
        };
        assert_eq!(time("head", &record("code")), None);
        for path in kept {
            assert!(time("head", &path).is_some(), "{path}");
            assert_eq!(time("head", &path), time("base", &path), "{path}");
        }
    }
}
