//! The published tests, examples and documentation of `async-executor`, made into a package whose only change is the name
//! they import: that of a façade, which re-exports either the stock crate or ours.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;
use cargo_metadata::Package;

use super::published::{documentation, manifest};
use super::registry::{source, write};
use crate::workspace;

/// What the tests import instead of the stock crate.
const FACADE: &str = "executor_facade";

/// What the façade offers of our layers.
const OURS: &str = "pub use terrace_executor::{Executor, FallibleTask, StaticExecutor, Task};
pub use terrace_local::{LocalExecutor, StaticLocalExecutor};
";

/// Writes the package into `dir`, and its façade beside it.
///
/// Behind the façade are our crates, in the workspace with the root `ours`, or the published crate or what `patch`, at the end of
/// the manifest, puts in its place.
pub(super) fn rebuild(
    dir: &Path,
    package: &Package,
    ours: Option<&Path>,
    patch: &str,
) -> Result<()> {
    let tables = format!(
        "[workspace]\nmembers = [\"facade\"]\n\n[dependencies]\n{FACADE} = {{ path = \"facade\" }}\n"
    );
    write(dir, "Cargo.toml", manifest(package, &tables)? + patch)?;
    write_facade(&dir.join("facade"), package, ours)?;

    let crate_name = package.name.replace('-', "_");
    let mut tests = String::from("#![allow(warnings)]\n");
    for (folder, suffix) in [("tests", ""), ("examples", RUN_MAIN)] {
        for (name, text) in sources(package, folder)? {
            let text = text.replace(&crate_name, FACADE) + suffix;
            write(dir, format!("tests/published/{name}.rs"), text)?;
            writeln!(tests, "#[path = \"published/{name}.rs\"]\nmod {name};")?;
        }
    }
    write(dir, "tests/published.rs", tests)?;

    let mut lib = String::new();
    for (name, text) in sources(package, "src")? {
        // The crate's own documentation becomes that of an empty module, on its old lines.
        let outer = text.replace("\n//!", "\n///").replacen("//!", "///", 1);
        let docs = documentation(&outer.replace(&crate_name, FACADE));
        write(dir, format!("src/docs/{name}.rs"), docs)?;
        writeln!(lib, "#[path = \"docs/{name}.rs\"]\npub mod {name}_docs;")?;
    }
    write(dir, "src/lib.rs", lib)?;
    Ok(())
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

fn write_facade(dir: &Path, package: &Package, ours: Option<&Path>) -> Result<()> {
    let (name, version) = (&package.name, &package.version);
    let published = format!("{name} = {{ version = \"={version}\", features = [\"static\"] }}\n");
    let (dependencies, lib) = match ours {
        None => (
            published,
            format!("pub use {}::*;\n", name.replace('-', "_")),
        ),
        Some(root) => {
            let layers = ["executor", "local"].map(|layer| {
                let path = root.join("crates").join(layer).display().to_string();
                format!("terrace-{layer} = {{ path = {path:?} }}\n")
            });
            (layers.concat(), OURS.to_owned())
        }
    };
    let manifest = format!(
        "[package]\nname = \"{FACADE}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[dependencies]\n{dependencies}"
    );
    write(dir, "Cargo.toml", manifest)?;
    write(dir, "src/lib.rs", lib)?;
    Ok(())
}
