//! Calls of git, such that no configuration makes it run a program, write beside what it is told to, or ask the user.

use std::ffi::OsString;
use std::io::{Seek, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, ensure};

/// Git's variables that stay. With the others a caller, a hook for instance, points git somewhere else or changes what a
/// path means.
const VARIABLES: [&str; 4] = [
    "GIT_CONFIG",
    "GIT_CEILING_",
    "GIT_DISCOVERY_",
    "GIT_EXEC_PATH",
];
/// Settings that would run programs, touch other repositories or start daemons.
const SETTINGS: [&str; 8] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.splitIndex=false",
    "submodule.recurse=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.allow=never",
];

/// A command of git in `dir`.
pub(super) fn git_in(dir: &Path) -> Command {
    let mut command = Command::new("git");
    for (name, _) in std::env::vars_os() {
        let bytes = name.as_bytes();
        let stays = VARIABLES
            .iter()
            .any(|start| bytes.starts_with(start.as_bytes()));
        if bytes.starts_with(b"GIT_") && !stays {
            command.env_remove(name);
        }
    }
    // Not even to refresh the index, and nothing from a server.
    command.env("GIT_OPTIONAL_LOCKS", "0");
    command.env("GIT_NO_LAZY_FETCH", "1");
    command.env("GIT_TERMINAL_PROMPT", "0");
    command.stdin(Stdio::null()).arg("-C").arg(dir);
    for setting in SETTINGS {
        command.args(["-c", setting]);
    }
    command
}

/// Runs a command to its end, however it ends.
pub(super) fn run(command: &mut Command) -> Result<Output> {
    let output = command.output();
    output.context("cannot start git; install it or put it on the PATH")
}

/// What the command prints, which must succeed; `what` begins the error.
pub(super) fn checked(command: &mut Command, what: &str) -> Result<Vec<u8>> {
    let output = run(command)?;
    ensure!(
        output.status.success(),
        "{what}: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(output.stdout)
}

/// The same, with something to read.
pub(super) fn fed(command: &mut Command, input: &[u8], what: &str) -> Result<Vec<u8>> {
    // A file, since with two pipes both sides could wait for room.
    let mut file = tempfile::tempfile().context("cannot make a temporary file")?;
    file.write_all(input)
        .and_then(|()| file.rewind())
        .context("cannot write a temporary file")?;
    checked(command.stdin(file), what)
}

/// One line of output.
pub(super) fn line(output: &[u8]) -> String {
    String::from_utf8_lossy(output).trim_end().to_owned()
}

/// The bytes as a path.
pub(super) fn path(bytes: &[u8]) -> PathBuf {
    OsString::from_vec(bytes.to_vec()).into()
}

/// What lies between the NULs of an output of which each part ends with one.
pub(super) fn parts(output: &[u8]) -> impl Iterator<Item = &[u8]> {
    let all = output.strip_suffix(b"\0");
    all.into_iter().flat_map(|all| all.split(|byte| *byte == 0))
}

/// A path in the quotes in which git takes any byte.
pub(super) fn quoted(path: &Path) -> Vec<u8> {
    let mut all = vec![b'"'];
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'"' | b'\\' => all.extend([b'\\', *byte]),
            b'\n' => all.extend(b"\\n"),
            _ => all.push(*byte),
        }
    }
    all.push(b'"');
    all
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{parts, quoted};

    #[test]
    fn paths_keep_their_bytes() {
        assert_eq!(quoted(Path::new("/a\"\\\n:")), b"\"/a\\\"\\\\\\n:\"");
        let all = b"a\nb\0\0c\0";
        assert_eq!(parts(all).collect::<Vec<_>>(), [&b"a\nb"[..], b"", b"c"]);
        assert_eq!(parts(b"").count(), 0);
    }
}
