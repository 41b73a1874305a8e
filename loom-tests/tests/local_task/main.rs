//! Models of a task of a single-thread executor: its references, its wakes, and its end.
//!
//! The cell is the model's own, with the layer's `State`, mailbox and inbox. It follows each step as `task::local` does. A thread
//! that may use the memory of the cell, or of the core, looks at it. The thread that frees it takes it. So loom fails if the two can
//! meet.

mod eager;
mod fixture;

use std::sync::Arc as Plain;
use std::task::Waker;

use terrace_local::biased::{HandleEnd, Joined, Pended, Reference, Side, State, Step};
use terrace_sync::atomic::Ordering;
use terrace_sync::{Arc, model, thread};

use fixture::{Core, OUTCOME, Task, drain, join, on_another_thread, pending, take};

/// Two wakes by one thread; the second may find the first one's item on its way. The last poll sees all writes before
/// either.
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
                    let step = task.touch().wake_remote(Reference::Kept);
                    task.follow(step, Side::Remote);
                }
                let step = task.touch().release_remote();
                task.follow(step, Side::Remote);
            })
        };
        drain(&core);
        waker.join().unwrap();
        drain(&core);
        task.assert_seen(2);
        task.detach_local();
        drain(&core);
        task.assert_gone();
    });
}

/// A task ends while its handle waits on another thread, with so many wakers one after the other.
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

/// A handle waits on another thread while the task ends: the owner wakes it, and it sees the whole outcome.
///
/// Fails under: `local-task-merge-order`.
#[test]
fn local_task_outcome_is_waited_for() {
    ends_while_waited_for(1);
}

/// The handle changes its waker while the task ends. Only one of the two touches the awaiter at a time, and the end
/// wakes the last waker.
///
/// Fails under: `local-task-join-in-place`.
#[test]
fn local_task_awaiter_is_replaced() {
    ends_while_waited_for(2);
}

/// The owner's thread polls the handle and sends it to another one. The owner's access to the awaiter comes before that
/// thread's, though the owner announced it by a relaxed store.
#[test]
fn local_task_joined_locally() {
    model(|| {
        let core = Core::new();
        let task = Task::new(&core, true);
        // SAFETY: this is the one handle, on the owner's thread.
        let joined = unsafe { task.touch().join(Waker::noop(), Some(task.touch_local())) };
        assert!(matches!(joined, Joined::Pending(_)));
        let handle = {
            let task = task.clone();
            thread::spawn(move || {
                // SAFETY: this is the one handle, on another thread.
                let joined = unsafe { task.touch().join(Waker::noop(), None) };
                match joined {
                    Joined::Ended(_) => drop(take(&task)),
                    Joined::Pending(_) => {
                        match task.touch().drop_handle_remote(HandleEnd::Detach) {
                            Step::Ended => drop(take(&task)),
                            step => task.follow(step, Side::Remote),
                        }
                    }
                }
            })
        };
        task.run();
        handle.join().unwrap();
        core.free();
        task.assert_gone();
    });
}

/// Another thread and the owner drop the last references to a pending task: the owner drops its future.
///
/// Fails under: `local-task-last-remote`.
#[test]
fn local_task_last_reference() {
    model(|| {
        let core = Core::new();
        let task = pending(&core, 1);
        let waker = on_another_thread(&task, State::release_remote);
        task.detach_local();
        drain(&core);
        waker.join().unwrap();
        drain(&core);
        task.assert_gone();
    });
}

/// The same if the owner drops a reference that another thread counted: a waker that the other thread cloned.
#[test]
fn local_task_remote_reference_dropped_locally() {
    model(|| {
        let core = Core::new();
        let task = pending(&core, 1);
        let waker = {
            let task = task.clone();
            thread::spawn(move || {
                task.touch().clone_remote();
                let step = task.touch().release_remote();
                task.follow(step, Side::Remote);
                // The clone goes to the owner's thread.
            })
        };
        task.detach_local();
        waker.join().unwrap();
        let step = task.touch_local().release_local();
        task.follow(step, Side::Local);
        drain(&core);
        task.assert_gone();
    });
}

/// A detached task that ends in its next poll, with one waker.
fn detached() -> (Arc<Core>, Plain<Task>) {
    let core = Core::new();
    let task = Task::new(&core, true);
    task.clone_local();
    task.detach_local();
    (core, task)
}

/// A detached task ends while another thread drops its last waker. If the owner then sees that it has the only reference, it sees
/// all that the other thread did before.
///
/// Fails under: `local-task-alone-acquire`.
#[test]
fn local_task_alone_at_the_end() {
    model(|| {
        let (core, task) = detached();
        // Another thread that drops a waker need not ask the owner.
        task.state.set_registered();
        let waker = on_another_thread(&task, State::release_remote);
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
        task.clone_local();
        task.run();
        let waker = on_another_thread(&task, State::release_remote);
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
        let waker = on_another_thread(&task, |state| state.wake_remote(Reference::UsedUp));
        task.run();
        core.free();
        waker.join().unwrap();
        task.assert_gone();
    });
}

/// One thread drops the handle while another one wakes: there is one item, and the owner drops the future, once.
#[test]
fn local_task_cancelled_remotely() {
    model(|| {
        let core = Core::new();
        let task = pending(&core, 1);
        let waker = on_another_thread(&task, |state| state.wake_remote(Reference::UsedUp));
        let handle = on_another_thread(&task, |state| state.drop_handle_remote(HandleEnd::Cancel));
        drain(&core);
        waker.join().unwrap();
        handle.join().unwrap();
        drain(&core);
        task.assert_gone();
    });
}

/// Another thread detaches the handle, or drops it, while the task ends: one of the two threads drops the outcome, once.
///
/// Fails under: `local-task-detached`.
#[test]
fn local_task_let_go_at_the_end() {
    for end in [HandleEnd::Detach, HandleEnd::Cancel] {
        model(move || {
            let core = Core::new();
            let task = Task::new(&core, true);
            let handle = {
                let task = task.clone();
                thread::spawn(move || match task.touch().drop_handle_remote(end) {
                    Step::Ended => drop(take(&task)),
                    step => task.follow(step, Side::Remote),
                })
            };
            task.run();
            handle.join().unwrap();
            core.free();
            task.assert_gone();
        });
    }
}

/// Another thread cancels the task and waits for its end, while it ends by itself. It ends once, and has an outcome if that end
/// came first.
#[test]
fn local_task_cancelled_and_waited_for() {
    model(|| {
        let core = Core::new();
        let task = Task::new(&core, true);
        let handle = {
            let task = task.clone();
            thread::spawn(move || {
                let step = task.touch().cancel_remote();
                task.follow(step, Side::Remote);
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
        assert!(task.touch_local().start());
        let other = on_another_thread(&task, |state| state.wake_remote(Reference::Kept));
        // SAFETY: this is the one handle, on the owner's thread.
        let joined = unsafe { task.touch().join(Waker::noop(), Some(task.touch_local())) };
        assert!(matches!(joined, Joined::Pending(None)));
        other.join().unwrap();
        assert_eq!(task.touch_local().pend(), Pended::Wait);
        assert!(drain(&core), "it was woken");
        task.detach_local();
        drain(&core);
        task.assert_gone();
    });
}

/// In the first poll of an eager child, another thread clones the waker that the poll lends it, and returns. This is that clone.
fn lend(task: &Plain<Task>) {
    task.touch().clone_remote();
}
