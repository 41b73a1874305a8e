//! A pool: its threads' places, and the executor whose workers they are.
//!
//! A job that is spawned lies in the queue of its thread, or in the shared queue if it came from outside. The executor's wakes and thefts
//! bring threads to it, by *tickets*: see `ticket`.
//!
//! `open` counts the handle of the pool and the spawned jobs. The one that counts it down to zero asks the workers to end.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::{mem, ptr};

use terrace_executor::Executor;
use terrace_thread::ThreadSpawner;

use crate::job::Job;
use crate::locked::{Len, Locked};
use crate::queue::{Entry, Fifo, Queue};
use crate::ticket::Tickets;
use crate::wait::{AbortsIfDropped, Bell, end_process};

/// Gets the payload of a panic that reaches no caller.
pub(crate) type PanicHandler = dyn Fn(Box<dyn Any + Send>) + Send + Sync;
/// Gets the index of a thread that starts or ends.
pub(crate) type Handler = dyn Fn(usize) + Send + Sync;

/// The closures of the program that the threads of a pool call.
#[derive(Default)]
pub(crate) struct Handlers {
    pub(crate) panic: Option<Box<PanicHandler>>,
    pub(crate) start: Option<Box<Handler>>,
    pub(crate) exit: Option<Box<Handler>>,
}

/// A pool.
pub(crate) struct Registry {
    pub(crate) executor: Executor<'static>,
    /// Of its threads, by index.
    pub(crate) places: Box<[Place]>,
    /// Jobs from threads that are not in the pool.
    pub(crate) injected: Locked<Queue>,
    /// Whether the executor has workers. Else the thread that made the pool is its only one.
    pub(crate) has_workers: bool,
    /// The index of the first worker's thread.
    pub(crate) first: usize,
    /// Whether a thread that is in no pool may run a call itself, in the place of a thread that sleeps. A program that has set up its
    /// threads wants calls to run on these.
    pub(crate) calls_in_place: bool,
    pub(crate) breadth_first: bool,
    pub(crate) handlers: Handlers,
    pub(crate) open: AtomicUsize,
    pub(crate) tickets: Tickets,
    /// Held while the jobs of a broadcast are put: all threads get any two broadcasts in the same order.
    pub(crate) broadcasts: Mutex<()>,
}

/// What other threads see of a thread of a pool.
#[derive(Default)]
pub(crate) struct Place {
    pub(crate) queue: Locked<Queue>,
    /// The jobs that were spawned in order, see [`Entry::OldestOf`].
    pub(crate) fifo: Arc<Fifo>,
    pub(crate) inbox: Locked<Inbox>,
    pub(crate) bell: Arc<Bell>,
    /// The thread, once it runs. Set under the lock of the inbox.
    pub(crate) thread: OnceLock<ThreadSpawner>,
}

/// Jobs for one thread alone.
#[derive(Default)]
pub(crate) struct Inbox {
    pub(crate) jobs: VecDeque<Job>,
    /// A thread that works in its place, and has gone to sleep there.
    pub(crate) stand_in: Option<ThreadSpawner>,
}

impl Len for Inbox {
    fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }
}

/// Tells pools apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RegistryId {
    addr: usize,
}

impl Registry {
    /// Tells it apart from others.
    pub(crate) fn id(&self) -> RegistryId {
        RegistryId {
            addr: ptr::from_ref(self) as usize,
        }
    }

    pub(crate) fn threads(&self) -> usize {
        self.places.len()
    }

    /// Waits until all threads run.
    pub(crate) fn wait_until_primed(&self) {
        for place in &self.places {
            place.thread.wait();
        }
    }

    /// One more holder of the pool.
    pub(crate) fn hold(&self) {
        // Ordering: Relaxed, the caller holds the pool itself.
        self.open.fetch_add(1, Ordering::Relaxed);
    }

    /// A holder goes. After the last one the threads end.
    #[inline]
    pub(crate) fn close(&self) {
        // Ordering: AcqRel: all that the holders did comes before the end.
        if self.open.fetch_sub(1, Ordering::AcqRel) == 1 && self.has_workers {
            // It starts no thread, so it does not fail.
            let _asked = self.executor.set_workers(0);
        }
    }

    /// For a job that was queued: as the only one of its queue, or behind another.
    #[inline]
    pub(crate) fn queued(&self, is_only: bool) {
        if !self.has_workers {
            // The one thread of the pool may wait.
            self.places[0].bell.ring();
        } else if is_only {
            self.tickets.issue();
        }
    }

    /// Whether a job is queued; valid after a fence.
    pub(crate) fn has_queued(&self) -> bool {
        self.places.iter().any(|place| place.queue.is_filled()) || self.injected.is_filled()
    }

    /// Queues a job for any thread of the pool, from a thread that is not in it.
    pub(crate) fn inject(&self, job: Job) {
        let is_only = self.injected.with(|queue| queue.push(Entry::Job(job)));
        self.queued(is_only);
    }

    /// Hands the payload of a panic to the handler of the pool, or ends the process.
    pub(crate) fn contain(&self, f: impl FnOnce()) {
        let Err(payload) = catch_unwind(AssertUnwindSafe(f)) else {
            return;
        };
        match &self.handlers.panic {
            Some(handler) => {
                let unwinding = AbortsIfDropped;
                handler(payload);
                mem::forget(unwinding);
            }
            None => end_process("a panic in a job that no thread waits for, and no panic handler"),
        }
    }
}
