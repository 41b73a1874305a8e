//! Ids of benches: `layer/workload/contender/param`.

/// What contenders have in common, which is the id without the contender, and the contender; `None` if there are not exactly
/// four parts, none of them empty.
pub(crate) fn row_and_contender(id: &str) -> Option<(String, &str)> {
    let parts: Vec<&str> = id.split('/').collect();
    let [layer, workload, contender, param] = parts[..] else {
        return None;
    };
    let is_whole = parts.iter().all(|part| !part.is_empty());
    is_whole.then(|| (format!("{layer}/{workload}/{param}"), contender))
}

/// The layer of a bench: the first part of its id.
pub(crate) fn layer(id: &str) -> &str {
    id.split('/').next().unwrap_or(id)
}

/// The threads that an id declares: its last part is `tN` or ends in `-tN`.
pub(crate) fn threads(id: &str) -> Option<usize> {
    let param = id.rsplit('/').next()?;
    let word = param.rsplit('-').next()?;
    word.strip_prefix('t')?.parse().ok()
}

/// Whether the bench may fail something on a machine with that many cores: it declares no more threads.
pub(crate) fn is_gated(id: &str, cores: usize) -> bool {
    threads(id).is_none_or(|threads| threads <= cores)
}

#[cfg(test)]
mod tests {
    use super::{is_gated, row_and_contender, threads};

    #[test]
    fn threads_stand_at_the_end() {
        for (id, found) in [
            ("executor/spawn_many/executor/25000-t4", Some(4)),
            ("executor/spawn_one/executor/t16", Some(16)),
            ("queue/push_pop/ring/64", None),
            ("executor/current/current/test", None),
            ("executor/current/current/on-t", None),
        ] {
            assert_eq!(threads(id), found, "{id}");
            assert_eq!(is_gated(id, 4), found != Some(16), "{id}");
        }
    }

    #[test]
    fn ids_have_four_parts() {
        let (row, contender) = row_and_contender("queue/push_pop/ring/64").expect("four parts");
        assert_eq!((&*row, contender), ("queue/push_pop/64", "ring"));
        for wrong in ["queue/push_pop/ring", "a/b/c/d/e", "a//c/d", ""] {
            assert_eq!(row_and_contender(wrong), None, "{wrong}");
        }
    }
}
