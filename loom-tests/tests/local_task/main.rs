//! Models of a task of a single-thread executor: who refers to it, who wakes it, and how it ends.
//!
//! The cell is the model's own, with the layer's `State`, mailbox and inbox: what `task::biased::Cell` does with a step is
//! done here likewise. The memory of the cell, and of the core, is looked at by who may use it and taken when it is freed, so
//! that loom tells if the two can meet.

mod fixture;

use std::sync::Arc as Plain;
use std::task::Waker;

use terrace_local::biased::{Joined, Pended, State, Step};
use terrace_sync::atomic::Ordering;
use terrace_sync::{Arc, model, thread};

use fixture::{Core, OUTCOME, Task, drain, elsewhere, join, pending, take};

/// Two wakes by one thread, of which the second may find the first one's item on its way: the last poll sees what came
/// before either.
///
/// Fails under: `local-task-wake-coalesced`, `local-task-start-acquire`, `local-task-arrive-release` (the link of the inbox).
#[test]
fn local_task_wake_brings_news() {
    model(|| {
        let core = Core::new();
        let task = pending(&core, 1);
        let waker = {
            let task = task.clone();
            thread::spawn(move || {
                for news in 1..=2 {
                    task.news.store(news, Ordering::Relaxed);
                    let step = task.touch().wake_elsewhere(false);
                    task.follow(step, false);
                }
                let step = task.touch().release_elsewhere();
                task.follow(step, false);
            })
        };
        drain(&core);
        waker.join().unwrap();
        drain(&core);
        task.assert_seen(2);
        task.detach_at_home();
        drain(&core);
        task.assert_gone();
    });
}

/// A task ends while its handle waits elsewhere, with so many wakers one after the other.
fn ends_while_waited_for(wakers: usize) {
    model(move || {
        let core = Core::new();
        let task = Task::new(&core, true);
        let handle = {
            let task = task.clone();
            thread::spawn(move || assert_eq!(join(&task, wakers), Some(OUTCOME)))
        };
        task.run();
        handle.join().unwrap();
        task.assert_gone();
    });
}

/// A handle waits elsewhere while the task ends: it is woken, and sees the whole outcome.
///
/// Fails under: `local-task-merge-release`.
#[test]
fn local_task_outcome_is_waited_for() {
    ends_while_waited_for(1);
}

/// The handle changes its waker while the task ends: the awaiter is touched by one of the two at a time, and the last waker is
/// woken.
///
/// Fails under: `local-task-join-in-place`.
#[test]
fn local_task_awaiter_is_replaced() {
    ends_while_waited_for(2);
}

/// The last references to a pending task are dropped elsewhere and at home: its future is dropped.
///
/// Fails under: `local-task-last-elsewhere`.
#[test]
fn local_task_last_reference() {
    model(|| {
        let core = Core::new();
        let task = pending(&core, 1);
        let waker = elsewhere(&task, State::release_elsewhere);
        task.detach_at_home();
        drain(&core);
        waker.join().unwrap();
        drain(&core);
        task.assert_gone();
    });
}

/// The same where home drops what was counted elsewhere: a waker that another thread cloned.
#[test]
fn local_task_reference_comes_home() {
    model(|| {
        let core = Core::new();
        let task = pending(&core, 1);
        let waker = {
            let task = task.clone();
            thread::spawn(move || {
                task.touch().clone_elsewhere();
                let step = task.touch().release_elsewhere();
                task.follow(step, false);
                // The clone goes home.
            })
        };
        task.detach_at_home();
        waker.join().unwrap();
        // SAFETY: at home, the clone's reference.
        let step = unsafe { task.touch().release_at_home() };
        task.follow(step, true);
        drain(&core);
        task.assert_gone();
    });
}

/// A task that nobody waits for and that ends in its next poll, with one waker.
fn detached() -> (Arc<Core>, Plain<Task>) {
    let core = Core::new();
    let task = Task::new(&core, true);
    task.clone_at_home();
    task.detach_at_home();
    (core, task)
}

/// A task that nobody waits for ends while its last waker is dropped elsewhere: who sees that nobody else is left has
/// everything behind it.
///
/// Fails under: `local-task-alone-acquire`.
#[test]
fn local_task_alone_at_the_end() {
    model(|| {
        let (core, task) = detached();
        // A waker that is dropped elsewhere need not ask home.
        task.state.set_registered();
        let waker = elsewhere(&task, State::release_elsewhere);
        task.run();
        waker.join().unwrap();
        drain(&core);
        task.assert_gone();
    });
}

/// An ended task's last references are dropped on two threads: one of them frees it, after the other.
///
/// Fails under: `local-task-last-acquire`.
#[test]
fn local_task_freed_once() {
    model(|| {
        let core = Core::new();
        let task = Task::new(&core, true);
        task.clone_at_home();
        task.run();
        let waker = elsewhere(&task, State::release_elsewhere);
        task.touch();
        assert_eq!(take(&task), Some(OUTCOME));
        waker.join().unwrap();
        task.assert_gone();
    });
}

/// A task ends, and its executor closes and is freed, while another thread wakes it: the core stays until the item has come.
///
/// Fails under: `local-task-await-item`.
#[test]
fn local_task_end_awaits_its_item() {
    model(|| {
        let (core, task) = detached();
        let waker = elsewhere(&task, |state| state.wake_elsewhere(true));
        task.run();
        core.free();
        waker.join().unwrap();
        task.assert_gone();
    });
}

/// The handle is dropped elsewhere while a waker wakes: one item, and the future is dropped at home, once.
#[test]
fn local_task_cancelled_elsewhere() {
    model(|| {
        let core = Core::new();
        let task = pending(&core, 1);
        let waker = elsewhere(&task, |state| state.wake_elsewhere(true));
        let handle = elsewhere(&task, |state| state.drop_handle_elsewhere(false));
        drain(&core);
        waker.join().unwrap();
        handle.join().unwrap();
        drain(&core);
        task.assert_gone();
    });
}

/// A handle goes elsewhere while the task ends, and lets it run on or cancels it: the outcome is dropped once, by one of the two.
///
/// Fails under: `local-task-detached`.
#[test]
fn local_task_let_go_at_the_end() {
    for detach in [true, false] {
        model(move || {
            let core = Core::new();
            let task = Task::new(&core, true);
            let handle = {
                let task = task.clone();
                thread::spawn(move || match task.touch().drop_handle_elsewhere(detach) {
                    Step::Ended => drop(take(&task)),
                    step => task.follow(step, false),
                })
            };
            task.run();
            handle.join().unwrap();
            core.free();
            task.assert_gone();
        });
    }
}

/// A task is cancelled elsewhere, and its end is waited for there, while it ends by itself: there is one end, and an outcome if
/// it came first.
#[test]
fn local_task_cancelled_and_waited_for() {
    model(|| {
        let core = Core::new();
        let task = Task::new(&core, true);
        let handle = {
            let task = task.clone();
            thread::spawn(move || {
                let step = task.touch().cancel_elsewhere();
                task.follow(step, false);
                join(&task, 1)
            })
        };
        task.run();
        let outcome = handle.join().unwrap();
        assert!(outcome.is_none_or(|outcome| outcome == OUTCOME));
        core.free();
        task.assert_gone();
    });
}

/// A task polls its own handle while another thread, to which it has lent its waker, wakes it.
///
/// Fails under: `local-task-lent-waker`.
#[test]
fn local_task_lent_waker() {
    model(|| {
        let core = Core::new();
        let task = Task::new(&core, false);
        // SAFETY: at home, with the item's reference.
        assert!(unsafe { task.touch().start() });
        let other = elsewhere(&task, |state| state.wake_elsewhere(false));
        // SAFETY: the handle, at home.
        let joined = unsafe { task.touch().join(Waker::noop(), true) };
        assert!(matches!(joined, Joined::Pending(None)));
        other.join().unwrap();
        // SAFETY: at home, with the poll's reference.
        assert_eq!(unsafe { task.state.pend() }, Pended::Wait);
        assert!(drain(&core), "it was woken");
        task.detach_at_home();
        drain(&core);
        task.assert_gone();
    });
}
