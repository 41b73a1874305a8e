//! Models of an eager task.

use terrace_local::biased::{HandleEnd, Reference, Side, State, Step};
use terrace_sync::atomic::Ordering;
use terrace_sync::{model, thread};

use crate::fixture::{Core, OUTCOME, Task, drain, on_another_thread, take_at_once};
use crate::lend;

/// An eager child ends in its first poll while another thread makes `step` with a clone of its waker. The cell is freed once, after
/// both.
fn ends_against(registered: bool, step: fn(&State) -> Step) {
    model(move || {
        let core = Core::new();
        let (task, other) = Task::eager(&core, true, |task| {
            if registered {
                task.state.set_registered();
            }
            lend(task);
            on_another_thread(task, step)
        });
        assert_eq!(take_at_once(&task), Some(OUTCOME));
        core.free();
        other.join().unwrap();
        task.assert_gone();
    });
}

/// The other thread uses its clone up by a wake.
///
/// Fails under: `local-eager-remote`.
#[test]
fn local_eager_end_against_wake() {
    ends_against(false, |state| state.wake_remote(Reference::UsedUp));
}

/// The other thread drops its clone, and need not ask the owner. An owner that finds itself alone sees all that the other thread
/// did before.
///
/// Fails under: `local-eager-alone-acquire`.
#[test]
fn local_eager_alone_at_the_end() {
    ends_against(true, State::release_remote);
}

/// An eager child that is done goes to another thread, with its handle. That thread takes the outcome and frees the cell.
#[test]
fn local_eager_outcome_is_taken_elsewhere() {
    model(|| {
        let core = Core::new();
        let (task, ()) = Task::eager(&core, true, |_| ());
        assert!(task.touch().is_fresh());
        let handle = {
            let task = task.clone();
            thread::spawn(move || assert_eq!(take_at_once(&task), Some(OUTCOME)))
        };
        handle.join().unwrap();
        core.free();
        task.assert_gone();
    });
}

/// Another thread wakes an eager child in its first poll, which returns `Pending`: the next poll sees what came before the wake.
///
/// Fails under: `local-task-start-acquire`.
#[test]
fn local_eager_wake_in_the_first_poll() {
    model(|| {
        let core = Core::new();
        let (task, waker) = Task::eager(&core, false, |task| {
            lend(task);
            let task = task.clone();
            thread::spawn(move || {
                task.news.store(1, Ordering::Relaxed);
                let step = task.touch().wake_remote(Reference::UsedUp);
                task.follow(step, Side::Remote);
            })
        });
        drain(&core);
        waker.join().unwrap();
        drain(&core);
        task.assert_seen(1);
        task.detach_local();
        drain(&core);
        task.assert_gone();
    });
}

/// One thread wakes an eager child, in its first poll or after it; another thread cancels it by dropping its handle. The owner
/// drops the future, once.
#[test]
fn local_eager_poll_against_foreign_cancel() {
    model(|| {
        let core = Core::new();
        let (task, waker) = Task::eager(&core, false, |task| {
            lend(task);
            on_another_thread(task, |state| state.wake_remote(Reference::UsedUp))
        });
        let handle = on_another_thread(&task, |state| state.drop_handle_remote(HandleEnd::Cancel));
        drain(&core);
        waker.join().unwrap();
        handle.join().unwrap();
        drain(&core);
        task.assert_gone();
    });
}
