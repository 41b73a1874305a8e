//! `cargo xtask processes`: a program with two versions of the layers, and one that loads a library with the layers again and again.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::build::Build;
use crate::workspace::{Workspace, write};

/// Builds both programs and runs them.
pub(crate) fn run(ws: &Workspace) -> Result<()> {
    let dir = ws.target.join("processes");
    let layers = ws.root.join("crates/terrace");

    // Below the workspace cargo would take the version of the workspace.
    let elsewhere = tempfile::tempdir().context("cannot create a temporary directory")?;
    let second = second_version(ws, elsewhere.path())?;
    let versions = format!("{}{}", uses("one", &layers), uses("two", &second));
    let twins = program(ws, &dir, "twins", &versions, include_str!("twins.rs"))?;
    twins.cargo(&["run", "--quiet"])?;
    println!("processes: two versions of the layers run in one program");

    // Other systems load libraries by other calls.
    if cfg!(unix) {
        let library = dir.join("library");
        let dependencies = uses("terrace", &layers) + "\n[lib]\ncrate-type = [\"cdylib\"]\n";
        write(&library, "src/lib.rs", include_str!("library.rs"))?;
        let library = package(ws, &library, "library", &dependencies)?;
        library.cargo(&["build", "--quiet"])?;
        let file = format!("debug/{DLL_PREFIX}library{DLL_SUFFIX}");
        let file = library.target().join(file).display().to_string();
        let libc = "libc = \"0.2\"\n";
        let host = program(ws, &dir, "host", libc, include_str!("host.rs"))?;
        host.cargo(&["run", "--quiet", "--", &file])?;
        println!("processes: a library with the layers is loaded and closed 20 times");
    }
    Ok(())
}

/// The line of a manifest that takes the package `terrace` out of `dir` under this name.
fn uses(name: &str, dir: &Path) -> String {
    format!("{name} = {{ package = \"terrace\", path = {dir:?} }}\n")
}

/// Writes a package without sources into `dir`, and the build of it.
fn package(ws: &Workspace, dir: &Path, name: &str, dependencies: &str) -> Result<Build> {
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
         [dependencies]\n{dependencies}"
    );
    write(dir, "Cargo.toml", manifest)?;
    fs_err::copy(ws.root.join("Cargo.lock"), dir.join("Cargo.lock"))?;
    Ok(Build::of(dir, ws.target.join("processes/target")))
}

/// Writes a program below `dir`.
fn program(
    ws: &Workspace,
    dir: &Path,
    name: &str,
    dependencies: &str,
    main: &str,
) -> Result<Build> {
    let dir = dir.join(name);
    write(&dir, "src/main.rs", main)?;
    package(ws, &dir, name, dependencies)
}

/// Copies the layers into `dir`, with the next version, and returns the place of `terrace` there.
fn second_version(ws: &Workspace, dir: &Path) -> Result<PathBuf> {
    let left_out = ["crates/compat", "crates/firmware"];
    for file in ws.files()? {
        let is_layer =
            file.starts_with("crates") && !left_out.iter().any(|dir| file.starts_with(dir));
        let end = file.extension().and_then(|end| end.to_str());
        if is_layer && matches!(end, Some("rs" | "toml" | "md")) {
            write(dir, &file, ws.text(&file)?)?;
        }
    }
    let version = &ws.package("terrace")?.version;
    let next = format!("{}.{}.0", version.major, version.minor + 1);
    let manifest = ws.text(Path::new("Cargo.toml"))?;
    let after = manifest
        .find("\n]\n")
        .context("the manifest lists members")?;
    let members = "[workspace]\nresolver = \"3\"\nmembers = [\"crates/*\"";
    let manifest = members.to_owned() + &manifest[after..].replace(&version.to_string(), &next);
    write(dir, "Cargo.toml", manifest)?;
    Ok(dir.join("crates/terrace"))
}
