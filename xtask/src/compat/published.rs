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
use super::registry::{source, write};

/// What the test modules find by `use super::*`: the crate's interface, and imports of the modules they sat in.
const PRELUDE: &str =
    "use bevy_tasks::*; use std::{boxed::Box, string::String, sync::Arc, thread, vec::Vec};";

/// Writes the package into `dir`: the modules and files that `stock` names, of the source of `package`. `patch` goes at
/// the end of its manifest.
pub(super) fn rebuild(dir: &Path, package: &Package, patch: &str, stock: &Outcome) -> Result<()> {
    let tables = format!(
        "[features]\nmulti_threaded = [\"bevy_tasks/multi_threaded\"]\n\n[dependencies]\nbevy_tasks = \"={}\"\n",
        package.version
    );
    let manifest = manifest(package, &tables)?;
    write(
        dir,
        "Cargo.toml",
        format!("{manifest}\n[workspace]\n{patch}"),
    )?;

    let text = |file: &str| fs_err::read_to_string(source(package).join(file));
    let mut unit = format!("#![allow(warnings)]\nextern crate alloc;\n{PRELUDE}\n");
    for module in unit_modules(stock) {
        let text = text(&format!("src/{}.rs", module.replace("::", "/")))?;
        let tests = test_module(&text).with_context(|| format!("{module} has no tests"))?;
        unit += &under_path(module, tests);
    }
    write(dir, "tests/published.rs", unit)?;

    let mut lib = String::new();
    for file in documented_files(stock) {
        write(dir, file, documentation(&text(file)?))?;
        let name = Path::new(file).file_stem().context("a file has a name")?;
        writeln!(lib, "pub mod {};", name.display())?;
    }
    write(dir, "src/lib.rs", lib)?;
    Ok(())
}

/// A manifest with these tables, and at its end what the tests of the package depend on; benches are left out.
pub(super) fn manifest(package: &Package, tables: &str) -> Result<String> {
    let (version, edition) = (&package.version, package.edition);
    let tests = dependencies(package, |name| name != "criterion")?;
    Ok(format!(
        "[package]\nname = \"published\"\nversion = \"{version}\"\nedition = \"{edition}\"\n\n{tables}\n[dev-dependencies]\n{tests}"
    ))
}

/// What its tests, benches and examples depend on, as far as `wanted` says.
pub(super) fn dependencies(package: &Package, wanted: impl Fn(&str) -> bool) -> Result<String> {
    let mut text = String::new();
    let dependencies = package.dependencies.iter();
    for dependency in
        dependencies.filter(|d| d.kind == DependencyKind::Development && wanted(&d.name))
    {
        writeln!(
            text,
            "{} = {{ version = \"{}\", default-features = {}, features = {:?} }}",
            dependency.name, dependency.req, dependency.uses_default_features, dependency.features,
        )?;
    }
    Ok(text)
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
pub(super) fn documentation(source: &str) -> String {
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
