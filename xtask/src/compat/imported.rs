//! The published tests, examples and documentation of `async-executor` as a package of their own, on the stock crate or on ours.
//!
//! Our layers `terrace-executor` and `terrace-local` are not one crate: a façade re-exports both, under the published name.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;
use cargo_metadata::Package;

use super::published::{write_documented, write_manifest};
use super::registry::source;
use crate::workspace::{self, write};

/// The package of the façade, and what it offers of our layers.
const FACADE: &str = "executor_facade";
const OURS: &str = "pub use terrace_executor::{Executor, FallibleTask, StaticExecutor, Task};
pub use terrace_local::{LocalExecutor, StaticLocalExecutor};
";

/// Writes the package into `dir`.
///
/// It stands on our layers in the workspace with the root `ours`; without one on the published crate, or on what `patch`, at the end
/// of the manifest, puts in its place.
pub(super) fn rebuild(
    dir: &Path,
    package: &Package,
    ours: Option<&Path>,
    patch: &str,
) -> Result<()> {
    let under_test = match ours {
        None => format!(
            "version = \"={}\", features = [\"static\"]",
            package.version
        ),
        Some(root) => {
            write_facade(&dir.join("facade"), root)?;
            format!("path = \"facade\", package = \"{FACADE}\"")
        }
    };
    write_manifest(dir, package, "", &under_test, "criterion", patch)?;

    let mut tests = String::from("#![allow(warnings)]\n");
    for (folder, suffix) in [("tests", ""), ("examples", RUN_MAIN)] {
        for (name, text) in sources(package, folder)? {
            write(dir, format!("tests/published/{name}.rs"), text + suffix)?;
            writeln!(tests, "#[path = \"published/{name}.rs\"]\nmod {name};")?;
        }
    }
    write(dir, "tests/published.rs", tests)?;

    let files = sources(package, "src")?.into_iter().map(|(name, text)| {
        // The crate's own documentation becomes that of an empty module, on its old lines.
        let outer = text.replace("\n//!", "\n///").replacen("//!", "///", 1);
        (format!("src/docs/{name}.rs"), outer)
    });
    write_documented(dir, &files.collect::<Vec<_>>())
}

/// Turns an example into a test.
const RUN_MAIN: &str = "\n#[test]\nfn example_runs() {\n    main()\n}\n";

/// The Rust files of a folder, by name.
fn sources(package: &Package, folder: &str) -> Result<Vec<(String, String)>> {
    let folder = source(package).join(folder);
    let files = workspace::rust_files(&folder, &folder)?.into_iter();
    let texts = files.map(|file| {
        let text = fs_err::read_to_string(folder.join(&file))?;
        Ok((file.trim_end_matches(".rs").replace('/', "_"), text))
    });
    texts.collect()
}

/// Writes the façade into `dir`.
fn write_facade(dir: &Path, root: &Path) -> Result<()> {
    let layers = ["executor", "local"].map(|layer| {
        let path = root.join("crates").join(layer).display().to_string();
        format!("terrace-{layer} = {{ path = {path:?} }}\n")
    });
    let manifest = format!(
        "[package]\nname = \"{FACADE}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[dependencies]\n{}",
        layers.concat()
    );
    write(dir, "Cargo.toml", manifest)?;
    write(dir, "src/lib.rs", OURS)?;
    Ok(())
}
