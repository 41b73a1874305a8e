//! Only its own thread polls and drops a future that is bound to it. That holds after a remote wake, cancellation or
//! await, and after another thread drops the last waker.

use std::mem;
use std::sync::mpsc::channel;
use std::task::Waker;
use std::thread;

use futures_lite::future::{block_on, yield_now};
use terrace_local::{LocalExecutor, Task};
use terrace_testing::{Homebody, WakerSlot, on_own_thread, watchdog};

/// A task with a future and a captured value that check their thread; waits for one wake.
fn homebody(executor: &LocalExecutor<'_>) -> (Waker, Task<u32>) {
    let slot = WakerSlot::default();
    let task = executor.spawn({
        let (slot, home) = (slot.clone(), Homebody::new());
        async move {
            home.check();
            slot.pause().await;
            home.check();
            7
        }
    });
    assert!(executor.try_tick());
    (slot.waker(), task)
}

/// Runs `f` on another thread, to its end.
fn remotely<T: Send>(f: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let thread = scope.spawn(f);
        thread.join().expect("nothing checks its thread here")
    })
}

#[test]
fn woken_remotely() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let (waker, mut task) = homebody(&executor);
    remotely(|| waker.wake());
    assert!(!task.is_finished());
    assert!(executor.try_tick());
    assert_eq!(task.try_take(), Some(7));
}

#[test]
fn cancelled_remotely() {
    let executor = LocalExecutor::new();
    let (waker, task) = homebody(&executor);
    remotely(move || drop(task));
    assert!(executor.try_tick(), "the future is dropped here");
    assert!(executor.is_empty());
    drop(waker);
    // Another thread cancels it and waits; this one drops the future.
    on_own_thread(|| {
        let executor = LocalExecutor::new();
        let (_waker, task) = homebody(&executor);
        thread::scope(|scope| {
            let (send, cancelled) = channel();
            scope.spawn(move || {
                let ended = block_on(task.cancel());
                send.send(ended).expect("is awaited");
            });
            loop {
                executor.try_tick();
                if let Ok(ended) = cancelled.try_recv() {
                    assert_eq!(ended, None);
                    break;
                }
                thread::yield_now();
            }
        });
    });
}

#[test]
fn awaited_remotely() {
    on_own_thread(|| {
        let executor = LocalExecutor::new();
        let (waker, task) = homebody(&executor);
        thread::scope(|scope| {
            let awaiter = scope.spawn(move || block_on(task));
            waker.wake();
            while !awaiter.is_finished() {
                executor.try_tick();
                thread::yield_now();
            }
            assert_eq!(awaiter.join().expect("awaits quietly"), 7);
        });
    });
}

/// The last reference to a detached task is a waker, which another thread drops: the executor drops the future on its
/// own thread. (A droppable executor keeps a reference of its own until then.)
#[test]
fn last_waker_dropped_remotely() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let (waker, task) = homebody(&executor);
    task.detach();
    remotely(move || drop(waker));
    assert!(!executor.is_empty());
    drop(executor);

    let executor: &'static terrace_local::StaticLocalExecutor = Box::leak(Box::default());
    let slot = WakerSlot::default();
    let (send, dropped) = channel();
    struct Note(std::sync::mpsc::Sender<thread::ThreadId>);
    impl Drop for Note {
        fn drop(&mut self) {
            let id = thread::current().id();
            self.0.send(id).expect("the test listens");
        }
    }
    executor
        .spawn({
            let (slot, home, note) = (slot.clone(), Homebody::new(), Note(send));
            async move {
                slot.pause().await;
                drop((home, note));
            }
        })
        .detach();
    assert!(executor.try_tick());
    let waker = slot.waker();
    remotely(move || drop(waker));
    assert!(dropped.try_recv().is_err());
    assert!(executor.try_tick(), "closed, and due to be dropped");
    assert_eq!(dropped.try_recv(), Ok(thread::current().id()));
}

/// The owner's thread also drops the output of a detached task, or of one whose handle is gone.
#[test]
fn outputs_that_no_handle_takes() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    executor.spawn(async { Homebody::new() }).detach();
    let cancelled = executor.spawn(async {
        yield_now().await;
        Homebody::new()
    });
    while executor.try_tick() {}
    assert!(cancelled.is_finished());
    drop(cancelled);
}

/// The thread ends without dropping the executor: its tasks are leaked, and remote wakes do nothing.
#[test]
fn thread_ends_before_the_wake() {
    let _watchdog = watchdog();
    let (waker, task) = remotely(|| {
        let executor = LocalExecutor::new();
        let (waker, task) = homebody(&executor);
        mem::forget(executor);
        (waker, task)
    });
    waker.wake_by_ref();
    assert!(!task.is_finished());
    drop(waker);
    drop(task);
}

/// A thread drops its executor in its normal course: the future goes with it, even if another thread has its waker.
#[test]
fn thread_drops_its_executor() {
    let _watchdog = watchdog();
    let (waker, task) = remotely(|| {
        let executor = LocalExecutor::new();
        homebody(&executor)
    });
    assert!(task.is_finished());
    waker.wake();
    assert_eq!(block_on(task.fallible()), None);
}
