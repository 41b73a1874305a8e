//! The published unit tests of `rayon-core` as a package of their own, made at run time from the registry's copy.
//!
//! They sit in private modules, each in a file `test.rs`. The package re-exports the crate under test, and has modules of the same
//! names for these files: so the names of the tests stay. Two helpers that the tests import are written anew. A test that looks
//! into private fields is left out.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;
use cargo_metadata::Package;

use super::published::write_manifest;
use super::registry::{copy_tree, source};
use crate::workspace::write;

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
pub(super) fn rebuild(dir: &Path, package: &Package, patch: &str) -> Result<()> {
    let source = source(package);
    let version = format!("version = \"={}\"", package.version);
    let patch = format!("{DEPENDENCY}{patch}");
    write_manifest(dir, package, "", &version, "criterion", &patch)?;
    let mut lib = format!(
        "#![allow(warnings)]\npub use rayon_core::*;\n{HELPERS}\n#[cfg(test)]\nmod test;\n"
    );
    let mut files = vec!["src/test.rs".to_owned()];
    for (name, imports) in MODULES {
        writeln!(lib, "#[cfg(test)]\nmod {name} {{ {imports}\nmod test; }}")?;
        files.push(format!("src/{name}/test.rs"));
    }
    for file in files {
        let text = fs_err::read_to_string(source.join(&file))?;
        write(dir, file, public(&text))?;
    }
    write(dir, "src/lib.rs", lib)?;
    copy_tree(&source.join("tests"), &dir.join("tests"))
}

/// The source of a test file without the tests that read private fields.
fn public(source: &str) -> String {
    let mut parts = source.split("#[test]");
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find("\n}\n").map_or(part.len(), |at| at + 3);
        let (test, rest) = part.split_at(end);
        match test.contains(PRIVATE) {
            true => kept += rest,
            false => kept += &format!("#[test]{part}"),
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
