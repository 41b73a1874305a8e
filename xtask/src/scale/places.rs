//! Names of places in the program: where in the sources an access stands.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::counts::{Count, Hot};
use crate::process::{needs, said};
use crate::workspace::Workspace;

/// How many addresses one call of the tool takes.
const AT_ONCE: usize = 500;
/// Letters of a name that has types in it.
const LONGEST: usize = 80;
/// Code of these does not say whose line it is: the standard library, and what stands for it in ours.
const BELOW: [&str; 3] = ["/rustc/", "library/", "crates/sync/src"];

/// The names, by return addresses.
pub(super) struct Places(HashMap<u64, String>);

impl Places {
    /// The names of the hottest lines' places.
    pub(super) fn of(ws: &Workspace, program: &Path, counts: &[Count]) -> Result<Self> {
        needs("addr2line", "binutils")?;
        let all = counts.iter().flat_map(|count| &count.hottest);
        let all: BTreeSet<u64> = all.map(|hot| hot.place).collect();
        let all = Vec::from_iter(all);
        let root = format!("{}/", ws.root.display());
        let mut names = HashMap::new();
        for addresses in all.chunks(AT_ONCE) {
            let mut tool = Command::new("addr2line");
            tool.args(["-a", "-f", "-i", "-C", "-e"]).arg(program);
            // A return address is that of the instruction behind the call.
            tool.args(
                addresses
                    .iter()
                    .map(|at| format!("{:#x}", at.saturating_sub(1))),
            );
            let text = said(tool)?;
            let found = text.split("0x").skip(1).map(|frames| name(frames, &root));
            let found = found
                .collect::<Option<Vec<_>>>()
                .context("addr2line prints no frames")?;
            names.extend(addresses.iter().copied().zip(found));
        }
        Ok(Self(names))
    }

    /// Where a line was got most often.
    pub(super) fn name(&self, hot: &Hot) -> &str {
        match hot.place {
            0 => "a futex call",
            place => self.0.get(&place).map_or("?", String::as_str),
        }
    }
}

/// `FUNCTION in FILE:LINE`, of the innermost frame that is of interest: a line with the address, then two for each frame. If all
/// are of the standard library, the function with its types says whose it is.
fn name(frames: &str, root: &str) -> Option<String> {
    let lines = Vec::from_iter(frames.lines().skip(1));
    let frames = Vec::from_iter(lines.chunks_exact(2));
    let is_above = |frame: &&&[&str]| !BELOW.iter().any(|below| frame[1].contains(below));
    let Some(frame) = frames.iter().find(is_above) else {
        return Some((*frames.last()?[0]).chars().take(LONGEST).collect());
    };
    let file = frame[1].split(" (disc").next()?.trim_start_matches(root);
    let file = match file.split_once("registry/src/") {
        Some((_, rest)) => rest.split_once('/')?.1,
        None => file,
    };
    Some(format!("{} in {file}", short(frame[0])))
}

/// A function's name without its generic arguments, and with its type or module at most.
fn short(function: &str) -> String {
    let mut depth = 0;
    let mut plain = String::new();
    for letter in function.replace("->", "").chars() {
        depth += usize::from(matches!(letter, '<' | '{'));
        if depth == 0 {
            plain.push(letter);
        }
        depth -= usize::from(matches!(letter, '>' | '}') && depth > 0);
    }
    let parts = Vec::from_iter(plain.split("::").filter(|part| !part.is_empty()));
    if parts.is_empty() {
        return "a closure".to_owned();
    }
    parts[parts.len().saturating_sub(2)..].join("::")
}

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn the_innermost_frame_above_the_standard_library_is_told() {
        let frames = "12ab\ncore::atomic_load<usize>\n/rustc/1/library/core/atomic.rs:3\nload\n/r/crates/sync/src/atomic.rs:74\n\
                      a::Pool<T>::push<u8>\n/r/crates/a/src/pool.rs:9 (discriminator 2)\nmain\n/r/main.rs:1\n";
        assert_eq!(
            name(frames, "/r/").as_deref(),
            Some("Pool::push in crates/a/src/pool.rs:9")
        );
        let peer = "1\nf\n/h/.cargo/registry/src/index-1/tokio-1.0.0/src/x.rs:2\n";
        assert_eq!(
            name(peer, "/r/").as_deref(),
            Some("f in tokio-1.0.0/src/x.rs:2")
        );
        let lock = "1\nlock<a::State>\n/rustc/1/library/std/mutex.rs:2\n";
        assert_eq!(name(lock, "/r/").as_deref(), Some("lock<a::State>"));
        assert_eq!(name("1\n", "/r/"), None);
    }
}
