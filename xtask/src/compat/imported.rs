//! The published tests, examples and documentation of `async-executor`, made into a package whose only change is the name
//! they import: that of a façade, which re-exports either the stock crate or ours.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;
use cargo_metadata::Package;

use super::published::{documentation, published};
use super::registry::{source, write_if_changed};
use crate::workspace;

/// What the tests import instead of the stock crate.
const FACADE: &str = "executor_facade";

/// Writes the package into `dir`, and its façade beside it.
///
/// Behind the façade are our crates, in the workspace with the root `ours`, or the published crate or what `patch`, at the end of
/// the manifest, puts in its place.
pub(super) fn write(dir: &Path, package: &Package, ours: Option<&Path>, patch: &str) -> Result<()> {
    let source = source(package);
    let facade = dir.join("facade");
    write_facade(&facade, package, ours)?;
    let tables = format!(
        "[workspace]\nmembers = [\"facade\"]\n\n[dependencies]\n{FACADE} = {{ path = \"facade\" }}\n"
    );
    let manifest = published(package, &tables)? + patch;
    write_if_changed(&dir.join("Cargo.toml"), manifest.as_bytes())?;

    let mut tests = String::from("#![allow(warnings)]\n");
    for (folder, suffix) in [("tests", ""), ("examples", RUN_MAIN)] {
        for (name, text) in sources(&source.join(folder))? {
            let text = import(package, &text) + suffix;
            write_if_changed(
                &dir.join("tests/published").join(format!("{name}.rs")),
                text.as_bytes(),
            )?;
            writeln!(tests, "#[path = \"published/{name}.rs\"]\nmod {name};")?;
        }
    }
    write_if_changed(&dir.join("tests/published.rs"), tests.as_bytes())?;

    let mut lib = String::new();
    for (name, text) in sources(&source.join("src"))? {
        // The crate's own documentation becomes that of an empty module, on its old lines.
        let outer = text.replace("\n//!", "\n///").replacen("//!", "///", 1);
        let docs = documentation(&import(package, &outer));
        write_if_changed(&dir.join(format!("src/docs/{name}.rs")), docs.as_bytes())?;
        writeln!(lib, "#[path = \"docs/{name}.rs\"]\npub mod {name}_docs;")?;
    }
    write_if_changed(&dir.join("src/lib.rs"), lib.as_bytes())
}

/// Turns an example into a test.
const RUN_MAIN: &str = "\n#[test]\nfn example_runs() {\n    main()\n}\n";

/// The one change: what is imported.
fn import(package: &Package, text: &str) -> String {
    text.replace(&package.name.replace('-', "_"), FACADE)
}

/// The Rust files of a folder, by name.
fn sources(folder: &Path) -> Result<Vec<(String, String)>> {
    let files = workspace::rust_files(folder, folder)?.into_iter();
    let texts = files.map(|file| {
        let text = fs_err::read_to_string(folder.join(&file))?;
        Ok((file.trim_end_matches(".rs").replace('/', "_"), text))
    });
    texts.collect()
}

fn write_facade(dir: &Path, package: &Package, ours: Option<&Path>) -> Result<()> {
    let (name, version) = (&package.name, &package.version);
    let (dependencies, lib) = match ours {
        None => (
            format!("{name} = {{ version = \"={version}\", features = [\"static\"] }}\n"),
            format!("pub use {}::*;\n", name.replace('-', "_")),
        ),
        Some(root) => {
            let dependencies = ["executor", "local"].map(|layer| {
                let path = root.join("crates").join(layer).display().to_string();
                format!("terrace-{layer} = {{ path = {path:?} }}\n")
            });
            (
                dependencies.concat(),
                "pub use terrace_executor::{Executor, FallibleTask, StaticExecutor, Task};\n\
                 pub use terrace_local::{LocalExecutor, StaticLocalExecutor};\n"
                    .to_owned(),
            )
        }
    };
    let manifest = format!(
        "[package]\nname = \"{FACADE}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[dependencies]\n{dependencies}"
    );
    write_if_changed(&dir.join("Cargo.toml"), manifest.as_bytes())?;
    write_if_changed(&dir.join("src/lib.rs"), lib.as_bytes())
}
