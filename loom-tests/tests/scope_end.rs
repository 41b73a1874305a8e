//! Models of a scope's core with tokens for runnables: its end, and its waiter's sleep.

#![cfg(terrace_loom)]

use loom::sync::Notify as LoomNotify;
use terrace_executor::protocol::scope::ScopeCore;
use terrace_sync::{Arc, light, model, thread};

const OWNER: u64 = 1;
/// The thread id of every child's thread: these models have no thread ids, so each thread wakes the
/// waiter.
const ANYWHERE: u64 = 2;

/// A stand-in for the waiter's parker: keeps one notification.
#[derive(Clone)]
struct Waiter(Arc<LoomNotify>);

impl Waiter {
    fn new() -> Self {
        Self(Arc::new(LoomNotify::new()))
    }
}

type Core = ScopeCore<u32, Waiter>;

fn open() -> (Arc<Core>, Waiter) {
    let core = Arc::new(Core::default());
    let waiter = Waiter::new();
    // SAFETY: a new core is closed, and no other thread knows it.
    unsafe { core.open(OWNER, waiter.clone()) };
    (core, waiter)
}

/// A worker's part for a child: run it and count it out.
fn end_child(core: &Core) {
    if let Some(waiter) = core.child_ended(|| ANYWHERE) {
        light();
        waiter.0.notify();
    }
}

/// The waiter's loop, without anything else that it could do.
fn wait(core: &Core, waiter: &Waiter, ran: &mut u32) {
    loop {
        if core.has_ended() {
            return;
        }
        // SAFETY: this thread opened the scope.
        if let Some(_child) = unsafe { core.pop_owner(1) } {
            *ran += 1;
            end_child(core);
            continue;
        }
        core.announce_sleep();
        if core.waiter_has_work() {
            // The length hint is raised before the item is there: let its pusher go on.
            thread::yield_now();
        } else {
            waiter.0.wait();
        }
        core.end_sleep();
    }
}

/// The scope ends when both children have ended, on any thread. Then the model opens the slot
/// again, which writes the fields that children read. Fails under `scope-end-relaxed` (the
/// reopening races with the child's read of the waiter).
#[test]
fn scope_end_happens_after_every_child() {
    model(|| {
        let (core, waiter) = open();
        for child in 0..2 {
            core.add_child();
            // SAFETY: this thread opened the scope.
            unsafe { core.push_owner(child) };
        }
        let worker = {
            let core = Arc::clone(&core);
            thread::spawn(move || {
                let mut ran = 0;
                while core.steal().is_some() {
                    ran += 1;
                    end_child(&core);
                }
                ran
            })
        };
        core.body_ended();
        let mut ran = 0;
        wait(&core, &waiter, &mut ran);
        // SAFETY: the scope has ended, so the core is closed, and only this thread opens it.
        unsafe { core.open(OWNER, Waiter::new()) };
        core.body_ended();
        assert_eq!(ran + worker.join().unwrap(), 2, "each child ran once");
    });
}

/// A child that is woken by another thread reaches the sleeping waiter. Fails (a deadlock) under
/// `scope-sleep-fence` and `scope-push-fence`.
#[test]
fn scope_push_wakes_the_waiter() {
    model(|| {
        let (core, waiter) = open();
        core.add_child();
        let waker = {
            let core = Arc::clone(&core);
            let waiter = waiter.clone();
            thread::spawn(move || {
                core.push_remote(7);
                Core::after_push();
                if core.is_asleep() {
                    waiter.0.notify();
                }
            })
        };
        core.body_ended();
        let mut ran = 0;
        wait(&core, &waiter, &mut ran);
        assert_eq!(ran, 1);
        waker.join().unwrap();
    });
}

/// Of two pushers one at least wakes the waiter, and none of the children is left behind.
#[test]
fn scope_wake_is_claimed_once_and_never_lost() {
    model(|| {
        let (core, waiter) = open();
        core.add_child();
        core.add_child();
        // The first push makes the list's memory: models of the queue have that step.
        core.push_remote(2);
        assert_eq!(core.steal(), Some(2));
        let wakers: Vec<_> = (0..2)
            .map(|child| {
                let core = Arc::clone(&core);
                let waiter = waiter.clone();
                thread::spawn(move || {
                    core.push_remote(child);
                    Core::after_push();
                    if core.claim_wake() {
                        waiter.0.notify();
                    }
                })
            })
            .collect();
        core.body_ended();
        let mut ran = 0;
        wait(&core, &waiter, &mut ran);
        assert_eq!(ran, 2);
        for waker in wakers {
            waker.join().unwrap();
        }
    });
}
