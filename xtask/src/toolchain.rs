//! Compilers for commands that need more than the one in use has to offer: an old version, or the sources of the standard
//! library.
//!
//! A toolchain that the user has comes first: the one in use (`RUSTC` where it is set), or another one of rustup. Debian's
//! packages are the fallback, where apt is there to ask.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use cargo_metadata::semver::Version;

use crate::build::Build;
use crate::debian;
use crate::process::{program, said};
use crate::workspace::Workspace;

/// What this machine's own target is called.
pub(crate) const HOST: &str = match (cfg!(target_os = "macos"), cfg!(target_arch = "aarch64")) {
    (false, false) => "x86_64-unknown-linux-gnu",
    (false, true) => "aarch64-unknown-linux-gnu",
    (true, false) => "x86_64-apple-darwin",
    (true, true) => "aarch64-apple-darwin",
};

/// Where the sources of the standard library lie in a toolchain that has them.
const SOURCES: &str = "lib/rustlib/src/rust/library/std/Cargo.toml";

/// A compiler that does what was asked for.
pub(crate) struct Compiler {
    pub(crate) rustc: PathBuf,
    /// Where Debian's packages lie unpacked, if it comes out of these.
    pub(crate) unpacked: Option<PathBuf>,
}

impl Compiler {
    /// A user's.
    fn own(rustc: PathBuf) -> Self {
        let unpacked = None;
        Self { rustc, unpacked }
    }

    /// One with the sources of its standard library, for commands that build that anew: instrumented, or for a target
    /// that comes without one.
    pub(crate) fn with_sources(ws: &Workspace) -> Result<Self> {
        if sysroot()?.join(SOURCES).is_file() {
            return in_use().map(Self::own);
        }
        ensure!(
            debian::supported(),
            "the toolchain in use has no sources of its standard library; `rustup component add rust-src` adds them"
        );
        debian::compiler(ws, "rustc-std", "", true)
    }

    /// One of the version `MAJOR.MINOR`, or the one in use if that is later and `or_later` is fine.
    pub(crate) fn of_version(ws: &Workspace, version: &str, or_later: bool) -> Result<Self> {
        let in_use = in_use()?;
        let wanted = Version::parse(&format!("{version}.0"))?;
        let found = version_of(&in_use)?;
        let order = (found.major, found.minor).cmp(&(wanted.major, wanted.minor));
        if order.is_eq() || or_later && order.is_gt() {
            return Ok(Self::own(in_use));
        }
        if let Some(rustc) = of_rustup(version) {
            return Ok(Self::own(rustc));
        }
        ensure!(
            debian::supported(),
            "no rustc {version} is there; `rustup toolchain install {version} --profile minimal` installs it"
        );
        let (name, prefix) = (format!("rustc-{version}"), format!("{version}."));
        debian::compiler(ws, &name, &prefix, false)
    }

    /// The flag for rustc by which it finds a linker for targets without an operating system. A toolchain of rustup finds
    /// its own, which knows all of them; Debian's compiler gets that of the toolchain in use.
    pub(crate) fn linker_flag(&self) -> Result<String> {
        if self.unpacked.is_none() {
            return Ok(String::new());
        }
        let linker = sysroot()?.join(format!("lib/rustlib/{HOST}/bin/rust-lld"));
        ensure!(
            linker.is_file(),
            "{} is missing; is a toolchain of rustup in use?",
            linker.display()
        );
        Ok(format!("-Clinker={}", linker.display()))
    }

    /// A build in the subdirectory `dir` of the target directory, of the standard library too, with these flags for rustc.
    pub(crate) fn build(&self, ws: &Workspace, dir: &str, rustflags: &str) -> Build {
        Build::special(ws, dir, rustflags)
            .env("RUSTC_BOOTSTRAP", "1")
            .envs(self.env())
    }

    /// What has to be in the environment of a cargo that uses it.
    pub(crate) fn env(&self) -> Vec<(&'static str, String)> {
        let rustc = self.rustc.display().to_string();
        let unpacked = self.unpacked.iter().map(|root| {
            let libraries = root.join(debian::LIBRARIES);
            ("LD_LIBRARY_PATH", libraries.display().to_string())
        });
        [("RUSTC", rustc)].into_iter().chain(unpacked).collect()
    }
}

/// Whether the toolchain in use has a standard library for the target.
pub(crate) fn has_target(target: &str) -> Result<bool> {
    Ok(libraries(&sysroot()?, target).is_dir())
}

/// Where a toolchain has its libraries for a target.
pub(crate) fn libraries(sysroot: &Path, target: &str) -> PathBuf {
    sysroot.join("lib/rustlib").join(target).join("lib")
}

/// Where the toolchain in use lies.
pub(crate) fn sysroot() -> Result<PathBuf> {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let mut command = Command::new(rustc);
    command.args(["--print", "sysroot"]);
    said(command).map(PathBuf::from)
}

/// The compiler in use itself, not what chooses it.
fn in_use() -> Result<PathBuf> {
    let rustc = std::env::var_os("RUSTC").map(PathBuf::from);
    rustc.map_or_else(|| Ok(sysroot()?.join("bin/rustc")), Ok)
}

/// The compiler of an installed toolchain of rustup with this version or channel.
fn of_rustup(version: &str) -> Option<PathBuf> {
    let list = said(program("rustup toolchain list")).ok()?;
    let name = toolchain(&list, version)?;
    let path = said(program(&format!("rustup which rustc --toolchain {name}")));
    path.ok().map(PathBuf::from)
}

/// The first toolchain in rustup's list that is of the version, with a further number or not.
fn toolchain<'l>(list: &'l str, version: &str) -> Option<&'l str> {
    let mut names = list.lines().filter_map(|l| l.split_whitespace().next());
    let rest = |name: &'l str| name.strip_prefix(version);
    names.find(|name| rest(name).is_some_and(|rest| rest.starts_with(['.', '-'])))
}

/// `1.95.0`
fn version_of(rustc: &Path) -> Result<Version> {
    let mut command = Command::new(rustc);
    command.arg("--version");
    let said = said(command)?;
    let version = said.split_whitespace().nth(1);
    Ok(version.context("rustc says no version")?.parse()?)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_toolchain_is_found_by_its_version() {
        let list = "stable-a-b (active, default)\n1.850.0-a-b\n1.85.1-a-b\n1.86-a-b\n";
        let of = |version| super::toolchain(list, version);
        assert_eq!(
            [of("1.85"), of("1.86"), of("1.8")],
            [Some("1.85.1-a-b"), Some("1.86-a-b"), None]
        );
    }
}
