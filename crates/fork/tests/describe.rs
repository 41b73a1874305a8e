//! The `Debug` output of an executor about a scope that does not end.

use std::future::poll_fn;
use std::sync::Mutex;
use std::task::{Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use terrace_executor::{Builder, Executor, Worker};
use terrace_fork::scope;
use terrace_testing::watchdog;

/// How long a test waits for something that takes microseconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where children wait for one another.
#[derive(Default)]
struct Gate {
    open: bool,
    waiting: Vec<Waker>,
}

async fn pass(gate: &Mutex<Gate>) {
    poll_fn(|context| {
        let mut gate = gate.lock().expect("no thread panics");
        if gate.open {
            return Poll::Ready(());
        }
        gate.waiting.push(context.waker().clone());
        Poll::Pending
    })
    .await;
}

fn open(gate: &Mutex<Gate>) {
    let waiting = {
        let mut gate = gate.lock().expect("no thread panics");
        gate.open = true;
        std::mem::take(&mut gate.waiting)
    };
    waiting.into_iter().for_each(Waker::wake);
}

/// Opens gates when dropped, so that a test that fails does not wait for its scope.
struct Opens<'g>(&'g [Mutex<Gate>]);

impl Drop for Opens<'_> {
    fn drop(&mut self) {
        self.0.iter().for_each(open);
    }
}

/// Waits until the executor is described like this.
#[track_caller]
fn is_described(executor: &Executor<'static>, scopes: &str) {
    let start = Instant::now();
    loop {
        let text = format!("{executor:?}");
        if text.contains(scopes) {
            return;
        }
        assert!(start.elapsed() < PATIENCE, "{scopes} is not in {text}");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn children_that_wait_are_counted() {
    let _watchdog = watchdog();
    for workers in [0, 1, 2] {
        let executor = &Builder::new().workers(workers).build();
        let gates = [(); 2].map(|()| Mutex::<Gate>::default());
        let [first, second] = &gates;
        thread::scope(|threads| {
            let opens = Opens(&gates);
            threads.spawn(|| {
                scope(executor, |s| {
                    for _ in 0..3 {
                        s.spawn(pass(first));
                    }
                    s.spawn(pass(second));
                });
            });
            let waits = |pending| {
                format!("scopes: [Scope {{ pending: {pending}, queued: 0, waiter_asleep: true, ")
            };
            is_described(executor, &waits(4));
            open(first);
            is_described(executor, &waits(1));
            drop(opens);
        });
        is_described(executor, "scopes: []");
    }
}

#[test]
fn a_join_is_described_by_its_thread() {
    let _watchdog = watchdog();
    let executor = Builder::new().workers(1).build();
    let described = |_: &Worker| format!("{executor:?}");
    let ((), text) = executor.with_worker(|worker| worker.join(|_| (), described));
    let join = "joins: [Join { seat: 0, by: \"Guest\", offer: ";
    assert!(text.contains(join), "{text}");
    let text = format!("{executor:?}");
    assert!(text.contains("joins: []"), "{text}");
}
