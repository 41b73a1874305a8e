//! Which contenders are ours, and which of the others each of them is held against.

/// The contenders of each layer that are ours; all others are peers.
const OURS: [(&str, &str); 13] = [
    ("sync", "terrace steal"),
    ("queue", "ring injector inbox fork"),
    ("park", "parker idle"),
    ("local", "local static_local"),
    // The others of ours are its peers: a child that starts at once is held against one that is queued, and against one whose
    // end wakes its parent.
    ("eager", "eager group_eager"),
    ("thread", "thread_spawner"),
    (
        "executor",
        "executor executor_main executor_main_tokio static_executor executor_run static_executor_run current",
    ),
    ("fork", "fork fork_guest"),
    ("awaits", "fork guest_fork"),
    ("tasks", "tasks"),
    ("ecs", "ours"),
    ("rayon", "ours"),
    ("async-executor", "ours"),
];

/// How the names of contenders of a kind begin: executors that are never dropped, children of a group, and pools whose caller takes part.
const KINDS: [&str; 3] = ["static_", "group_", "guest_"];

/// Rows without a peer: they say what ours costs where no other library has the case.
const ALONE: [&str; 1] = ["park/publish/searching"];

/// Whether the contender of a layer is ours.
pub(crate) fn is_ours(layer: &str, contender: &str) -> bool {
    let known = OURS.iter().filter(|(name, _)| *name == layer);
    let mut ours = known.flat_map(|(_, ours)| ours.split(' '));
    ours.any(|name| name == contender)
}

/// Whether a row may be without peers.
pub(super) fn is_alone(row: &str) -> bool {
    ALONE.contains(&row)
}

/// Whether both are of one kind.
pub(super) fn are_alike(one: &str, other: &str) -> bool {
    kind(one).0 == kind(other).0
}

/// The kind of a contender, and its name without that.
fn kind(name: &str) -> (&str, &str) {
    let bare = KINDS.iter().find_map(|kind| name.strip_prefix(kind));
    let bare = bare.unwrap_or(name);
    (&name[..name.len() - bare.len()], bare)
}

/// The peers of a row that one of ours is held against: of a peer with several kinds the one of the same kind.
pub(super) fn opponents<'p>(ours: &str, peers: &[&'p str]) -> Vec<&'p str> {
    let (ours, _) = kind(ours);
    let mut opponents = peers.to_vec();
    opponents.retain(|peer| {
        let (theirs, bare) = kind(peer);
        theirs == ours || !peers.contains(&&*format!("{ours}{bare}"))
    });
    opponents
}

#[cfg(test)]
mod tests {
    use super::{is_ours, opponents};

    #[test]
    fn kinds_meet_their_kind_where_there_is_one() {
        let executors = ["async_executor", "static_async_executor", "tokio"];
        let children = ["queued", "group_queued", "tokio"];
        for (ours, peers, wanted) in [
            (
                "local",
                &executors[..],
                ["async_executor", "tokio"].as_slice(),
            ),
            (
                "static_local",
                &executors,
                &["static_async_executor", "tokio"],
            ),
            ("static_local", &executors[..1], &["async_executor"]),
            ("eager", &children, &["queued", "tokio"]),
            ("group_eager", &children, &["group_queued", "tokio"]),
        ] {
            assert_eq!(opponents(ours, peers), wanted, "{ours}");
        }
    }

    #[test]
    fn ours_are_ours_in_their_layer() {
        assert!(is_ours("queue", "ring"));
        for (layer, name) in [
            ("park", "ring"),
            ("queue", "crossbeam"),
            ("nothing", "ring"),
        ] {
            assert!(!is_ours(layer, name));
        }
    }
}
