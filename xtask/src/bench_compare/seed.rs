//! The second side does not compile again what both depend on.
//!
//! A side that was never built starts from a copy of the other one's target directory, without the records of the packages
//! that are part of a tree: cargo builds those anew. What comes from a registry is the same for both: the sides have the
//! same flags, and cargo tells from its records whether the version, the features and the compiler are.

use std::fs::{self, File};
use std::path::Path;

use anyhow::{Context, Result};

use super::sides::Which;

/// Where cargo records what it has built, beside the directories with the results.
const RECORDS: &str = ".fingerprint";
const RESULTS: [&str; 2] = ["build", "deps"];
/// Appended to the name of a package in the names of its records: `-` and a hash of so many digits.
const HASH: usize = 16;

/// Fills the side's directory below `build`, if it is not there, from the other side's; `root` has the lock file.
pub(super) fn seed(build: &Path, which: Which, root: &Path) -> Result<()> {
    let other = match which {
        Which::Base => Which::Head,
        Which::Head => Which::Base,
    };
    let (from, to) = (build.join(other.name()), build.join(which.name()));
    if to.exists() || !from.exists() {
        return Ok(());
    }
    let Some(own) = packages_of_tree(&root.join("Cargo.lock")) else {
        return Ok(());
    };
    // Complete or not there: what is half copied is no start.
    let half = build.join("seed");
    let _ = fs::remove_dir_all(&half);
    copy_profiles(&from, &half, &own)
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

/// Copies what belongs to profiles, which lie in the target directory or in one for a target.
fn copy_profiles(from: &Path, to: &Path, own: &[String]) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name());
        if !path.is_dir() || RESULTS.iter().any(|result| name == *result) {
            continue;
        }
        if name == RECORDS {
            let is_own = |record: &str| own.iter().any(|package| belongs(record, package));
            copy(&path, &to.join(RECORDS), &|record| !is_own(record))?;
            for result in RESULTS.iter().filter(|result| from.join(result).is_dir()) {
                copy(&from.join(result), &to.join(result), &|_| true)?;
            }
        } else {
            copy_profiles(&path, &to.join(name), own)?;
        }
    }
    Ok(())
}

/// Whether a record is of the package.
fn belongs(record: &str, package: &str) -> bool {
    let hash = record
        .strip_prefix(package)
        .and_then(|rest| rest.strip_prefix('-'));
    hash.is_some_and(|hash| hash.len() == HASH && !hash.contains('-'))
}

/// Copies a directory with the times of its files, by which cargo tells what is newer; `wanted` picks its entries.
fn copy(from: &Path, to: &Path, wanted: &dyn Fn(&str) -> bool) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        if !wanted(&name.to_string_lossy()) {
            continue;
        }
        let (path, to) = (entry.path(), to.join(&name));
        if path.is_dir() {
            copy(&path, &to, &|_| true)?;
        } else {
            fs::copy(&path, &to)?;
            let time = entry.metadata()?.modified()?;
            File::options().write(true).open(&to)?.set_modified(time)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{RECORDS, seed};
    use crate::bench_compare::sides::Which;

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
            "version = 4\n[[package]]\nname = \"code\"\nversion = \"0.1.0\"\n\n[[package]]\nname = \"slab\"\n\
             version = \"1.0.0\"\nsource = \"registry\"\n",
        );
        let record = |package: &str| format!("base/release/{RECORDS}/{package}-0123456789abcdef/x");
        for path in [
            record("code"),
            record("slab"),
            record("code-more"),
            "base/release/deps/libslab.rlib".to_owned(),
            "base/release/examples/other".to_owned(),
        ] {
            write(&path, "bytes");
        }
        let root = dir.path().join("src");
        seed(dir.path(), Which::Base, &root).expect("it is there already");
        seed(dir.path(), Which::Head, &root).expect("there is space");
        let time = |path: &str| {
            let data = dir.path().join(path).metadata().ok();
            data.map(|data| data.modified().expect("there are times"))
        };
        for (path, copied) in [
            (record("code"), false),
            (record("slab"), true),
            (record("code-more"), true),
            ("base/release/deps/libslab.rlib".to_owned(), true),
            ("base/release/examples/other".to_owned(), false),
        ] {
            let there = time(&path.replacen("base", "head", 1));
            assert_eq!(there, time(&path).filter(|_| copied), "{path}");
        }
    }
}
