//! Polls that are under way while their executor is dropped: what they have spawned is neither dropped nor lost before they end.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use terrace_executor::{Builder, Spawner, Task, block_on};
use terrace_testing::{in_own_process, on_own_thread, watchdog};

/// Waits for another thread, which computes.
fn wait_for(flag: &AtomicBool) {
    while !flag.load(Ordering::Acquire) {
        thread::sleep(Duration::from_micros(100));
    }
}

/// Lets the wait that polls it run jobs of pools without workers, which it does between two polls.
fn lets_others_run(times: u32) -> impl Future<Output = ()> {
    let mut left = times;
    poll_fn(move |context| {
        if left == 0 {
            return Poll::Ready(());
        }
        left -= 1;
        context.waker().wake_by_ref();
        Poll::Pending
    })
}

/// Whether the task has not been cancelled: it is done, or still waits.
fn is_kept(task: Task<u32>) -> bool {
    let mut task = Box::pin(task.fallible());
    let polled = Pin::new(&mut task).poll(&mut Context::from_waker(Waker::noop()));
    !matches!(polled, Poll::Ready(None))
}

/// A worker is in a poll, and its executor, which has lost its last worker otherwise, is being dropped. A thread that waits
/// finds a child of that poll in the queue: it must not drop it, as the parent may be about to look at it.
#[test]
fn a_waiting_thread_drops_no_child_of_a_poll_under_way() {
    let _watchdog = watchdog();
    let executor = Builder::new().workers(1).build();
    let spawner = executor.spawner();
    let [begun, go, spawned, looked] = [(); 4].map(|()| Arc::new(AtomicBool::new(false)));
    let (kept, dropped) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let parent = {
        let flags = [&begun, &go, &spawned, &looked].map(Arc::clone);
        let counts = [&kept, &dropped].map(Arc::clone);
        async move {
            let [begun, go, spawned, looked] = flags;
            begun.store(true, Ordering::Release);
            wait_for(&go);
            let children: Vec<_> = (0..8).map(|n| spawner.spawn(async move { n })).collect();
            spawned.store(true, Ordering::Release);
            wait_for(&looked);
            for child in children {
                counts[usize::from(!is_kept(child))].fetch_add(1, Ordering::Relaxed);
            }
        }
    };
    executor.spawn(parent).detach();
    wait_for(&begun);
    executor.set_workers(0).unwrap();
    let end = thread::spawn(move || drop(executor));
    // Until the drop has begun, most likely. Should the waiter be earlier, it runs the children, which is as good.
    thread::sleep(Duration::from_millis(20));
    go.store(true, Ordering::Release);
    on_own_thread(move || {
        wait_for(&spawned);
        block_on(lets_others_run(100));
        looked.store(true, Ordering::Release);
    });
    end.join().unwrap();
    let ends = [&kept, &dropped].map(|count| count.load(Ordering::Relaxed));
    assert_eq!(ends, [8, 0], "children kept, and dropped under the poll");
}

/// The poll that a waiting thread is in waits for a task of the same executor, which is gone: no thread but this one can run that task.
#[test]
fn a_wait_inside_of_such_a_poll_runs_its_task() {
    // Else a thread that waits in another test may run the parent.
    in_own_process("a_wait_inside_of_such_a_poll_runs_its_task", || {
        let executor = Builder::new().workers(0).build();
        let (spawner, result) = (executor.spawner(), Arc::new(AtomicU32::new(0)));
        let (own, sum) = (Arc::new(executor), Arc::clone(&result));
        let last = Arc::clone(&own);
        let parent = async move {
            drop(last);
            let child = spawner.spawn(async { 42 });
            sum.store(block_on(child), Ordering::Relaxed);
        };
        let mut parent = Some(own.spawn(parent));
        drop(own);
        block_on(lets_others_run(10));
        drop(parent.take());
        assert_eq!(result.load(Ordering::Relaxed), 42);
    });
}

/// A thread waits in a poll for a task that lies behind a worker. Then the executor is dropped: its worker ends, and leaves the task to
/// that thread, which sleeps already and did not drive the executor while there was a worker. The worker may itself wait for that thread.
#[test]
fn a_wait_inside_of_such_a_poll_learns_that_the_workers_are_gone() {
    let _watchdog = watchdog();
    for (through_a_peer, frees_the_worker) in
        [(false, false), (true, false), (false, true), (true, true)]
    {
        let executor = Builder::new().workers(0).build();
        let peer = Builder::new().workers(1).build();
        let [(begins, begun), (blocks, blocked), (release, released)] =
            [(); 3].map(|()| channel::<()>());
        let (give, given) = channel();
        let (other, releases) = (peer.spawner(), release.clone());
        let parent = executor.spawn(async move {
            begins.send(()).unwrap();
            let child: Task<u32> = given.recv().unwrap();
            let value = if through_a_peer {
                block_on(other.spawn(child))
            } else {
                block_on(child)
            };
            if frees_the_worker {
                releases.send(()).unwrap();
            }
            value
        });
        let waiter = thread::spawn(move || block_on(parent));
        begun.recv().unwrap();
        // The waiter is in the poll. From here on it is the worker that runs the tasks of the executor.
        executor.set_workers(1).unwrap();
        let blocker = async move {
            blocks.send(()).unwrap();
            released.recv().unwrap();
        };
        executor.spawn(blocker).detach();
        blocked.recv().unwrap();
        give.send(executor.spawn(async { 42 })).unwrap();
        // Until the waiter sleeps, and then until the worker was asked to end, most likely. Else the test is about an easier case.
        thread::sleep(Duration::from_millis(20));
        let end = thread::spawn(move || drop(executor));
        thread::sleep(Duration::from_millis(20));
        if !frees_the_worker {
            release.send(()).unwrap();
        }
        end.join().unwrap();
        assert_eq!(waiter.join().unwrap(), 42);
    }
}

/// Tasks wait for each other in a chain, while their executor is being dropped. It starts no spares any more, so their waits nest in one
/// another on the one thread that is left.
#[test]
fn waits_inside_of_such_polls_nest_as_deep_as_they_come() {
    fn nest(spawner: Spawner, depth: usize) -> usize {
        if depth == 0 {
            return 0;
        }
        let own = spawner.clone();
        1 + block_on(spawner.spawn(async move { nest(own, depth - 1) }))
    }
    let _watchdog = watchdog();
    let executor = Builder::new().workers(1).build();
    let (spawner, (begins, begun)) = (executor.spawner(), channel());
    let chain = executor.spawn(async move {
        begins.send(()).unwrap();
        // Until the drop has begun, most likely. Else spares help.
        thread::sleep(Duration::from_millis(50));
        nest(spawner, 40)
    });
    begun.recv().unwrap();
    drop(executor);
    assert_eq!(block_on(chain), 40);
}

/// A task takes the executor's last reference, spawns onto the executor, lets the reference go and awaits its children, all in one
/// poll. Waiting threads run such tasks, and look for others at the same time.
#[test]
fn the_last_reference_goes_in_a_poll_that_awaits_its_children() {
    const ROUNDS: usize = 3_000;
    let _watchdog = watchdog();
    let cancelled = Arc::new(AtomicU32::new(0));
    let stop = Arc::new(AtomicBool::new(false));
    let waiters = [(); 3].map(|()| {
        let stop = Arc::clone(&stop);
        thread::spawn(move || {
            while !stop.load(Ordering::Acquire) {
                block_on(lets_others_run(100));
            }
        })
    });
    for _ in 0..ROUNDS {
        let executor = Arc::new(Builder::new().workers(0).build());
        for _ in 0..3 {
            let (own, cancelled) = (Arc::downgrade(&executor), Arc::clone(&cancelled));
            let parent = async move {
                let Some(own) = own.upgrade() else { return };
                let children: Vec<_> = (0..8).map(|n| own.spawn(async move { n })).collect();
                drop(own);
                for child in children {
                    if child.fallible().await.is_none() {
                        cancelled.fetch_add(1, Ordering::Relaxed);
                    }
                }
            };
            executor.spawn(parent).detach();
        }
    }
    stop.store(true, Ordering::Release);
    for waiter in waiters {
        waiter.join().unwrap();
    }
    assert_eq!(
        cancelled.load(Ordering::Relaxed),
        0,
        "children cancelled under their parent"
    );
}
