//! Executors are used from within: from polls, wakers and destructors.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use terrace_sync::{Arc, Mutex};

use crate::kind::{Handle, Kind};
use crate::tools::{OnDrop, OnWake, Slot, Tracker, arrived, until, wait, yields};

/// Spawns a detached task that counts.
fn spawn_counting<H: Handle>(handle: &H, tracker: &Tracker) -> impl Fn() + Send + Sync + use<H> {
    let (handle, counted, token) = (handle.clone(), tracker.counter(), tracker.token());
    let token = Arc::new(token);
    move || {
        let (counted, token) = (counted.clone(), Arc::clone(&token));
        let task = handle.spawn(async move {
            let _inside = token;
            yields(1).await;
            counted.add();
        });
        task.expect("the executor is there").detach();
    }
}

pub(crate) fn a_poll_spawns<K: Kind>(kind: K, tracker: &Tracker) {
    let (handle, token) = (kind.handle(), tracker.token());
    let outer = kind.spawn(async move {
        let inner = handle.spawn(async move {
            let _inside = token;
            yields(1).await;
            5
        });
        inner.expect("the executor is there").await + 1
    });
    assert_eq!(wait(&kind, outer), 6);
}

pub(crate) fn a_waker_spawns<K: Kind>(kind: K, tracker: &Tracker) {
    let (woken, ran) = (tracker.counter(), tracker.counter());
    let spawn = spawn_counting(&kind.handle(), tracker);
    let waker = OnWake::waker({
        let woken = woken.clone();
        move || {
            spawn();
            woken.add();
        }
    });
    let slot = Slot::default();
    let mut task = kind.spawn({
        let (slot, ran) = (slot.clone(), ran.clone());
        async move {
            slot.pause().await;
            ran.add();
        }
    });
    let own = arrived(&kind, &slot);
    assert!(
        Pin::new(&mut task)
            .poll(&mut Context::from_waker(&waker))
            .is_pending()
    );
    drop(waker);
    own.wake();
    until(&kind, || woken.get() == 1);
    assert_eq!(
        Pin::new(&mut task).poll(&mut Context::from_waker(std::task::Waker::noop())),
        Poll::Ready(())
    );
    drop(task);
    assert_eq!(ran.get(), 1);
    until(&kind, || tracker.live() == 0);
}

pub(crate) fn a_destructor_spawns<K: Kind>(kind: K, tracker: &Tracker) {
    let spawn = spawn_counting(&kind.handle(), tracker);
    // Of a future that is done, of one that is cancelled, of an output.
    let guard = OnDrop(spawn);
    wait(
        &kind,
        kind.spawn(async move {
            let _inside = guard;
            yields(1).await;
        }),
    );
    until(&kind, || tracker.live() == 0);
    let (slot, guard) = (
        Slot::default(),
        OnDrop(spawn_counting(&kind.handle(), tracker)),
    );
    let task = kind.spawn({
        let slot = slot.clone();
        async move {
            let _inside = guard;
            slot.forever::<()>().await;
        }
    });
    let _waker = arrived(&kind, &slot);
    drop(task);
    until(&kind, || tracker.live() == 0);
    let guard = OnDrop(spawn_counting(&kind.handle(), tracker));
    kind.spawn(async move { guard }).detach();
    until(&kind, || tracker.live() == 0);
}

pub(crate) fn a_poll_ticks<K: Kind>(kind: K, tracker: &Tracker) {
    let (handle, inner_ran, token) = (kind.handle(), tracker.counter(), tracker.token());
    let outer = kind.spawn({
        let inner_ran = inner_ran.clone();
        async move {
            let _inside = token;
            while handle.tick() {}
            inner_ran.get()
        }
    });
    let inner = kind.spawn({
        let inner_ran = inner_ran.clone();
        async move {
            yields(2).await;
            inner_ran.add();
        }
    });
    assert_eq!(wait(&kind, outer), 1, "the other task ran within the poll");
    assert!(inner.is_finished());
}

pub(crate) fn a_waker_ticks<K: Kind>(kind: K, tracker: &Tracker) {
    let (handle, ran) = (kind.handle(), tracker.counter());
    let waker = OnWake::waker(move || while handle.tick() {});
    let mut task = kind.spawn(async {});
    let other = kind.spawn({
        let (ran, token) = (ran.clone(), tracker.token());
        async move {
            let _inside = token;
            ran.add();
        }
    });
    assert!(
        Pin::new(&mut task)
            .poll(&mut Context::from_waker(&waker))
            .is_pending()
    );
    assert!(kind.tick(), "the first task ends, and wakes");
    assert_eq!(ran.get(), 1, "its waker ticked");
    assert!(task.is_finished());
    assert!(other.is_finished());
}

pub(crate) fn a_destructor_ticks<K: Kind>(kind: K, tracker: &Tracker) {
    let (handle, ran) = (kind.handle(), tracker.counter());
    let guard = OnDrop(move || while handle.tick() {});
    let task = kind.spawn(async move {
        let _inside = guard;
    });
    let other = kind.spawn({
        let (ran, token) = (ran.clone(), tracker.token());
        async move {
            let _inside = token;
            ran.add();
        }
    });
    assert!(kind.tick());
    assert_eq!(ran.get(), 1, "the destructor ticked");
    assert!(task.is_finished());
    assert!(other.is_finished());
}

/// Blocks in a poll until another task of the same executor is done: by ticking it, or by its other threads.
pub(crate) fn a_poll_waits_for_another_task<K: Kind>(kind: K, tracker: &Tracker) {
    let one_thread = kind.caps().has(crate::Caps::ONE_THREAD);
    let (handle, token) = (kind.handle(), tracker.token());
    let outer = kind.spawn(async move {
        let inner = handle.spawn(async move {
            let _inside = token;
            yields(3).await;
            8
        });
        let mut inner = inner.expect("the executor is there");
        if !one_thread {
            return terrace_executor::block_on(inner);
        }
        while !inner.is_finished() {
            assert!(handle.tick(), "the inner task is ready");
        }
        inner.try_take().expect("it is finished")
    });
    assert_eq!(wait(&kind, outer), 8);
}

pub(crate) fn spawns_nest<K: Kind>(kind: K, tracker: &Tracker) {
    const DEPTH: usize = 500;
    fn nested<H: Handle>(handle: H, depth: usize, log: Arc<Mutex<Vec<usize>>>) {
        if depth == DEPTH {
            return;
        }
        let inner = handle.clone();
        let task = handle.spawn(async move {
            log.lock().push(depth);
            nested(inner, depth + 1, log);
        });
        task.expect("the executor is there").detach();
    }
    let log = Arc::default();
    nested(kind.handle(), 0, Arc::clone(&log));
    until(&kind, || log.lock().len() == DEPTH);
    assert!(
        log.lock()
            .iter()
            .enumerate()
            .all(|(at, depth)| at == *depth)
    );
    assert_eq!(tracker.live(), 0);
}
