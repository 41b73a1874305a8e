//! Batches: as if spawned one by one, for every behaviour of their iterator.

use terrace_local::Task;

use crate::kind::{Batch, Handle};
use crate::tools::{Tracker, text_of, until, wait, yields};

pub(crate) fn runs_and_keeps_its_order<K: Batch>(kind: K, tracker: &Tracker) {
    const TASKS: usize = 1_000;
    let mut tasks: Vec<Task<_>> = Vec::new();
    let futures = (0..TASKS).map(|n| {
        let token = tracker.token();
        async move {
            yields(n % 2).await;
            (n, token)
        }
    });
    kind.spawn_many(futures, &mut tasks);
    assert_eq!(tasks.len(), TASKS);
    for (n, task) in tasks.into_iter().enumerate() {
        assert_eq!(wait(&kind, task).0, n);
    }
}

pub(crate) fn may_be_empty<K: Batch>(kind: K, _tracker: &Tracker) {
    let mut tasks: Vec<Task<()>> = Vec::new();
    kind.spawn_many(std::iter::empty::<std::future::Ready<()>>(), &mut tasks);
    assert!(tasks.is_empty());
    wait(&kind, kind.spawn(async {}));
}

/// Its iterator uses the executor during the spawn.
pub(crate) fn its_iterator_spawns<K: Batch>(kind: K, tracker: &Tracker) {
    let (handle, extra) = (kind.handle(), tracker.counter());
    let mut tasks: Vec<Task<_>> = Vec::new();
    let futures = (0..100).map(|n| {
        let (extra, token) = (extra.clone(), tracker.token());
        let task = handle.spawn(async move {
            let _inside = token;
            extra.add();
        });
        task.expect("the executor is there").detach();
        handle.tick();
        async move { n }
    });
    kind.spawn_many(futures, &mut tasks);
    let sum: usize = tasks.into_iter().map(|task| wait(&kind, task)).sum();
    assert_eq!(sum, 99 * 100 / 2);
    until(&kind, || extra.get() == 100);
}

pub(crate) fn its_iterator_panics<K: Batch>(kind: K, tracker: &Tracker) {
    let mut tasks: Vec<Task<_>> = Vec::new();
    let text = text_of(|| {
        let futures = (0..100).map(|n| {
            assert!(n != 50, "half way");
            let token = tracker.token();
            async move {
                yields(1).await;
                (n, token)
            }
        });
        kind.spawn_many(futures, &mut tasks);
    });
    assert_eq!(text, "half way");
    // The tasks made before behave as if spawned one by one.
    assert_eq!(tasks.len(), 50);
    for (n, task) in tasks.into_iter().enumerate() {
        assert_eq!(wait(&kind, task).0, n);
    }
    until(&kind, || tracker.live() == 0);
    assert_eq!(wait(&kind, kind.spawn(async { 4 })), 4);
}
