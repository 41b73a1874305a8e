//! The ends of an executor that stays: waits for all tasks, shutdowns of each kind, and spawners that outlive it.

use std::time::Duration;

use terrace_executor::{Shutdown, Task};

use crate::kind::{Handle, Pooled};
use crate::tools::{OnDrop, Slot, Tracker, arrived, settle, until, wait, yields};

/// Long enough to be a wait.
const SHORT: Duration = Duration::from_millis(2);

/// A task that waits without end, polled once; and its waker.
fn waits<K: Pooled>(kind: &K, tracker: &Tracker) -> (Task<()>, Slot) {
    let slot = Slot::default();
    let (inside, token) = (slot.clone(), tracker.token());
    let task = kind.spawn(async move {
        let _inside = token;
        inside.forever::<()>().await;
    });
    drop(arrived(kind, &slot));
    (task, slot)
}

/// It waits for tasks that wait themselves, and for those that they spawn.
pub(crate) fn a_wait_for_all_tasks_ends_after_the_last<K: Pooled>(kind: K, tracker: &Tracker) {
    let ended = tracker.counter();
    for n in 0..20 {
        let (handle, ended, token) = (kind.handle(), ended.clone(), tracker.token());
        let parent = async move {
            yields(n % 4).await;
            let child = async move {
                let _inside = token;
                yields(n % 3).await;
                ended.add();
            };
            handle.spawn(child).expect("the executor is there").detach();
        };
        kind.spawn(parent).detach();
    }
    kind.executor().wait_idle(None).expect("there is no limit");
    assert_eq!((ended.get(), tracker.live()), (20, 0));
    assert_eq!(kind.executor().metrics().num_alive_tasks(), 0);
}

/// It says how many tasks are left.
pub(crate) fn a_wait_with_a_limit_says_what_is_left<K: Pooled>(kind: K, tracker: &Tracker) {
    let tasks = [waits(&kind, tracker), waits(&kind, tracker)];
    let left = kind.executor().wait_idle(Some(SHORT));
    let left = left.expect_err("two tasks wait without end");
    assert_eq!((left.tasks(), left.threads()), (2, 0));
    let left = kind.executor().shutdown(Shutdown::FinishAll, Some(SHORT));
    let left = left.expect_err("they do still");
    assert_eq!((left.tasks(), left.threads()), (2, 0));
    drop(tasks);
    kind.executor().wait_idle(None).expect("both are cancelled");
}

/// It runs what waits for others to its end.
pub(crate) fn a_shutdown_finishes_all_tasks<K: Pooled>(kind: K, tracker: &Tracker) {
    let first = kind.spawn(yields(3));
    let token = tracker.token();
    let second = kind.spawn(async move {
        let _inside = token;
        first.await;
        7
    });
    let shut = kind.executor().shutdown(Shutdown::FinishAll, None);
    shut.expect("there is no limit");
    assert_eq!(kind.executor().threads(), 0);
    assert!(second.is_finished());
    assert_eq!((wait(&kind, second), tracker.live()), (7, 0));
}

/// It runs what is queued, and leaves a task that waits: the drop of the executor drops it.
pub(crate) fn a_shutdown_runs_what_is_queued<K: Pooled>(kind: K, tracker: &Tracker) {
    let (task, _slot) = waits(&kind, tracker);
    let ran = tracker.counter();
    for _ in 0..10 {
        let ran = ran.clone();
        kind.spawn(async move { ran.add() }).detach();
    }
    let shut = kind.executor().shutdown(Shutdown::RunQueued, None);
    shut.expect("there is no limit");
    // Without workers, the queue is for the caller to run.
    until(&kind, || ran.get() == 10);
    assert!(!task.is_finished());
    assert_eq!(kind.executor().metrics().num_alive_tasks(), 1);
    drop(kind);
    assert_eq!(tracker.live(), 0);
}

/// It drops what is queued after it, each task once, and leaves a task that waits.
pub(crate) fn a_shutdown_drops_what_is_queued<K: Pooled>(kind: K, tracker: &Tracker) {
    let (task, _slot) = waits(&kind, tracker);
    let (ran, dropped) = (tracker.counter(), tracker.counter());
    for _ in 0..10 {
        let (ran, dropped, token) = (ran.clone(), dropped.clone(), tracker.token());
        let guard = OnDrop(move || dropped.add());
        let work = async move {
            let _inside = (guard, token);
            ran.add();
        };
        kind.spawn(work).detach();
    }
    let shut = kind.executor().shutdown(Shutdown::DropQueued, None);
    shut.expect("there is no limit");
    assert!(ran.get() <= dropped.get());
    assert_eq!(dropped.get(), 10, "each has run, or was dropped");
    assert!(!task.is_finished());
    assert_eq!(tracker.live(), 1, "the one that waits");
}

/// A spawner spawns from tasks and from outside. It keeps no executor.
pub(crate) fn a_spawner_outlives_its_executor<K: Pooled>(kind: K, tracker: &Tracker) {
    let spawner = kind.executor().spawner();
    let (inner, token) = (spawner.clone(), tracker.token());
    let nested = spawner.spawn(async move {
        let _inside = token;
        inner.spawn(async { 6 }).await + 1
    });
    assert_eq!(wait(&kind, nested), 7);
    let (inner, token) = (spawner.clone(), tracker.token());
    let keeps = spawner.spawn(async move {
        let _inside = (inner, token);
        std::future::pending::<()>().await;
    });
    settle(&kind);
    assert!(!spawner.is_closed());
    drop(kind);
    assert!(spawner.is_closed());
    assert_eq!(tracker.live(), 0, "the task that keeps a spawner is gone");
    drop(keeps);
    let token = tracker.token();
    let late = spawner.spawn(async move { token });
    assert_eq!(tracker.live(), 0, "the future is dropped at once");
    assert!(crate::tools::wait_here(late.fallible()).is_none());
}
