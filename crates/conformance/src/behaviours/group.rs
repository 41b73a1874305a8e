//! Groups of tasks: children that end together.

use std::future::{Future, pending, poll_fn};
use std::pin::{Pin, pin};

use terrace_local::{Spawn, Task, TaskGroup};
use terrace_sync::Arc;
use terrace_sync::atomic::{AtomicBool, Ordering};

use crate::kind::{Handle, Kind};
use crate::tools::{Tracker, text_of, until, wait, yields};

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Spawns by the handle of a kind.
#[derive(Clone)]
pub(super) struct By<H>(pub(super) H);

impl<H: Handle, F: Future<Output: Send + 'static> + Send + 'static> Spawn<F> for By<H> {
    fn spawn_task(&self, future: F) -> Task<F::Output> {
        self.0.spawn(future).expect("the executor is there")
    }

    fn spawn_task_eager(&self, future: F) -> Task<F::Output> {
        self.0.spawn_eager(future).expect("the executor is there")
    }
}

type Group<K, T, E> = TaskGroup<By<<K as Kind>::Handle>, T, E>;

fn group<K: Kind, T, E>(kind: &K) -> Group<K, T, E> {
    TaskGroup::new(By(kind.handle()))
}

pub(crate) fn values_come_in_order<K: Kind>(kind: K, tracker: &Tracker) {
    for children in [0, 1, 16, 100] {
        let mut group = group::<K, _, ()>(&kind);
        for n in 0..children {
            let (inside, token) = (tracker.token(), tracker.token());
            let child = async move {
                let _inside = inside;
                yields(n % 4).await;
                Ok((n, token))
            };
            match n % 3 {
                0 => group.spawn(child),
                1 => group.spawn_eager(child),
                _ => group.spawn_shielded(child),
            };
        }
        let values = wait(&kind, group.join_all()).expect("none fails");
        assert!(values.iter().map(|value| value.0).eq(0..children));
        assert!(group.is_empty());
    }
}

pub(crate) fn values_come_as_children_end<K: Kind>(kind: K, tracker: &Tracker) {
    let mut group = group::<K, _, ()>(&kind);
    for n in 0..50 {
        let token = tracker.token();
        group.spawn_eager(async move {
            yields(n % 3).await;
            Ok((n, token))
        });
    }
    let mut seen = [false; 50];
    while let Some(next) = wait(&kind, group.next()) {
        let (number, value) = next.expect("none fails");
        assert_eq!(number, value.0);
        assert!(!std::mem::replace(&mut seen[number], true), "once");
    }
    assert!(seen.iter().all(|seen| *seen) && group.is_empty());
}

/// A child fails at its spawn, after a poll of its group that was pending: the group ends.
pub(crate) fn a_failure_behind_a_pending_poll<K: Kind>(kind: K, _tracker: &Tracker) {
    let mut group = group::<K, (), u32>(&kind);
    let task = kind.handle().spawn(async move {
        group.spawn(pending());
        let mut failed = false;
        poll_fn(|context| {
            let next = pin!(group.next()).poll(context);
            if next.is_pending() && !std::mem::replace(&mut failed, true) {
                group.spawn_eager(async { Err(7) });
            }
            next
        })
        .await
    });
    let end = wait(&kind, task.expect("the executor is there"));
    assert_eq!(end, Some(Err(7)));
}

/// Children that never end by themselves, of a group that a further child ends.
fn restless<K: Kind, T: Send + 'static, E: Send + 'static>(
    group: &mut Group<K, T, E>,
    tracker: &Tracker,
) {
    for n in 0..20 {
        let token = tracker.token();
        let child = async move {
            let _inside = token;
            loop {
                yields(1).await;
                if n % 2 == 0 {
                    pending::<()>().await;
                }
            }
        };
        if n % 3 == 0 {
            group.spawn(child);
        } else {
            group.spawn_eager(child);
        }
    }
}

pub(crate) fn the_first_error_cancels_the_rest<K: Kind>(kind: K, tracker: &Tracker) {
    for times in [0, 2] {
        let mut group = group::<K, (), _>(&kind);
        restless::<K, _, _>(&mut group, tracker);
        let token = tracker.token();
        group.spawn_eager(async move {
            yields(times).await;
            Err(("error", token))
        });
        let error = wait(&kind, group.join_all()).expect_err("one fails");
        assert_eq!(error.0, "error");
        assert_eq!(tracker.live(), 1, "all have ended");
    }
}

pub(crate) fn the_first_panic_cancels_the_rest<K: Kind>(kind: K, tracker: &Tracker) {
    for times in [0, 2] {
        let mut group = group::<K, (), ()>(&kind);
        restless::<K, _, _>(&mut group, tracker);
        group.spawn_eager(async move {
            yields(times).await;
            panic!("a child panics");
        });
        let text = text_of(|| wait(&kind, group.join_all()));
        assert_eq!(text, "a child panics");
        assert_eq!(tracker.live(), 0, "all have ended");
    }
}

pub(crate) fn cancel_waits_for_the_end<K: Kind>(kind: K, tracker: &Tracker) {
    let mut group = group::<K, (), ()>(&kind);
    restless::<K, _, _>(&mut group, tracker);
    let ended = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&ended);
    group.spawn_shielded(async move {
        yields(5).await;
        set.store(true, Ordering::Relaxed);
        Ok(())
    });
    wait(&kind, group.cancel());
    assert_eq!(tracker.live(), 0);
    assert!(ended.load(Ordering::Relaxed), "it is shielded");
}

pub(crate) fn a_dropped_group_cancels_its_children<K: Kind>(kind: K, tracker: &Tracker) {
    let mut group = group::<K, (), ()>(&kind);
    restless::<K, _, _>(&mut group, tracker);
    drop(group);
    until(&kind, || tracker.live() == 0);
}

/// The children of a forgotten group run on.
pub(crate) fn a_group_is_forgotten<K: Kind>(kind: K, tracker: &Tracker) {
    let ran = tracker.counter();
    let mut group = group::<K, (), ()>(&kind);
    for _ in 0..5 {
        let (ran, token) = (ran.clone(), tracker.token());
        group.spawn_eager(async move {
            let _inside = token;
            yields(2).await;
            ran.add();
            Ok(())
        });
    }
    std::mem::forget(group);
    until(&kind, || ran.get() == 5 && tracker.live() == 0);
}

fn tree<H: Handle>(handle: H, depth: u32, fails: bool) -> Boxed<Result<u32, u32>> {
    Box::pin(async move {
        if depth == 0 {
            yields(1).await;
            return if fails { Err(9) } else { Ok(1) };
        }
        let mut group = TaskGroup::<_, u32, u32>::new(By(handle.clone()));
        for n in 0..3 {
            group.spawn_eager(tree(handle.clone(), depth - 1, fails && n == 2));
        }
        Ok(group.join_all().await?.into_iter().sum())
    })
}

pub(crate) fn groups_nest<K: Kind>(kind: K, _tracker: &Tracker) {
    assert_eq!(wait(&kind, tree(kind.handle(), 4, false)), Ok(81));
    assert_eq!(wait(&kind, tree(kind.handle(), 4, true)), Err(9));
}
