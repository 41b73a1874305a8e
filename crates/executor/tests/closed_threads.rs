//! A waker reaches a waiting thread that has closed, is about to end, or sleeps in another library's event loop.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::task::Poll;
use std::thread;
use std::time::Duration;

use terrace_executor::scope::{OpenScope, ScopeKind, To};
use terrace_executor::{Builder, ThreadExecutor, block_on};
use terrace_testing::{completed_elsewhere, on_own_thread};
use terrace_thread::{Notify, ThreadSpawner};

/// A scope with one child that another thread completes.
fn scope_completed_remotely(queues: &[&terrace_executor::ThreadQueue]) {
    let executor = Builder::new().workers(1).build();
    let scope = OpenScope::open(&executor, ScopeKind::of::<()>());
    // SAFETY: the child borrows nothing, and `wait` below waits for the scope.
    unsafe { scope.handle().send(To::Owner, completed_elsewhere()) };
    // SAFETY: the child borrows nothing, and `wait` below waits for the scope.
    unsafe { scope.handle().spawn(completed_elsewhere()) };
    for queue in queues {
        // SAFETY: the child borrows nothing, and `wait` below waits for the scope.
        unsafe { scope.handle().spawn_on(queue, completed_elsewhere()) };
    }
    assert!(scope.wait(queues).is_none());
}

/// After a thread has closed, wakers still reach its waits, also through objects that it made
/// before.
#[test]
fn waits_after_a_close() {
    on_own_thread(|| {
        // The kept waker of `block_on`, and an executor of the thread, hold the thread's notifier.
        block_on(completed_elsewhere());
        let executor = ThreadExecutor::new();
        let old = ThreadSpawner::current();
        for _ in 0..3 {
            terrace_thread::close();
            block_on(completed_elsewhere());
            scope_completed_remotely(&[executor.queue()]);
        }
        assert_eq!(block_on(old.spawn(async { 1 }).fallible()), None, "closed");
        let new = ThreadSpawner::current();
        let task = thread::spawn(move || new.spawn(completed_elsewhere()));
        block_on(task.join().unwrap());
    });
}

/// In a wait, the thread's core may go: the wakers of the wait still reach the thread.
#[test]
fn a_close_inside_a_wait() {
    on_own_thread(|| {
        block_on(async {
            let mut future = pin!(completed_elsewhere());
            poll_fn(|context| {
                let _pending = future.as_mut().poll(context);
                Poll::Ready(())
            })
            .await;
            terrace_thread::close();
            future.await;
        });
    });
}

/// The same before the scope's first child, which another thread spawns.
#[test]
fn a_close_inside_a_scope_without_children() {
    on_own_thread(|| {
        let executor = Builder::new().workers(1).build();
        for _ in 0..3 {
            let scope = OpenScope::open(&executor, ScopeKind::of::<()>());
            terrace_thread::close();
            let handle = scope.handle();
            thread::scope(|threads| {
                threads.spawn(|| {
                    // SAFETY: the child borrows nothing, and `wait` below waits for the scope.
                    unsafe { handle.send(To::Owner, completed_elsewhere()) };
                });
            });
            terrace_thread::close();
            assert!(scope.wait(&[]).is_none());
            terrace_thread::close();
        }
    });
}

/// The children that are pinned to the thread of an open scope need its core: a close in the scope does nothing.
#[test]
fn a_close_inside_a_scope() {
    on_own_thread(|| {
        let executor = Builder::new().workers(1).build();
        let scope = OpenScope::open(&executor, ScopeKind::of::<()>());
        terrace_thread::close();
        // SAFETY: the child borrows nothing, and `wait` below waits for the scope.
        unsafe { scope.handle().send(To::Owner, completed_elsewhere()) };
        terrace_thread::close();
        assert!(scope.wait(&[]).is_none());
        // Closed now: the thread's tasks go.
        let task = terrace_thread::spawn_local(async {});
        terrace_thread::close();
        assert_eq!(block_on(task.fallible()), None);
    });
}

/// Runs a closure in the destructors of a thread's locals.
struct AtEnd(RefCell<Vec<Box<dyn FnOnce()>>>);

impl Drop for AtEnd {
    fn drop(&mut self) {
        for last in self.0.take() {
            last();
        }
    }
}

thread_local! {
    static AT_END: AtEnd = const { AtEnd(RefCell::new(Vec::new())) };
}

fn at_end(last: impl FnOnce() + 'static) {
    AT_END.with(|end| end.0.borrow_mut().push(Box::new(last)));
}

/// A thread-local's destructor may wait, before or after the destructors of this library, and on objects made before.
// Windows starts no thread while a destructor of a thread-local waits for one.
#[cfg(not(windows))]
#[test]
fn waits_of_a_thread_local_destructor() {
    for after in [false, true] {
        on_own_thread(move || {
            let (send, ended) = channel();
            thread::spawn(move || {
                if after {
                    // The thread uses it first and so drops it last.
                    AT_END.with(|_| ());
                }
                block_on(completed_elsewhere());
                let executor = ThreadExecutor::new();
                let spawner = ThreadSpawner::current();
                at_end(move || {
                    block_on(completed_elsewhere());
                    scope_completed_remotely(&[executor.queue()]);
                    spawner.notify();
                    block_on(completed_elsewhere());
                    scope_completed_remotely(&[executor.queue()]);
                    send.send(()).unwrap();
                });
            })
            .join()
            .unwrap();
            ended.recv().unwrap();
        });
    }
}

/// The same on a worker, whose seat is gone by then.
// Windows starts no thread while a destructor of a thread-local waits for one.
#[cfg(not(windows))]
#[test]
fn waits_of_a_workers_thread_local_destructor() {
    terrace_testing::in_own_process("waits_of_a_workers_thread_local_destructor", || {
        for pinned in [false, true] {
            let (send, ended) = channel();
            let executor = Builder::new().workers(2).build();
            block_on(executor.spawn(async move {
                if pinned {
                    // This gives the thread a core to close.
                    terrace_thread::spawn_local(async {}).detach();
                }
                block_on(completed_elsewhere());
                let on_thread = ThreadExecutor::new();
                at_end(move || {
                    block_on(completed_elsewhere());
                    scope_completed_remotely(&[on_thread.queue()]);
                    send.send(()).unwrap();
                });
            }));
            drop(executor);
            ended.recv().unwrap();
        }
    });
}

/// A task spawned onto an ending thread is dropped with the thread, or at once. A thread that awaits the task learns of
/// it.
// Windows starts no thread while a destructor of a thread-local waits for one.
#[cfg(not(windows))]
#[test]
fn spawns_onto_an_ending_thread_are_cancelled() {
    for first in [false, true] {
        on_own_thread(move || {
            let (send, tasks) = channel();
            let executor = Builder::new()
                .workers(1)
                .on_thread_start(move || {
                    if first {
                        AT_END.with(|_| ());
                    }
                })
                .build();
            block_on(executor.spawn(async move {
                at_end(move || {
                    let here = ThreadSpawner::current();
                    let other = thread::spawn(move || here.spawn(async {}));
                    send.send(other.join().unwrap()).unwrap();
                    send.send(ThreadSpawner::current().spawn(async {})).unwrap();
                });
            }));
            drop(executor);
            for task in tasks {
                assert_eq!(block_on(task.fallible()), None);
            }
        });
    }
}

/// On any other thread, after all thread-locals of this library are gone.
#[test]
fn spawns_onto_an_ending_thread_without_a_seat_are_cancelled() {
    on_own_thread(|| {
        let (send, tasks) = channel();
        thread::spawn(move || {
            at_end(move || {
                send.send(ThreadSpawner::current().spawn(async {})).unwrap();
            });
            terrace_thread::spawn_local(async {}).detach();
        })
        .join()
        .unwrap();
        assert_eq!(block_on(tasks.recv().unwrap().fallible()), None);
    });
}

/// Counts its notifications.
#[derive(Default)]
struct Bell(AtomicUsize);

impl Notify for Bell {
    fn notify(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A thread that also sleeps in another library's event loop waits here as any thread does; wakers also call its hook.
#[test]
fn waits_with_a_hook() {
    on_own_thread(|| {
        let bell = Arc::new(Bell::default());
        terrace_thread::set_notify(bell.clone());
        block_on(completed_elsewhere());
        let executor = ThreadExecutor::new();
        scope_completed_remotely(&[executor.queue()]);
        let idle = Builder::new().workers(0).build();
        let task = idle.spawn(async { 1 });
        assert_eq!(block_on(task), 1);
        terrace_thread::notifier().notify();
        terrace_thread::park();
        assert!(bell.0.load(Ordering::Relaxed) >= 3);
        terrace_thread::close();
        block_on(completed_elsewhere());
        scope_completed_remotely(&[executor.queue()]);
    });
}

/// A worker may have a hook beside its own way to be woken.
#[test]
fn a_worker_with_a_hook() {
    on_own_thread(|| {
        let executor = Builder::new().workers(1).build();
        let bell = Arc::new(Bell::default());
        let theirs = bell.clone();
        block_on(executor.spawn(async move {
            terrace_thread::set_notify(theirs);
            block_on(completed_elsewhere());
            scope_completed_remotely(&[]);
        }));
        assert!(bell.0.load(Ordering::Relaxed) >= 2);
        drop(executor);
    });
}

/// A panic of the hook does not come out of a wake; the thread is woken before it.
#[test]
fn a_hook_that_panics() {
    struct Bomb;
    impl Notify for Bomb {
        fn notify(&self) {
            std::panic::resume_unwind(Box::new("planned"));
        }
    }
    on_own_thread(|| {
        terrace_thread::set_notify(Arc::new(Bomb));
        block_on(completed_elsewhere());
        scope_completed_remotely(&[]);
    });
}

/// A publisher to a pool without workers notifies a waiting thread under the lock of an event. It does not call the
/// thread's hook there, which may spawn.
#[test]
fn a_hook_that_spawns() {
    struct Spawns(terrace_executor::Executor<'static>);
    impl Notify for Spawns {
        fn notify(&self) {
            self.0.spawn(async {}).detach();
        }
    }
    on_own_thread(|| {
        let hook = Arc::new(Spawns(Builder::new().workers(0).build()));
        terrace_thread::set_notify(hook.clone());
        let theirs = hook.clone();
        let spawning = thread::spawn(move || {
            for _ in 0..100 {
                theirs.0.spawn(async {}).detach();
                thread::sleep(Duration::from_micros(200));
            }
        });
        block_on(completed_elsewhere());
        spawning.join().unwrap();
        while hook.0.try_tick() {}
    });
}

/// No waker reaches a worker in this park, so the call panics.
#[test]
fn park_on_a_worker_is_refused() {
    on_own_thread(|| {
        let executor = Builder::new().workers(1).build();
        let task =
            executor.spawn(async { std::panic::catch_unwind(terrace_thread::park).is_err() });
        assert!(block_on(task));
    });
}
