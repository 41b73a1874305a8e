//! Which layer a file of models belongs to, by the start of its name.

use anyhow::Result;

use crate::workspace::Workspace;

/// The layers that have models, and scopes, which the executor and fork-join share.
pub(crate) const NAMES: [&str; 9] = [
    "trace", "sync", "queue", "park", "local", "thread", "executor", "scope", "fork",
];

/// Further words that file names start with.
const ALIASES: [(&str, &str); 3] = [
    ("idle", "park"),
    ("wait", "executor"),
    ("latch", "executor"),
];

/// The layer of the file `name` (without extension), for example `park` for `idle_publish`.
pub(crate) fn of(name: &str) -> Option<&'static str> {
    let word = name.split('_').next().unwrap_or_default();
    let alias = ALIASES.iter().find(|(alias, _)| *alias == word);
    let layer = alias.map_or(word, |(_, layer)| layer);
    NAMES.into_iter().find(|name| *name == layer)
}

/// The names of the files with loom's models.
pub(crate) fn files(ws: &Workspace) -> Result<Vec<&str>> {
    let targets = ws.package(crate::loom::PACKAGE)?.targets.iter();
    let tests = targets.filter(|target| target.is_test());
    Ok(tests.map(|target| target.name.as_str()).collect())
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn the_first_word_decides() {
        let names = ["queue_ring", "idle_publish", "scope_end", "wait_latch"];
        let layers = ["queue", "park", "scope", "executor"];
        assert_eq!(names.map(of), layers.map(Some));
        assert_eq!(["queues", "misc_queue"].map(of), [None, None]);
    }
}
