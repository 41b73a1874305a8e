//! The published unit tests of `rayon-core` as a package of their own, made at run time from the registry's copy.
//!
//! They sit in private modules, each in a file `test.rs`. The package re-exports the crate under test, and has modules of the same
//! names for these files: so the names of the tests stay. Two helpers that the tests import are written anew. A test that looks
//! into private fields is left out.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use cargo_metadata::Package;

use super::published::published;
use super::registry::{source, write_if_changed};

/// The modules, and what their tests find in them by `super`.
const MODULES: [(&str, &str); 5] = [
    ("broadcast", ""),
    (
        "join",
        "use crate::unwind; pub use rayon_core::{join, join_context};",
    ),
    ("scope", ""),
    ("spawn", "pub use rayon_core::{spawn, spawn_fifo};"),
    ("thread_pool", ""),
];

/// What the tests import of private modules.
const HELPERS: &str = "
pub mod registry {
    pub fn in_worker<R: Send>(f: impl FnOnce((), bool) -> R + Send) -> R {
        rayon_core::scope(|_| f((), false))
    }
}

pub mod unwind {
    pub fn halt_unwinding<R>(f: impl FnOnce() -> R) -> std::thread::Result<R> {
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(f))
    }
}
";

/// What the tests use of the crate's own dependencies.
const DEPENDENCY: &str = "crossbeam-utils = \"0.8\"\n";

/// A test that reads such a field reads a private one.
const PRIVATE: &str = ".registry";

/// Writes the package into `dir`. `patch` goes at the end of its manifest.
pub(super) fn write(dir: &Path, package: &Package, patch: &str) -> Result<()> {
    let source = source(package);
    let dependencies = format!("[dependencies]\nrayon-core = \"={}\"\n", package.version);
    let manifest = published(package, &format!("[workspace]\n\n{dependencies}"))?;
    let manifest = manifest + DEPENDENCY + patch;
    write_if_changed(&dir.join("Cargo.toml"), manifest.as_bytes())?;
    let mut lib = format!(
        "#![allow(warnings)]\npub use rayon_core::*;\n{HELPERS}\n#[cfg(test)]\nmod test;\n"
    );
    let mut files = vec![String::from("test.rs")];
    for (name, imports) in MODULES {
        writeln!(lib, "#[cfg(test)]\nmod {name} {{ {imports}\nmod test; }}")?;
        files.push(format!("{name}/test.rs"));
    }
    for file in files {
        let path = source.join("src").join(&file);
        let text = fs_err::read_to_string(&path)?;
        write_if_changed(&dir.join("src").join(&file), public(&text).as_bytes())?;
    }
    write_if_changed(&dir.join("src/lib.rs"), lib.as_bytes())?;
    for entry in fs_err::read_dir(source.join("tests"))? {
        let path = entry?.path();
        let file = path.file_name().context("an entry has a name")?;
        write_if_changed(&dir.join("tests").join(file), &fs_err::read(&path)?)?;
    }
    Ok(())
}

/// The source of a test file without the tests that read private fields.
fn public(source: &str) -> String {
    let mut kept = String::new();
    for (number, part) in source.split("#[test]").enumerate() {
        let end = part.find("\n}\n").map_or(part.len(), |at| at + 3);
        let (test, rest) = part.split_at(end);
        if number == 0 {
            kept.push_str(part);
        } else if test.contains(PRIVATE) {
            kept.push_str(rest);
        } else {
            kept.push_str("#[test]");
            kept.push_str(part);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::public;

    #[test]
    fn tests_of_private_fields_are_left_out() {
        let a = "#[test]\nfn a() {\n    pool.registry;\n}\n";
        let rest = "\nfn helper() {\n    x;\n}\n\n#[test]\nfn b() {\n    y;\n}\n";
        assert_eq!(
            public(&format!("use z;\n{a}{rest}")),
            format!("use z;\n{rest}")
        );
    }
}
