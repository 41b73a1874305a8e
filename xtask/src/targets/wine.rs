//! Wine, with what it lacks.

use std::process::Command;

use anyhow::{Context, Result};

use crate::process::said;
use crate::workspace::{Workspace, write};

/// Rust's standard library asks this library for random bytes, which Wine 8 does not have.
const MISSING: &str = "bcryptprimitives.dll";
/// In C: its one function, by an older one.
const SOURCE: &str = "#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE bytes, SIZE_T count) {
    return SystemFunction036(bytes, (ULONG)count);
}
";

/// Makes Wine's directory, unless it is there, and returns what has to be in the environment of a program.
pub(super) fn prefix(ws: &Workspace, compiler: &str) -> Result<[(&'static str, String); 2]> {
    let dir = ws.target.join("targets");
    let prefix = dir.join("wine");
    let env = [
        ("WINEPREFIX", prefix.display().to_string()),
        ("WINEDEBUG", "-all".to_owned()),
    ];
    let library = prefix.join("drive_c/windows/system32").join(MISSING);
    if library.exists() {
        return Ok(env);
    }
    fs_err::create_dir_all(&dir)?;
    let mut boot = Command::new("wineboot");
    boot.arg("--init").envs(env.clone());
    said(boot).context("Wine cannot make its directory")?;
    if !library.exists() {
        write(&dir, "missing.c", SOURCE)?;
        let mut build = Command::new(compiler);
        build.args(["-shared", "-o"]).arg(&library);
        build.arg(dir.join("missing.c")).arg("-ladvapi32");
        said(build).with_context(|| format!("{MISSING} cannot be built"))?;
    }
    Ok(env)
}
