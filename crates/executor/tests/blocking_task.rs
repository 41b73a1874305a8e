//! A task that blocks its worker strands no other task. The other worker runs the tasks in the first one's queue and
//! the task that the first one has just woken. It also runs tasks that other threads spawned and woke.

use std::future::poll_fn;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::Duration;

use terrace_executor::{Builder, block_on};
use terrace_testing::watchdog;

/// For hangs.
const LIMIT: Duration = Duration::from_secs(30);

#[derive(Default)]
struct Gate(Mutex<(bool, Option<Waker>)>);

impl Gate {
    fn open(&self) {
        let waker = {
            let mut state = self.0.lock().unwrap();
            state.0 = true;
            state.1.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }

    async fn pass(&self) {
        poll_fn(|context| {
            let mut state = self.0.lock().unwrap();
            if state.0 {
                return Poll::Ready(());
            }
            state.1 = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    fn has_waiter(&self) -> bool {
        self.0.lock().unwrap().1.is_some()
    }
}

#[test]
fn everything_runnable_is_run_beside_a_blocker() {
    let _watchdog = watchdog();
    let executor = Arc::new(Builder::new().workers(2).build());
    let (done, ended) = channel();
    // Tasks that wait: one is woken by the blocker right before it blocks, one by this thread.
    let gates = [Arc::new(Gate::default()), Arc::new(Gate::default())];
    for (name, gate) in ["woken by the blocker", "woken from outside"]
        .iter()
        .zip(&gates)
    {
        let (gate, done) = (Arc::clone(gate), done.clone());
        let waits = async move {
            gate.pass().await;
            done.send(*name).unwrap();
        };
        executor.spawn(waits).detach();
    }
    while !gates.iter().all(|gate| gate.has_waiter()) {
        std::thread::yield_now();
    }
    let (release, released) = channel::<()>();
    let (blocks, blocked) = channel();
    let (own, gate, sends) = (
        Arc::downgrade(&executor),
        Arc::clone(&gates[0]),
        done.clone(),
    );
    let blocker = async move {
        let executor = own.upgrade().expect("the test waits");
        for _ in 0..20 {
            let sends = sends.clone();
            executor
                .spawn(async move { sends.send("spawned by the blocker").unwrap() })
                .detach();
        }
        drop(executor);
        gate.open();
        blocks.send(()).unwrap();
        released.recv().unwrap();
    };
    let blocker = executor.spawn(blocker);
    blocked.recv_timeout(LIMIT).expect("the blocker runs");
    gates[1].open();
    executor
        .spawn(async move { done.send("spawned from outside").unwrap() })
        .detach();
    let mut seen: Vec<_> = (0..23)
        .map(|_| ended.recv_timeout(LIMIT).expect("run by the other worker"))
        .collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 4, "{seen:?}");
    release.send(()).unwrap();
    block_on(blocker);
}
