//! Ids of benches: `layer/workload/contender/param`.

/// The parts of an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Id {
    pub(crate) layer: String,
    pub(crate) workload: String,
    pub(crate) contender: String,
    pub(crate) param: String,
}

impl Id {
    /// `None` if there are not exactly four parts, none of them empty.
    pub(crate) fn parse(id: &str) -> Option<Self> {
        let mut parts = id.split('/').map(str::to_owned);
        let id = Self {
            layer: parts.next()?,
            workload: parts.next()?,
            contender: parts.next()?,
            param: parts.next()?,
        };
        let none_empty = [&id.layer, &id.workload, &id.contender, &id.param]
            .iter()
            .all(|part| !part.is_empty());
        (none_empty && parts.next().is_none()).then_some(id)
    }

    /// The id without the contender: what contenders have in common.
    pub(crate) fn row(&self) -> String {
        format!("{}/{}/{}", self.layer, self.workload, self.param)
    }
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
    use super::{Id, is_gated, threads};

    #[test]
    fn threads_stand_at_the_end() {
        assert_eq!(threads("executor/spawn_many/executor/25000-t4"), Some(4));
        assert_eq!(threads("executor/spawn_one/executor/t16"), Some(16));
        assert_eq!(threads("park/wake_one/idle/1of8-t2"), Some(2));
        assert_eq!(threads("queue/push_pop/ring/64"), None);
        assert_eq!(threads("executor/current/current/test"), None);
        assert_eq!(threads("executor/current/current/on-t"), None);
    }

    #[test]
    fn a_bench_of_more_threads_than_cores_is_not_gated() {
        assert!(is_gated("a/b/c/1-t2", 2));
        assert!(!is_gated("a/b/c/1-t4", 2));
        assert!(is_gated("a/b/c/1", 1));
    }

    #[test]
    fn ids_have_four_parts() {
        let id = Id::parse("queue/push_pop/ring/64").expect("four parts");
        assert_eq!(id.row(), "queue/push_pop/64");
        for wrong in ["queue/push_pop/ring", "a/b/c/d/e", "a//c/d", ""] {
            assert_eq!(Id::parse(wrong), None, "{wrong}");
        }
    }
}
