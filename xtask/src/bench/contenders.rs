//! Which contenders are ours, and which of the others each of them is held against.

/// The contenders of each layer that are ours; all others are peers.
const OURS: [(&str, &[&str]); 11] = [
    ("sync", &["terrace", "steal"]),
    ("queue", &["ring", "injector", "inbox", "fork"]),
    ("park", &["parker", "idle"]),
    ("local", &["local", "static_local"]),
    (
        "eager",
        &[
            "queued",
            "eager_woken",
            "eager",
            "group_queued",
            "group_eager_woken",
            "group_eager",
        ],
    ),
    ("thread", &["thread_spawner"]),
    (
        "executor",
        &[
            "executor",
            "executor_main",
            "executor_main_tokio",
            "static_executor",
            "executor_run",
            "static_executor_run",
            "current",
        ],
    ),
    ("fork", &["fork", "fork_guest"]),
    ("tasks", &["tasks"]),
    ("ecs", &["ours"]),
    ("async-executor", &["ours"]),
];

/// Contenders of kinds that are never dropped begin with it.
const STATIC: &str = "static_";

/// Rows without a peer: they say what ours costs where no other library has the case.
const ALONE: [&str; 1] = ["park/publish/searching"];

/// Whether the contender of a layer is ours.
pub(super) fn is_ours(layer: &str, contender: &str) -> bool {
    let known = OURS.iter().find(|(name, _)| *name == layer);
    known.is_some_and(|(_, ours)| ours.contains(&contender))
}

/// Whether a row may be without peers.
pub(super) fn is_alone(row: &str) -> bool {
    ALONE.contains(&row)
}

/// The peers of a row that one of ours is held against: of a library with a static kind the one of the same sort.
pub(super) fn opponents<'p>(ours: &str, peers: &[&'p str]) -> Vec<&'p str> {
    let sort = |name: &str| name.starts_with(STATIC);
    let sibling = |peer: &str| match peer.strip_prefix(STATIC) {
        Some(bare) => bare.to_owned(),
        None => format!("{STATIC}{peer}"),
    };
    let fits = |peer: &&&str| sort(peer) == sort(ours) || !peers.contains(&&*sibling(peer));
    peers.iter().filter(fits).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::{is_ours, opponents};

    #[test]
    fn static_kinds_meet_static_kinds() {
        let peers = ["async_executor", "static_async_executor", "tokio"];
        assert_eq!(opponents("local", &peers), ["async_executor", "tokio"]);
        assert_eq!(
            opponents("static_local", &peers),
            ["static_async_executor", "tokio"]
        );
        // Where there is one kind only, each of ours meets it.
        assert_eq!(
            opponents("static_local", &["async_executor"]),
            ["async_executor"]
        );
    }

    #[test]
    fn ours_are_ours_in_their_layer() {
        assert!(is_ours("queue", "ring"));
        assert!(!is_ours("park", "ring"));
        assert!(!is_ours("queue", "crossbeam"));
        assert!(!is_ours("nothing", "ring"));
    }
}
