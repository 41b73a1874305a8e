//! Sets of tasks: results as they come, aborts, and ids.

use std::future::{pending, poll_fn};
use std::task::{Context, Poll};

use terrace_local::{TaskError, TaskId, TaskSet, abortable};
use terrace_testing::Wakes;

use super::group::By;
use crate::kind::{Handle, Kind};
use crate::tools::{Tracker, until, wait, yields};

type Set<K, T> = TaskSet<By<<K as Kind>::Handle>, T>;

fn set<K: Kind, T>(kind: &K) -> Set<K, T> {
    TaskSet::new(By(kind.handle()))
}

/// Each task has one result: its output, its panic, or its abort.
pub(crate) fn each_task_has_a_result<K: Kind>(kind: K, tracker: &Tracker) {
    let mut set = set::<K, _>(&kind);
    for n in 0..60 {
        let (inside, token) = (tracker.token(), tracker.token());
        let task = async move {
            let _inside = inside;
            yields(n % 4).await;
            assert!(n % 5 != 4, "a task of a set");
            (n, token)
        };
        match n % 2 {
            0 => set.spawn(task),
            _ => set.spawn_eager(task),
        };
    }
    let aborted = set.spawn({
        let inside = tracker.token();
        async move {
            let _inside = inside;
            pending().await
        }
    });
    assert!(set.abort(aborted));
    let (mut outputs, mut panics, mut aborts) = (0, 0, 0);
    while let Some((number, result)) = wait(&kind, set.join_next()) {
        match result {
            Ok((n, _)) => {
                assert_eq!(n, number);
                outputs += 1;
            }
            Err(error) if error.is_cancelled() => aborts += 1,
            Err(_) => panics += 1,
        }
    }
    assert_eq!((outputs, panics, aborts), (48, 12, 1));
    assert_eq!(
        tracker.live(),
        0,
        "a task has ended once its future is dropped"
    );
    assert!(wait(&kind, set.join_next()).is_none());
}

type Next<T> = Option<(usize, Result<T, TaskError>)>;

/// Waits for a result. The waiting task calls `then` behind its first poll that was pending.
async fn next_after<S, T>(
    set: &mut TaskSet<S, T>,
    then: impl FnOnce(&mut TaskSet<S, T>) -> Next<T>,
) -> Result<T, TaskError> {
    let mut then = Some(then);
    let next = poll_fn(|context| match set.poll_join_next(context) {
        Poll::Pending => {
            let found = then.take().and_then(|then| then(set));
            found.map_or(Poll::Pending, |found| Poll::Ready(Some(found)))
        }
        next => next,
    });
    next.await.expect("a task is left").1
}

/// A task that waits for its set aborts a task, and looks for results. Neither takes its wake.
pub(crate) fn aborts_and_looks_of_a_waiting_task<K: Kind>(kind: K, _tracker: &Tracker) {
    let mut set = set::<K, ()>(&kind);
    let task = kind.handle().spawn(async move {
        let aborted = set.spawn(pending());
        let abort = |set: &mut Set<K, ()>| {
            set.abort(aborted);
            None
        };
        let end = next_after(&mut set, abort).await;
        assert!(end.unwrap_err().is_cancelled());
        let aborted = set.spawn(pending());
        set.abort(aborted);
        let end = next_after(&mut set, TaskSet::try_join_next).await;
        assert!(end.unwrap_err().is_cancelled());
    });
    wait(&kind, task.expect("the executor is there"));
}

/// A look that finds the end of a task, or an abort that sees it, wakes the task that waits for the set: it may have taken that
/// end's own wake.
pub(crate) fn an_end_that_a_look_finds_wakes<K: Kind>(kind: K, _tracker: &Tracker) {
    let mut set = set::<K, ()>(&kind);
    for n in 0..400 {
        let number = set.spawn(yields(n % 3));
        let wakes = Wakes::new();
        let waker = wakes.waker();
        if set
            .poll_join_next(&mut Context::from_waker(&waker))
            .is_ready()
        {
            continue;
        }
        let mut aborts = n % 2 == 0;
        until(&kind, || {
            if std::mem::take(&mut aborts) {
                set.abort(number);
            }
            set.try_join_next().is_some()
        });
        assert!(wakes.count() > 0, "the task that waits is not woken");
        assert!(set.is_empty());
    }
}

/// A set that is dropped aborts its tasks.
pub(crate) fn a_set_is_dropped<K: Kind>(kind: K, tracker: &Tracker) {
    let mut set = set::<K, ()>(&kind);
    for n in 0..40 {
        let inside = tracker.token();
        let task = async move {
            let _inside = inside;
            yields(n % 3).await;
            pending().await
        };
        match n % 2 {
            0 => set.spawn(task),
            _ => set.spawn_eager(task),
        };
    }
    drop(set);
    until(&kind, || tracker.live() == 0);
}

/// An abort from elsewhere ends a task, and drops its future.
pub(crate) fn an_abort_from_elsewhere<K: Kind>(kind: K, tracker: &Tracker) {
    let inside = tracker.token();
    let (future, handle) = abortable(async move {
        let _inside = inside;
        pending::<()>().await
    });
    let task = kind.handle().spawn(future).expect("the executor is there");
    until(&kind, || tracker.live() == 1);
    handle.abort();
    assert_eq!(wait(&kind, task), None);
    assert_eq!(tracker.live(), 0);
}

/// A task and its handle agree about its id.
pub(crate) fn a_task_knows_its_id<K: Kind>(kind: K, _tracker: &Tracker) {
    let handle = kind.handle();
    let spawn = |rounds| {
        let task = async move {
            yields(rounds).await;
            TaskId::current().await
        };
        handle.spawn(task).expect("the executor is there")
    };
    let tasks: Vec<_> = (0..20).map(spawn).collect();
    for (n, task) in tasks.into_iter().enumerate() {
        let id = task.id();
        assert!(id.is_some(), "task {n}");
        assert_eq!(wait(&kind, task), id);
    }
}
