//! An executor with nothing to do costs nothing. A process of its own: other tests would show in its counts.
#![cfg(all(target_os = "linux", not(miri)))]

use std::fs;
use std::future::{Future, pending};
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use futures_lite::future::{block_on, or};
use terrace_local::LocalExecutor;
use terrace_testing::watchdog;

/// How long the test watches it.
const WATCH: Duration = Duration::from_secs(2);

/// CPU time in ticks, and context switches of both sorts, of one thread.
fn spent(task: &Path) -> (u64, u64) {
    let stat = fs::read_to_string(task.join("stat")).expect("Linux has it");
    let fields = stat.rsplit_once(')').expect("the name is in brackets").1;
    let ticks = fields.split_whitespace().skip(11).take(2);
    let status = fs::read_to_string(task.join("status")).expect("Linux has it");
    let switches = status
        .lines()
        .filter_map(|line| line.split_once("ctxt_switches:"))
        .map(|(_, count)| count.trim().parse::<u64>().expect("a number"));
    (
        ticks.map(|t| t.parse::<u64>().expect("a number")).sum(),
        switches.sum(),
    )
}

/// Two `run`s side by side, tasks that wait, and nothing happens: no CPU time, no context switch.
#[test]
fn an_idle_executor_does_nothing() {
    let _watchdog = watchdog();
    let (send, receive) = channel();
    let (stop, stopped) = channel::<()>();
    let runner = thread::spawn(move || {
        let executor = LocalExecutor::new();
        let tasks: Vec<_> = (0..10).map(|_| executor.spawn(pending::<()>())).collect();
        let spawner = executor.spawner();
        let me = fs::read_link("/proc/thread-self").expect("Linux has it");
        send.send((PathBuf::from("/proc").join(me), spawner))
            .expect("the test listens");
        let wait = async {
            let end = executor.spawn(pending::<()>());
            or(executor.run(pending()), executor.run(end)).await;
        };
        // The test ends when another thread cancels this future.
        let (sender, ended) = futures_channel();
        let bell = thread::spawn(move || {
            let _end = stopped.recv();
            sender.wake();
        });
        block_on(or(wait, ended));
        bell.join().expect("rang");
        drop(tasks);
    });
    let (task, spawner) = receive.recv().expect("the runner is up");
    // It is asleep when a task that was spawned from here has run and its effects are over.
    let state = |task: &Path| fs::read_to_string(task.join("stat")).expect("Linux has it");
    let asleep = |task: &Path| {
        state(task)
            .rsplit_once(')')
            .is_some_and(|(_, s)| s.trim().starts_with('S'))
    };
    let (done, ran) = channel();
    spawner
        .spawn(async move { done.send(()).expect("waited for") })
        .detach();
    ran.recv().expect("it ran");
    while !asleep(&task) {
        thread::yield_now();
    }
    thread::sleep(Duration::from_millis(50));
    let before = spent(&task);
    thread::sleep(WATCH);
    assert_eq!(spent(&task), before, "CPU ticks and context switches");
    drop(stop);
    runner.join().expect("ended");
}

/// A future that is done when its other half is woken.
fn futures_channel() -> (std::task::Waker, impl Future<Output = ()>) {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, Mutex};
    use std::task::{Poll, Wake, Waker};

    #[derive(Default)]
    struct Shared {
        rung: AtomicBool,
        waiter: Mutex<Option<Waker>>,
    }
    impl Wake for Shared {
        fn wake(self: Arc<Self>) {
            self.rung.store(true, Ordering::Release);
            let waiter = self.waiter.lock().expect("no holder panics").take();
            if let Some(waiter) = waiter {
                waiter.wake();
            }
        }
    }
    let shared = Arc::<Shared>::default();
    let bell = Waker::from(shared.clone());
    let future = std::future::poll_fn(move |context| {
        *shared.waiter.lock().expect("no holder panics") = Some(context.waker().clone());
        match shared.rung.load(Ordering::Acquire) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    });
    (bell, future)
}
