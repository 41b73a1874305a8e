//! What all tasks of a program share: the log of events, gates that they wait for, and wakers that outlive their use.

use std::any::Any;
use std::collections::BTreeMap;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

/// Gates of a program.
pub(crate) const GATES: usize = 4;

/// What a program's events are, in which order they are printed, and which of them are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// Every step, in the order of time: one thread polls, by ticks alone.
    OfTime,
    /// What does not depend on the order of polls, sorted.
    Sorted,
}

/// What the tasks of a program share.
pub(crate) struct Ctx {
    pub(crate) order: Order,
    /// Whether something polls in an order of its own now.
    unordered: AtomicBool,
    log: Mutex<Vec<String>>,
    gates: [Mutex<Gate>; GATES],
    stash: Mutex<BTreeMap<String, Waker>>,
}

#[derive(Default)]
struct Gate {
    open: bool,
    /// By the task's name, so that the order of wakes is the same.
    waiters: BTreeMap<String, Waker>,
}

impl Ctx {
    pub(crate) fn new(order: Order) -> Arc<Self> {
        Arc::new(Self {
            order,
            unordered: AtomicBool::new(false),
            log: Mutex::default(),
            gates: Default::default(),
            stash: Mutex::default(),
        })
    }

    /// Records an event that comes in every order of polls.
    pub(crate) fn event(&self, line: String) {
        self.log.lock().unwrap().push(line);
    }

    /// Records an event that only an order of time has.
    pub(crate) fn detail(&self, line: impl FnOnce() -> String) {
        if self.order == Order::OfTime && !self.unordered.load(SeqCst) {
            self.event(line());
        }
    }

    /// Records no details from now on, or does again.
    pub(crate) fn set_unordered(&self, unordered: bool) {
        self.unordered.store(unordered, SeqCst);
    }

    /// Takes the events.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.log.lock().unwrap())
    }

    /// Prints the events, sorted if `sorted` or if their order says nothing.
    pub(crate) fn print(&self, sorted: bool) {
        let mut events = self.take();
        if sorted || self.order == Order::Sorted {
            events.sort();
        }
        events.iter().for_each(|line| println!("  {line}"));
    }

    /// Lets the tasks through that wait at a gate, now and later.
    pub(crate) fn open(&self, gate: usize) {
        let waiters = {
            let mut gate = self.gates[gate].lock().unwrap();
            gate.open = true;
            std::mem::take(&mut gate.waiters)
        };
        waiters.into_values().for_each(Waker::wake);
    }

    /// Closes a gate for those that come.
    pub(crate) fn close(&self, gate: usize) {
        self.gates[gate].lock().unwrap().open = false;
    }

    /// Waits at a gate.
    pub(crate) fn pass(self: &Arc<Self>, gate: usize, name: &str) -> Pass {
        Pass {
            ctx: Arc::clone(self),
            gate,
            name: name.to_owned(),
        }
    }

    /// Keeps a waker of a task.
    pub(crate) fn stash(&self, name: &str, waker: &Waker) {
        let old = self
            .stash
            .lock()
            .unwrap()
            .insert(name.to_owned(), waker.clone());
        drop(old);
    }

    /// The wakers that were kept.
    pub(crate) fn stashed(&self) -> Vec<Waker> {
        self.stash.lock().unwrap().values().cloned().collect()
    }

    /// Drops the wakers that were kept.
    pub(crate) fn forget_wakers(&self) {
        let stash = std::mem::take(&mut *self.stash.lock().unwrap());
        drop(stash);
        for gate in &self.gates {
            let waiters = std::mem::take(&mut gate.lock().unwrap().waiters);
            drop(waiters);
        }
    }
}

/// Waits until a gate is open.
pub(crate) struct Pass {
    ctx: Arc<Ctx>,
    gate: usize,
    name: String,
}

impl Future for Pass {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut gate = self.ctx.gates[self.gate].lock().unwrap();
        if gate.open {
            return Poll::Ready(());
        }
        let old = gate
            .waiters
            .insert(self.name.clone(), context.waker().clone());
        drop(gate);
        drop(old);
        Poll::Pending
    }
}

/// Pending as often as it says, woken each time.
pub(crate) async fn yields(turns: u64) -> u64 {
    for _ in 0..turns {
        futures_lite::future::yield_now().await;
    }
    turns
}

/// The result of `f`, or the text of its panic.
pub(crate) fn outcome<R>(f: impl FnOnce() -> R) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(f)).map_err(text)
}

/// The text of a panic.
pub(crate) fn text(payload: Box<dyn Any + Send>) -> String {
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => payload.downcast_ref::<&str>().unwrap_or(&"?").to_string(),
    }
}
