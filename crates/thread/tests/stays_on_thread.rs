//! Only its own thread makes, polls and drops a pinned future. That holds whichever thread spawns,
//! wakes, cancels or awaits it, and whenever its thread ends.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::task::Waker;
use std::thread;

use common::{drive_until, send_waker_and_hang, send_waker_and_wait};
use futures_lite::future::block_on;
use terrace_testing::{Drops, Homebody, on_own_thread};
use terrace_thread::{Task, ThreadId, ThreadSpawner};

/// A thread that runs its pinned tasks until told to end.
struct Target {
    spawner: ThreadSpawner,
    stop: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Target {
    fn start() -> Self {
        let (send, spawners) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let thread = thread::spawn({
            let stop = stop.clone();
            move || {
                send.send(ThreadSpawner::current())
                    .expect("the test listens");
                drive_until(|| stop.load(Ordering::Acquire));
            }
        });
        Self {
            spawner: spawners.recv().expect("the thread sends it"),
            stop,
            thread: Some(thread),
        }
    }

    /// Ends the thread and waits for that.
    fn end(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.spawner.notify();
        if let Some(thread) = self.thread.take() {
            thread
                .join()
                .expect("its tasks' panics stay in their handles");
        }
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        self.end();
    }
}

/// Spawns a future that is not Send and waits for one wake. Returns its handle and waker.
fn homebody(target: &Target) -> (Task<ThreadId>, Waker) {
    let (send, wakers) = channel();
    let task = target.spawner.spawn_with(move || {
        let home = Homebody::new();
        async move {
            home.check();
            send_waker_and_wait(send).await;
            home.check();
            terrace_thread::id()
        }
    });
    (task, wakers.recv().expect("it is polled"))
}

#[test]
fn woken_and_awaited_remotely() {
    on_own_thread(|| {
        let target = Target::start();
        for _ in 0..100 {
            let (task, waker) = homebody(&target);
            thread::spawn(move || waker.wake()).join().expect("wakes");
            assert_eq!(block_on(task), target.spawner.thread_id());
        }
    });
}

#[test]
fn cancelled_remotely() {
    on_own_thread(|| {
        let target = Target::start();
        for _ in 0..100 {
            let (task, waker) = homebody(&target);
            assert_eq!(block_on(task.cancel()), None);
            waker.wake();
            let (task, waker) = homebody(&target);
            drop(task);
            drop(waker);
        }
    });
}

#[test]
fn the_thread_ends_first() {
    on_own_thread(|| {
        for _ in 0..100 {
            let mut target = Target::start();
            let (task, waker) = homebody(&target);
            let (detached, other) = homebody(&target);
            detached.detach();
            target.end();
            assert!(task.is_finished(), "dropped by its thread, at its end");
            waker.wake();
            other.wake_by_ref();
            assert_eq!(block_on(task.fallible()), None);
        }
    });
}

/// A wake races with the end of the thread: in either order, the future's own thread drops it.
#[test]
fn wakes_race_with_the_end() {
    on_own_thread(|| {
        for _ in 0..300 {
            let mut target = Target::start();
            let (task, waker) = homebody(&target);
            let waking = thread::spawn(move || waker.wake());
            target.end();
            waking.join().expect("wakes quietly");
            let _output_or_none = block_on(task.fallible());
        }
    });
}

/// A caller that spawns onto an ended thread drops the closure or future itself, and no thread runs it.
#[test]
fn spawned_after_the_end() {
    on_own_thread(|| {
        let mut target = Target::start();
        target.end();
        let drops = Drops::new();
        let counted = drops.value();
        let task = target.spawner.spawn(async move {
            drop(counted);
            unreachable!("nobody runs it")
        });
        assert_eq!(drops.count(), 1);
        assert!(task.is_finished());
        assert_eq!(block_on(task.fallible()), None::<()>);
        let counted = drops.value();
        let task = target.spawner.spawn_with(move || {
            drop(counted);
            std::future::pending::<()>()
        });
        assert_eq!(drops.count(), 2);
        assert_eq!(block_on(task.fallible()), None);
        target.spawner.notify();
    });
}

/// Spawns race with the end: each future is dropped exactly once, run or not.
#[test]
fn spawns_race_with_the_end() {
    on_own_thread(|| {
        for _ in 0..300 {
            let mut target = Target::start();
            let drops = Drops::new();
            let spawner = target.spawner.clone();
            let spawning = thread::spawn({
                let drops = drops.clone();
                move || {
                    for _ in 0..3 {
                        let counted = drops.value();
                        spawner.spawn(async move { drop(counted) }).detach();
                    }
                }
            });
            target.end();
            spawning.join().expect("spawns quietly");
            assert_eq!(drops.count(), 3);
        }
    });
}

/// The maker, the future or its destructor panics on the target: the handle gets the panic, the thread goes on.
#[test]
fn panics_reach_their_handle() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("in the destructor");
        }
    }
    on_own_thread(|| {
        let target = Target::start();
        let makes: [Task<()>; 3] = [
            target
                .spawner
                .spawn_with(|| -> std::future::Ready<()> { panic!("in the closure") }),
            target.spawner.spawn(async { panic!("in the poll") }),
            target.spawner.spawn(async {
                let _bomb = Bomb;
            }),
        ];
        for (task, message) in
            makes
                .into_iter()
                .zip(["in the closure", "in the poll", "in the destructor"])
        {
            let thrown = std::panic::catch_unwind(|| block_on(task)).expect_err("it panicked");
            assert_eq!(thrown.downcast_ref::<&str>(), Some(&message));
        }
        assert_eq!(block_on(target.spawner.spawn(async { 1 })), 1);
        target.spawner.spawn(async { panic!("detached") }).detach();
        assert_eq!(block_on(target.spawner.spawn(async { 2 })), 2);
    });
}

/// `close` drops the tasks at once; the thread may spawn anew afterwards. In the middle of a task it does nothing.
#[test]
fn closed_before_the_end() {
    on_own_thread(|| {
        let spawner = ThreadSpawner::current();
        let (send, wakers) = channel();
        let hanging = terrace_thread::spawn_local(send_waker_and_hang(send));
        let closing = terrace_thread::spawn_local(async {
            terrace_thread::close();
            1
        });
        while terrace_thread::tick() {}
        let mut closing = closing;
        assert_eq!(closing.try_take(), Some(1));
        assert!(!hanging.is_finished(), "a close inside a task does nothing");
        terrace_thread::close();
        assert!(hanging.is_finished());
        wakers.recv().expect("it was polled").wake();
        assert!(
            spawner.spawn(async {}).is_finished(),
            "cancelled: that core is closed"
        );
        let mut fresh = terrace_thread::spawn_local(async { 2 });
        assert!(terrace_thread::tick());
        assert_eq!(fresh.try_take(), Some(2));
    });
}

/// Thread-locals hold pinned tasks. Their destructors run before or after the pinned core is gone. They may use every
/// function, and only their own thread drops the tasks.
#[test]
fn used_in_destructors_of_thread_locals() {
    struct Late(Homebody);
    impl Drop for Late {
        fn drop(&mut self) {
            self.0.check();
            let _id = terrace_thread::id();
            let home = Homebody::new();
            terrace_thread::spawn_local(async move { home.check() }).detach();
            while terrace_thread::tick() {}
            let spawner = ThreadSpawner::current();
            drop(spawner.spawn(async {}));
            spawner.notify();
            terrace_thread::with_local_executor(|executor| while executor.try_tick() {});
            terrace_thread::close();
            assert!(!terrace_thread::has_work());
        }
    }
    thread_local! {
        static BEFORE: Late = Late(Homebody::new());
        static AFTER: Late = Late(Homebody::new());
    }
    on_own_thread(|| {
        BEFORE.with(|late| late.0.check());
        terrace_thread::spawn_local(std::future::pending::<()>()).detach();
        terrace_thread::tick();
        AFTER.with(|late| late.0.check());
    });
}
