//! The tests of the published `bevy_tasks` as a package of their own, made at run time from the registry's copy.
//!
//! Its unit tests sit in private modules and its examples in documentation, so neither can run on another crate as they
//! are. The package made here holds the bodies of the test modules as an integration test, each under its old path,
//! and the documentation comments on empty modules, each on its old line: so the names of the tests stay comparable.
//! What is taken over is given by the record of the stock crate: the modules and files that ran there.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use cargo_metadata::{DependencyKind, Package};

use super::outcome::Outcome;
use super::registry::source;
use crate::workspace::write;

/// What the test modules find by `use super::*`: the crate's interface, and imports of the modules they sat in.
const PRELUDE: &str =
    "use bevy_tasks::*; use std::{boxed::Box, string::String, sync::Arc, thread, vec::Vec};";

/// Writes the package into `dir`: the modules and files that `stock` names, of the source of `package`. `patch` goes at
/// the end of its manifest.
pub(super) fn rebuild(dir: &Path, package: &Package, patch: &str, stock: &Outcome) -> Result<()> {
    let tables = "[features]\nmulti_threaded = [\"bevy_tasks/multi_threaded\"]\n";
    let version = format!("version = \"={}\"", package.version);
    write_manifest(dir, package, tables, &version, "criterion", patch)?;

    let text = |file: &str| fs_err::read_to_string(source(package).join(file));
    let mut unit = format!("#![allow(warnings)]\nextern crate alloc;\n{PRELUDE}\n");
    for module in unit_modules(stock) {
        let text = text(&format!("src/{}.rs", module.replace("::", "/")))?;
        let tests = test_module(&text).with_context(|| format!("{module} has no tests"))?;
        unit += &under_path(module, tests);
    }
    write(dir, "tests/published.rs", unit)?;

    let files = documented_files(stock).into_iter();
    let files = files.map(|file| Ok((file.to_owned(), text(file)?)));
    write_documented(dir, &files.collect::<Result<Vec<_>>>()?)
}

/// Writes a manifest with these tables, which depends on the published package by `source`, and on all that its tests, benches and
/// examples depend on but `left_out`. `patch` goes at the end.
pub(super) fn write_manifest(
    dir: &Path,
    package: &Package,
    tables: &str,
    source: &str,
    left_out: &str,
    patch: &str,
) -> Result<()> {
    let (name, edition) = (&package.name, package.edition);
    let mut text = format!(
        "[package]\nname = \"published\"\nversion = \"0.0.0\"\nedition = \"{edition}\"\n\n[workspace]\n\n\
         {tables}\n[dependencies]\n{name} = {{ {source} }}\n\n[dev-dependencies]\n"
    );
    for dependency in &package.dependencies {
        if dependency.kind == DependencyKind::Development && dependency.name != left_out {
            writeln!(
                text,
                "{} = {{ version = \"{}\", default-features = {}, features = {:?} }}",
                dependency.name,
                dependency.req,
                dependency.uses_default_features,
                dependency.features,
            )?;
        }
    }
    write(dir, "Cargo.toml", text + patch)?;
    Ok(())
}

/// Writes a library with the documentation comments of these files below `src`, and nothing else.
pub(super) fn write_documented(dir: &Path, files: &[(String, String)]) -> Result<()> {
    let mut lib = String::new();
    for (number, (file, text)) in files.iter().enumerate() {
        write(dir, file, documentation(text))?;
        let below = file.trim_start_matches("src/");
        writeln!(lib, "#[path = \"{below}\"]\npub mod docs_{number};")?;
    }
    write(dir, "src/lib.rs", lib)?;
    Ok(())
}

/// The modules whose tests ran: `a::b` of `a::b::tests::name`.
fn unit_modules(stock: &Outcome) -> BTreeSet<&str> {
    let names = stock.tests.keys().filter(|name| !name.contains(".rs "));
    let module = |name: &'_ String| name.rmatch_indices("::").nth(1).map(|(at, _)| at);
    names
        .filter_map(|name| Some(&name[..module(name)?]))
        .collect()
}

/// The files whose examples ran: `a.rs` of `a.rs (line 3)`.
fn documented_files(stock: &Outcome) -> BTreeSet<&str> {
    let names = stock.tests.keys();
    names
        .filter_map(|name| Some(name.split_once(" (line ")?.0))
        .collect()
}

/// The module behind `#[cfg(test)]`, which a formatted file ends with a `}` at the start of a line.
fn test_module(source: &str) -> Option<&str> {
    let start = source.find("\n#[cfg(test)]\nmod ")? + 1;
    let end = source[start..].find("\n}")? + 2;
    source[start..].get(..end)
}

/// `module` inside modules that make up `path`.
fn under_path(path: &str, module: &str) -> String {
    path.rsplit("::").fold(module.to_owned(), |inner, name| {
        format!("mod {name} {{ {PRELUDE}\n{inner}\n}}\n")
    })
}

/// The documentation comments of a source, each before an empty module, everything on its old line.
fn documentation(source: &str) -> String {
    let mut text = String::new();
    let mut is_open = false;
    for (number, line) in source.lines().enumerate() {
        let comment = line.trim_start();
        let is_doc = comment.starts_with("///") && !comment.starts_with("////");
        if is_doc {
            text += comment;
        } else if is_open {
            text += &format!("pub mod line_{} {{}}", number + 1);
        }
        text.push('\n');
        is_open = is_doc;
    }
    text.truncate(text.trim_end().len());
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compat::outcome::Verdict;

    #[test]
    fn a_test_module_keeps_its_path() {
        let source =
            "fn f() {}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n    fn t() {\n    }\n}\n";
        let module = test_module(source).unwrap();
        assert!(module.starts_with("#[cfg(test)]\nmod tests {") && module.ends_with("    }\n}"));
        let nested = under_path("a::b", module);
        assert!(nested.starts_with("mod a { ") && nested.contains("mod b { "));
        assert_eq!(test_module("fn f() {}\n"), None);
    }

    #[test]
    fn documentation_stays_on_its_line() {
        let source =
            "struct A;\n\n    /// One.\n    /// ```\n    fn f() {}\n// no\n/// Two.\nfn g() {}\n\n";
        let docs = "\n\n/// One.\n/// ```\npub mod line_5 {}\n\n/// Two.\npub mod line_8 {}\n";
        assert_eq!(documentation(source), docs);
    }

    #[test]
    fn the_record_says_what_to_take_over() {
        let names = "a::tests::t, a::tests::u, b::c::test::v, src/a.rs (line 3), src/a.rs (line 9) - compile fail";
        let tests = names.split(", ").map(|name| (name.to_owned(), Verdict::Ok));
        let stock = Outcome {
            tests: tests.collect(),
        };
        assert_eq!(unit_modules(&stock), BTreeSet::from(["a", "b::c"]));
        assert_eq!(documented_files(&stock), BTreeSet::from(["src/a.rs"]));
    }
}
