//! `cargo xtask compat --tracing`: what tokio-console sees of a pool, and tracing-chrome of a Bevy schedule.

use anyhow::Result;

use crate::build::{Build, words};
use crate::workspace::Workspace;

/// The package of the programs, no member of a workspace.
pub(crate) const PACKAGE: &str = "crates/compat/tracing";
/// The programs, with their arguments. They check what they see.
const PROGRAMS: [&[&str]; 2] = [&["console", "--", "check"], &["systems"]];
/// As in the package's own configuration, which cargo does not read from here.
const FLAGS: &str = "--cfg console_without_tokio_unstable";

pub(super) fn run(ws: &Workspace) -> Result<()> {
    let (build, manifest) = (
        Build::special(ws, "compat-tracing", FLAGS),
        ws.manifest(PACKAGE),
    );
    for program in PROGRAMS {
        let program = [&["--manifest-path", &*manifest, "--bin"], program].concat();
        build.cargo(&words("run --quiet --locked", program))?;
    }
    Ok(())
}
