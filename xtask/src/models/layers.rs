//! Which layer a file of models belongs to, by the start of its name.

/// The layers that have models, and scopes, which the executor and fork-join share.
pub(crate) const NAMES: [&str; 8] = [
    "sync", "queue", "park", "local", "thread", "executor", "scope", "fork",
];

/// Further words that file names start with.
const ALIASES: [(&str, &str); 3] = [
    ("idle", "park"),
    ("wait", "executor"),
    ("latch", "executor"),
];

/// Every word that the name of a file may start with.
pub(crate) fn words() -> Vec<&'static str> {
    let aliases = ALIASES.iter().map(|(alias, _)| *alias);
    NAMES.into_iter().chain(aliases).collect()
}

/// The layer of the file `name` (without extension), for example `park` for `idle_publish`.
pub(crate) fn of(name: &str) -> Option<&'static str> {
    let word = name.split('_').next().unwrap_or_default();
    let layer = ALIASES
        .iter()
        .find(|(alias, _)| *alias == word)
        .map_or(word, |(_, layer)| layer);
    NAMES.into_iter().find(|n| *n == layer)
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn the_first_word_decides() {
        assert_eq!(of("queue_ring"), Some("queue"));
        assert_eq!(of("idle_publish"), Some("park"));
        assert_eq!(of("scope_end"), Some("scope"));
        assert_eq!(of("wait_latch"), Some("executor"));
        assert_eq!(of("queues"), None);
        assert_eq!(of("misc_queue"), None);
    }
}
