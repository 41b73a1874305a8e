//! Where, when and of what is measured.

use super::wake;
use crate::process::{program, said};
use crate::report::model::{Machine, SCHEMA};
use crate::report::peers::Origin;
use crate::workspace::Workspace;

/// Chooses the form of `terrace-sync`'s fences.
const FENCE: &str = "TERRACE_FENCE";
/// In place of what the system does not tell.
const UNKNOWN: &str = "unknown";

/// The machine as it is now, before measuring.
pub(crate) fn machine() -> Machine {
    let read = |path: &str| fs_err::read_to_string(path).unwrap_or_default();
    Machine {
        cpu: value(&read("/proc/cpuinfo"), "model name", ':').unwrap_or(UNKNOWN.to_owned()),
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        os: value(&read("/etc/os-release"), "PRETTY_NAME", '=')
            .unwrap_or_else(|| std::env::consts::OS.to_owned()),
        rustc: printed("rustc --version").unwrap_or(UNKNOWN.to_owned()),
        load_before: load(&read("/proc/loadavg")),
        wake_us: wake::microseconds(),
    }
}

/// The time in RFC 3339, UTC; nothing where there is no `date`.
pub(crate) fn now() -> String {
    printed("date -u +%Y-%m-%dT%H:%M:%SZ").unwrap_or_default()
}

/// The changes of a tree, but for the pages and the record that runs write themselves.
const CHANGES: &str =
    "git status --porcelain -- . :!docs/checks.json :!docs/trust.md :!loom-tests/README.md";

/// The commit of the tree, and whether the tree has changes that are in none.
pub(crate) fn commit(ws: &Workspace) -> (String, bool) {
    let git = |words: &str| {
        let mut git = program(words);
        git.current_dir(&ws.root);
        said(git)
    };
    let changes = git(CHANGES);
    let commit = git("git rev-parse HEAD").unwrap_or_default();
    (commit, changes.is_ok_and(|text| !text.is_empty()))
}

/// What this command line measures, on this machine, of this tree.
pub(crate) fn origin(ws: &Workspace) -> Origin {
    let (commit, dirty) = commit(ws);
    Origin {
        schema: SCHEMA,
        created: now(),
        command: command_line(),
        commit,
        dirty,
        machine: machine(),
    }
}

/// What was typed; the choice of fences, if the environment makes one, is part of it.
pub(crate) fn command_line() -> String {
    let fence = std::env::var(FENCE).map(|kind| format!("{FENCE}={kind} "));
    let words: Vec<String> = std::env::args().skip(1).collect();
    format!(
        "{}cargo xtask {}",
        fence.unwrap_or_default(),
        words.join(" ")
    )
}

/// The first line that a program prints.
fn printed(words: &str) -> Option<String> {
    let text = said(program(words)).ok()?;
    text.lines().next().map(str::to_owned)
}

/// What stands behind `name` and the separator.
fn value(text: &str, name: &str, separator: char) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    let (_, value) = line.split_once(separator)?;
    Some(value.trim().trim_matches('"').to_owned())
}

/// The load average of one minute.
fn load(text: &str) -> Option<f64> {
    text.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{load, value};

    #[test]
    fn values_are_found_behind_their_names() {
        let cpuinfo = "processor\t: 0\nmodel name\t: A processor\n";
        let found = |text, name, separator| value(text, name, separator).unwrap_or_default();
        assert_eq!(found(cpuinfo, "model name", ':'), "A processor");
        let release = "NAME=\"An OS\"\nPRETTY_NAME=\"An OS 12\"\n";
        assert_eq!(found(release, "PRETTY_NAME", '='), "An OS 12");
        assert_eq!(found("", "PRETTY_NAME", '='), "");
        assert_eq!(load("0.25 0.5 0.75 1/99 1000"), Some(0.25));
        assert_eq!(load(""), None);
    }
}
