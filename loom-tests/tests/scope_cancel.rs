//! Models of how a panic cancels a scope's children. It races with a first poll that then waits, with a wake by another
//! thread, and with a second panic.

#![cfg(terrace_loom)]

use std::task::{Wake, Waker};

use loom::sync::Notify as LoomNotify;
use terrace_executor::protocol::scope::ScopeCore;
use terrace_executor::protocol::scope::{Mark, Polled, Registered};
use terrace_sync::atomic::{AtomicU32, Ordering};
use terrace_sync::{Arc, light, model, thread};

const OWNER: u64 = 1;
/// The thread id of every child's thread: these models have no thread ids, so each thread wakes the
/// waiter.
const ANYWHERE: u64 = 2;

/// A stand-in for the waiter's parker: keeps one notification.
#[derive(Clone)]
struct Waiter(Arc<LoomNotify>);

type Core = ScopeCore<u32, Waiter>;

/// A core whose body runs, and its waiter.
fn open() -> (Arc<Core>, Waiter) {
    let core = Arc::new(Core::default());
    let waiter = Waiter(Arc::new(LoomNotify::new()));
    // SAFETY: a new core is closed, and no other thread knows it.
    unsafe { core.open(OWNER, waiter.clone()) };
    (core, waiter)
}

fn end_child(core: &Core) {
    if let Some(waiter) = core.child_ended(|| ANYWHERE) {
        light();
        waiter.0.notify();
    }
}

/// Ends the body, waits for the children, and opens the slot again, which writes the fields that
/// children read.
fn close(core: &Core, waiter: &Waiter) {
    core.body_ended();
    while !core.has_ended() {
        core.announce_sleep();
        if !core.has_ended() {
            waiter.0.wait();
        }
        core.end_sleep();
    }
    // SAFETY: the scope has ended, so the core is closed, and only this thread opens it.
    unsafe { core.open(OWNER, Waiter(Arc::new(LoomNotify::new()))) };
    core.body_ended();
}

/// A child that waits until the panic, or the event that it waits for, queues it again.
struct Queue {
    woken: LoomNotify,
    wakes: AtomicU32,
}

struct Queued(std::sync::Arc<Queue>);

impl Wake for Queued {
    fn wake(self: std::sync::Arc<Self>) {
        // Ordering: Release, pairs with the Acquire in `wait`, as a wake in a task's cell does with its next run.
        if self.0.wakes.fetch_add(1, Ordering::Release) == 0 {
            self.0.woken.notify();
        }
    }
}

impl Queue {
    fn wait(&self) {
        // Ordering: Acquire, pairs with the Release in `wake`. A notification of loom's may come
        // without a cause.
        while self.wakes.load(Ordering::Acquire) == 0 {
            self.woken.wait();
        }
    }
}

fn queue() -> (std::sync::Arc<Queue>, Waker) {
    let queue = std::sync::Arc::new(Queue {
        woken: LoomNotify::new(),
        wakes: AtomicU32::new(0),
    });
    let waker = Waker::from(std::sync::Arc::new(Queued(std::sync::Arc::clone(&queue))));
    (queue, waker)
}

/// A child that never becomes ready: polled unless it is cancelled, and again when it is woken. Returns its polls.
fn run_endless(core: &Core, number: u32) -> u32 {
    let cancel = core.cancel();
    let mut polls = 0;
    if !cancel.covers(number, Polled::Never) {
        polls += 1;
        let (queue, waker) = queue();
        let Registered { key, mark } = cancel.register(&waker);
        drop(waker);
        if mark == Mark::Down {
            queue.wait();
            assert!(
                cancel.covers(number, Polled::Before),
                "woken by the panic, and sees it"
            );
        }
        cancel.deregister(key);
    }
    end_child(core);
    polls
}

/// The body panics while a child is polled for the first time: the child ends. Fails (a deadlock) under
/// `scope-cancel-late` and `scope-cancel-unasked`.
#[test]
fn scope_cancel_reaches_a_registering_child() {
    model(|| {
        let (core, waiter) = open();
        let number = core.add_child();
        let child = {
            let core = Arc::clone(&core);
            thread::spawn(move || run_endless(&core, number))
        };
        core.cancel().cancel(0);
        close(&core, &waiter);
        assert!(child.join().unwrap() <= 1);
    });
}

/// A child panics while its waiting sibling is woken and ends by itself. The sibling is counted out once, and no thread
/// touches the scope after its end.
#[test]
fn scope_cancel_against_a_wake() {
    model(|| {
        let (core, waiter) = open();
        let panics = core.add_child();
        let waits = core.add_child();
        let (queue, waker) = queue();
        let Registered { key, mark } = core.cancel().register(&waker);
        assert_eq!(mark, Mark::Down);
        let sibling = {
            let core = Arc::clone(&core);
            thread::spawn(move || {
                queue.wait();
                // Ready, or cancelled: it ends.
                core.cancel().deregister(key);
                end_child(&core);
                assert!(waits > panics);
            })
        };
        let child = {
            let core = Arc::clone(&core);
            thread::spawn(move || {
                core.cancel().cancel(panics);
                end_child(&core);
            })
        };
        waker.wake();
        close(&core, &waiter);
        sibling.join().unwrap();
        child.join().unwrap();
    });
}

/// Of two panics, the scope rethrows that of the child spawned first. A sibling behind both that has not been polled is
/// polled after neither.
#[test]
fn scope_cancel_by_two_panics() {
    model(|| {
        let (core, waiter) = open();
        let numbers = [core.add_child(), core.add_child()];
        let last = core.add_child();
        let panicking = numbers.map(|number| {
            let core = Arc::clone(&core);
            thread::spawn(move || {
                if !core.cancel().covers(number, Polled::Never) {
                    drop(core.store_panic(number, Box::new(number)));
                    core.cancel().cancel(number);
                }
                end_child(&core);
            })
        });
        for thread in panicking {
            thread.join().unwrap();
        }
        assert!(core.cancel().covers(last, Polled::Never));
        end_child(&core);
        let payload = core.take_panic().expect("both panic, or the first alone");
        assert_eq!(payload.downcast_ref(), Some(&numbers[0]));
        close(&core, &waiter);
        assert!(
            !core.cancel().covers(last, Polled::Before),
            "the next scope is whole"
        );
    });
}
