//! `cargo xtask package`: the layers' packages are complete and build by themselves, and a user's lock file grows by little.

use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{Context, Result, ensure};
use cargo_metadata::{MetadataCommand, Package};

use crate::build::{Build, words};
use crate::compat::registry::{BEVY_TASKS, Published};
use crate::compat::sides::Side;
use crate::workspace::{self, Workspace, empty};

/// By how many packages the drop-in may make a lock file longer than the stock crate does.
const GROWTH: usize = 15;

/// Every package contains these, or links to them.
const FILES: [&str; 3] = ["README.md", "LICENSE-MIT", "LICENSE-APACHE"];

/// Checks all of it.
pub(crate) fn run(ws: &Workspace) -> Result<()> {
    let layers: Vec<&Package> = published(ws);
    let missing: Vec<String> = layers.iter().flat_map(|layer| missing(layer)).collect();
    ensure!(missing.is_empty(), "packages lack: {}", missing.join(", "));
    package(ws, &layers)?;
    grown(ws)
}

/// The layers that are published.
pub(crate) fn published(ws: &Workspace) -> Vec<&Package> {
    let layers = ws.layers().into_iter();
    layers.filter(|layer| layer.publish.is_none()).collect()
}

/// What a reader of the registry would miss.
fn missing(layer: &Package) -> Vec<String> {
    let fields = [
        ("description", layer.description.is_some()),
        ("license", layer.license.is_some()),
        ("rust-version", layer.rust_version.is_some()),
        ("repository", layer.repository.is_some()),
        ("keywords", !layer.keywords.is_empty()),
        ("categories", !layer.categories.is_empty()),
        (
            "package.metadata.docs.rs",
            layer.metadata.pointer("/docs/rs").is_some(),
        ),
    ];
    let dir = layer.manifest_path.with_file_name("");
    let files = FILES.map(|file| (file, dir.join(file).is_file()));
    let all = fields.into_iter().chain(files).filter(|(_, has)| !has);
    all.map(|(what, _)| format!("{} {what}", layer.name))
        .collect()
}

/// Packages the layers together and builds each out of its package; a warning is an error.
fn package(ws: &Workspace, layers: &[&Package]) -> Result<()> {
    let names = layers.iter().flat_map(|layer| ["-p", layer.name.as_str()]);
    let args = words("package --allow-dirty", names);
    forget_unpacked(layers)?;
    // Without artifacts. To cargo a published version never changes, so it would link a layer that an earlier run has built,
    // whatever the package contains now.
    let target = ws.target.join("package-check");
    empty(&target)?;
    let build = Build::of(&ws.root, target);
    eprintln!("$ cargo {}", args.join(" "));
    let output = build.command(&args).output();
    let output = output.context("cannot start cargo; is it on the PATH?")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`cargo package` failed\n{said}");
    let warnings: Vec<&str> = warnings(&said).collect();
    ensure!(
        warnings.is_empty(),
        "`cargo package` warns\n{}\n{said}",
        warnings.join("\n")
    );
    println!("package: {} packages without a warning", layers.len());
    Ok(())
}

/// Removes the copies of these packages that an earlier run has left in cargo's home. Cargo unpacks a package there to build the
/// ones above it, and takes a copy of the same version that lies there already, whatever it contains.
fn forget_unpacked(layers: &[&Package]) -> Result<()> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(env::home_dir()?.join(".cargo")));
    let sources = home.context("where is cargo's home? Set CARGO_HOME")?;
    let sources = fs::read_dir(sources.join("registry/src"));
    for source in sources.into_iter().flatten() {
        let source = source?;
        // A registry without a host: a directory of this machine.
        if source.file_name().as_encoded_bytes().starts_with(b"-") {
            for layer in layers {
                let copy = format!("{}-{}", layer.name, layer.version);
                let copy = source.path().join(copy);
                if copy.is_dir() {
                    fs_err::remove_dir_all(copy)?;
                }
            }
        }
    }
    Ok(())
}

/// The warnings in what cargo said, but those of tests: packages leave them out, as their tools are not published.
fn warnings(said: &str) -> impl Iterator<Item = &str> {
    let meant = |line: &str| line.starts_with("warning: ignoring test `");
    let lines = said.lines().filter(|line| line.starts_with("warning"));
    lines.filter(move |line| !meant(line))
}

/// Compares the lock file of a project on the stock `bevy_tasks` with one on the drop-in.
fn grown(ws: &Workspace) -> Result<()> {
    let Published { name, version } = BEVY_TASKS;
    let stock =
        format!("{name} = {{ version = \"={version}\", features = [\"multi_threaded\"] }}\n");
    let patched = stock.clone() + &Side::Ours.patch(ws, &[BEVY_TASKS]);
    let (stock, ours) = (locked(ws, &stock)?, locked(ws, &patched)?);
    println!(
        "package: {stock} packages in a lock file with the stock crate, {ours} with the drop-in"
    );
    ensure!(
        ours <= stock + GROWTH,
        "a lock file grows by {} packages; at most {GROWTH} are allowed",
        ours - stock
    );
    Ok(())
}

/// The packages in the lock file of a project with these dependencies.
fn locked(ws: &Workspace, dependencies: &str) -> Result<usize> {
    let dir = tempfile::tempdir().context("cannot create a temporary directory")?;
    locked_probe(ws, dir.path(), dependencies)?;
    MetadataCommand::new().current_dir(dir.path()).exec()?;
    let lock = fs::read_to_string(dir.path().join("Cargo.lock"))?;
    Ok(lock.matches("[[package]]\n").count())
}

/// Writes a project with these dependencies into `dir`, in the versions of this workspace.
pub(crate) fn locked_probe(ws: &Workspace, dir: &Path, dependencies: &str) -> Result<()> {
    workspace::probe(dir, dependencies)?;
    // What the project does not need cargo takes out.
    fs_err::copy(ws.root.join("Cargo.lock"), dir.join("Cargo.lock"))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn warnings_of_tests_are_left_out() {
        let said = "   Packaging a v0.1.0\nwarning: ignoring test `b` as it is not included\nwarning: ignoring example `c`\n    Packaged warning v1\n";
        assert!(super::warnings(said).eq(["warning: ignoring example `c`"]));
    }
}
