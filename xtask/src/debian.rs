//! Compilers out of Debian's packages, unpacked into the target directory: no installation, no root.
//!
//! Debian 12 carries several versions of rustc side by side as `rustc-web`: the oldest one this
//! workspace supports, and one whose sources (`rust-web-src`) let the standard library be built anew.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::process::{program, said};
use crate::toolchain::Compiler;
use crate::workspace::{Workspace, empty};

/// Of an unpacked compiler, the libraries that it needs.
pub(crate) const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";

/// The newest packaged compiler whose version starts with `version` (any, if empty), unpacked
/// in the subdirectory `name` of the target directory, with its sources if wanted.
pub(crate) fn compiler(
    ws: &Workspace,
    name: &str,
    version: &str,
    sources: bool,
) -> Result<Compiler> {
    let dir = ws.target.join("debian").join(name);
    let root = dir.join("root");
    let compiler = Compiler {
        rustc: root.join("usr/bin/rustc"),
        unpacked: Some(root),
    };
    let complete = dir.join("complete");
    if complete.is_file() {
        return Ok(compiler);
    }
    eprintln!(
        "{name}: unpacking a rustc out of Debian's packages into {}",
        dir.display()
    );
    empty(&dir)?;
    let here = |words: String| {
        let mut command = program(&words);
        command.current_dir(&dir);
        said(command).with_context(|| format!("`{words}` failed; is `apt-get update` due?"))
    };
    for package in packages(version, sources)? {
        here(format!("apt-get download --quiet=2 {package}"))?;
    }
    for entry in fs_err::read_dir(&dir)? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "deb") {
            here(format!("dpkg -x {} root", path.display()))?;
            fs_err::remove_file(&path)?;
        }
    }
    let mut works = Command::new(&compiler.rustc);
    works.arg("-vV").envs(compiler.env());
    said(works).context("its LLVM needs the packages libedit2, libxml2 and libz3-4")?;
    fs_err::write(complete, "")?;
    Ok(compiler)
}

/// The packages, each as `name=version`, that make up a compiler.
fn packages(version: &str, sources: bool) -> Result<Vec<String>> {
    let table = said(program("apt-cache madison rustc-web"))
        .context("this command needs Debian 12 (or its container) on x86-64")?;
    let version = pick(&table, version).with_context(|| {
        format!("apt knows no package rustc-web {version}; Debian 12 does, after `apt-get update`")
    })?;
    let depends = |package: &str, prefix: &str| {
        let text = said(program(&format!("apt-cache show {package}")))?;
        let found = dependency(&text, prefix).map(str::to_owned);
        found.with_context(|| format!("{package} depends on no {prefix}…"))
    };
    let std_dev = format!("libstd-rust-web-dev={version}");
    let std = depends(&std_dev, "libstd-rust-web-")?;
    let std = format!("{std}={version}");
    let llvm = depends(&std, "libllvm")?;
    let mut all = vec![format!("rustc-web={version}"), std_dev, std, llvm];
    all.extend(sources.then(|| format!("rust-web-src={version}")));
    Ok(all)
}

/// The first version in `apt-cache madison`'s table (newest first) that starts so.
fn pick<'t>(table: &'t str, version: &str) -> Option<&'t str> {
    let mut versions = table.lines().filter_map(|line| line.split('|').nth(1));
    let found = versions.find(|found| found.trim_start().starts_with(version));
    found.map(str::trim)
}

/// The first package in the `Depends` line of `apt-cache show` whose name starts so.
fn dependency<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    let depends = text.lines().find_map(|l| l.strip_prefix("Depends: "))?;
    let names = depends.split([',', '|']).map(str::trim_start);
    let mut names = names.filter_map(|name| name.split(' ').next());
    names.find(|name| name.starts_with(prefix))
}

/// Whether this is the kind of machine whose packages are meant.
pub(crate) fn supported() -> bool {
    cfg!(all(target_os = "linux", target_arch = "x86_64")) && Path::new("/usr/bin/dpkg").exists()
}

#[cfg(test)]
mod tests {
    use super::{dependency, pick};

    #[test]
    fn the_newest_version_with_the_prefix_is_picked() {
        let table =
            " rustc-web | 1.96.0+dfsg1-1 | a Packages\n rustc-web | 1.85.0+dfsg3-1 | b Packages\n";
        assert_eq!(pick(table, "1.85."), Some("1.85.0+dfsg3-1"));
        assert_eq!(pick(table, ""), Some("1.96.0+dfsg1-1"));
        assert_eq!(pick(table, "1.70."), None);
        assert_eq!(pick("", ""), None);
    }

    #[test]
    fn dependencies_are_found_by_prefix() {
        let text = "Package: a\nDepends: libc6 (>= 2.36), libllvm22, x | libllvm9\nSize: 1\n";
        assert_eq!(dependency(text, "libllvm"), Some("libllvm22"));
        assert_eq!(dependency(text, "libz"), None);
        assert_eq!(dependency("Package: a\n", "libc6"), None);
    }
}
