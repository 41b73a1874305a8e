//! A pool: its threads' places, and the executor whose workers they are.
//!
//! A job that is spawned lies in the queue of its thread, or in the shared queue if it came from outside. The executor's wakes and thefts
//! bring threads to it, by *tickets*: see `ticket`.
//!
//! `open` counts the handle of the pool and the spawned jobs. The one that counts it down to zero asks the workers to end.

use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Once, OnceLock};

use terrace_executor::{Builder, Executor, HostedWorker};

use crate::builder::{Handler, PanicHandler, ThreadPoolBuilder};
use crate::error::{Kind, ThreadPoolBuildError};
use crate::job::Job;
use crate::member::{Member, Place};
use crate::pool::max_num_threads;
use crate::queue::{Fifo, lock};
use crate::threads::{ThreadBuilder, ThreadSpawn};
use crate::ticket::Tickets;
use crate::wait::{AbortsIfDropped, Bell, Called, contain, wait};

/// A pool.
pub(crate) struct Registry {
    pub(crate) executor: Executor<'static>,
    /// Of its threads, by index.
    pub(crate) places: Box<[Place]>,
    /// Jobs from threads that are not in the pool.
    pub(crate) injected: Fifo,
    /// Whether the executor has workers. Else the thread that made the pool is its only one.
    pub(crate) has_workers: bool,
    /// The index of the first worker's thread.
    first: usize,
    /// Whether a thread that is in no pool may run a call itself, in the place of a thread that sleeps. A program that has set up its
    /// threads wants calls to run on these.
    calls_in_place: bool,
    pub(crate) breadth_first: bool,
    pub(crate) panic_handler: Option<Box<PanicHandler>>,
    start_handler: Option<Box<Handler>>,
    exit_handler: Option<Box<Handler>>,
    open: AtomicUsize,
    pub(crate) tickets: Tickets,
    /// Held while the jobs of a broadcast are put: all threads get any two broadcasts in the same order.
    broadcasts: Mutex<()>,
}

/// Tells pools apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RegistryId {
    addr: usize,
}

/// Counts a pool's maker out, however the making ends.
struct Closes<'r>(Option<&'r Registry>);

impl Drop for Closes<'_> {
    fn drop(&mut self) {
        if let Some(registry) = self.0 {
            registry.close();
        }
    }
}

/// Ends a stay in the place of another thread.
struct LeavesPlace<'m>(&'m Member, &'m Cell<bool>);

impl Drop for LeavesPlace<'_> {
    fn drop(&mut self) {
        if self.1.get() {
            self.0.leave_place();
        }
    }
}

impl Registry {
    /// Gives each thread its job of a broadcast. All threads get any two broadcasts in the same order.
    pub(crate) fn send_to_all(&self, jobs: impl IntoIterator<Item = Job>) {
        let jobs: Vec<Job> = jobs.into_iter().collect();
        let turn = lock(&self.broadcasts);
        for (place, job) in self.places.iter().zip(jobs) {
            place.put(job);
        }
        drop(turn);
        self.places.iter().for_each(Place::tell);
    }

    /// Makes a pool and starts its threads.
    pub(crate) fn build<S: ThreadSpawn>(
        mut builder: ThreadPoolBuilder<S>,
    ) -> Result<Arc<Self>, ThreadPoolBuildError> {
        let threads = builder.wanted_threads().min(max_num_threads());
        let with_caller = builder.use_current_thread;
        if with_caller && Member::with(|member| member.is_some()) {
            return Err(ThreadPoolBuildError::new(Kind::CurrentThreadAlreadyInPool));
        }
        let workers = threads - usize::from(with_caller);
        let (executor, hosted) = if workers == 0 {
            (Executor::new(), Vec::new())
        } else {
            Builder::new()
                .workers(workers)
                .spares(false)
                .on_thread_start(|| Member::with(|member| member.map_or((), Registry::starts)))
                .on_thread_stop(|| Member::with(|member| member.map_or((), Registry::stops)))
                .build_hosted()
        };
        let calls_in_place = workers > 0 && builder.has_plain_threads();
        let registry = Arc::new(Self {
            tickets: Tickets::new(workers, executor.spawner()),
            broadcasts: Mutex::new(()),
            executor,
            places: (0..threads).map(|_| Place::default()).collect(),
            injected: Fifo::default(),
            has_workers: workers > 0,
            first: usize::from(with_caller),
            calls_in_place,
            breadth_first: builder.breadth_first,
            panic_handler: builder.panic_handler.take(),
            start_handler: builder.start_handler.take(),
            exit_handler: builder.exit_handler.take(),
            open: AtomicUsize::new(1),
        });
        let mut closes = Closes(Some(&registry));
        let first = registry.first;
        if with_caller {
            builder.name_of(0);
            let member = Member {
                registry: Arc::clone(&registry),
                index: 0,
            };
            member.enter_for_good();
            Member::with(|member| member.map_or((), Member::arrive));
        }
        for (index, worker) in (first..).zip(hosted) {
            let thread = ThreadBuilder {
                name: builder.name_of(index),
                stack_size: builder.stack_size,
                registry: Arc::clone(&registry),
                index,
                worker,
            };
            let started = builder.spawn_handler.spawn(thread);
            started.map_err(|error| ThreadPoolBuildError::new(Kind::Io(error)))?;
        }
        closes.0 = None;
        drop(closes);
        Ok(registry)
    }

    /// The calling thread runs jobs until the pool ends.
    pub(crate) fn run_member(self: Arc<Self>, index: usize, worker: HostedWorker) {
        let unwinding = AbortsIfDropped;
        let member = Member {
            registry: self,
            index,
        };
        member.enter(|| worker.run());
        std::mem::forget(unwinding);
    }

    fn starts(member: &Member) {
        member.arrive();
        let registry = &member.registry;
        if let Some(handler) = &registry.start_handler {
            contain(registry, || handler(member.index));
        }
    }

    fn stops(member: &Member) {
        let registry = &member.registry;
        if let Some(handler) = &registry.exit_handler {
            contain(registry, || handler(member.index));
        }
    }

    /// Tells it apart from others.
    pub(crate) fn id(&self) -> RegistryId {
        RegistryId {
            addr: std::ptr::from_ref(self) as usize,
        }
    }

    pub(crate) fn threads(&self) -> usize {
        self.places.len()
    }

    pub(crate) fn wait_until_primed(&self) {
        self.places.iter().for_each(Place::wait_until_primed);
    }

    /// One more holder of the pool.
    pub(crate) fn hold(&self) {
        // Ordering: Relaxed, the caller holds the pool itself.
        self.open.fetch_add(1, Ordering::Relaxed);
    }

    /// A holder goes. After the last one the threads end.
    pub(crate) fn close(&self) {
        // Ordering: AcqRel: all that the holders did comes before the end.
        if self.open.fetch_sub(1, Ordering::AcqRel) == 1 && self.has_workers {
            // It starts no thread, so it does not fail.
            let _asked = self.executor.set_workers(0);
        }
    }

    /// For a job that was queued: as the only one of its queue, or behind another.
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
        let is_only = self.injected.push(job);
        self.queued(is_only);
    }

    /// Queues a job: at this thread, if it is in the pool.
    pub(crate) fn inject_or_push(&self, job: Job) {
        Member::with(|member| match member {
            Some(member) if member.is_of(self) => member.push(job),
            _ => self.inject(job),
        });
    }

    /// Calls `op` on a thread of the pool: on this one, if it is in the pool.
    pub(crate) fn install<R: Send>(self: &Arc<Self>, op: impl FnOnce() -> R + Send) -> R {
        if Member::with(|member| member.is_some_and(|member| member.is_of(self))) {
            return op();
        }
        self.call_injected(op)
    }

    /// Calls `op` as a thread of the pool: on this thread if it is in the pool, or in no pool while a thread of this one sleeps. `op`
    /// learns whether it was called from outside of the pool.
    pub(crate) fn call<R: Send>(self: &Arc<Self>, op: impl FnOnce(bool) -> R + Send) -> R {
        if Member::with(|member| member.is_some_and(|member| member.is_of(self))) {
            return op(false);
        }
        match self.call_in_place(op) {
            Ok(result) => result,
            Err(op) => self.call_injected(|| op(true)),
        }
    }

    /// Calls `op` on this thread, which is in no pool, in the place of a thread that sleeps. Hands `op` back if none does.
    fn call_in_place<R, F: FnOnce(bool) -> R>(self: &Arc<Self>, op: F) -> Result<R, F> {
        if !self.calls_in_place || Member::address() != 0 {
            return Err(op);
        }
        let mut op = Some(op);
        let slept = Cell::new(false);
        let before_sleep = || {
            slept.set(true);
            Member::with(|member| member.is_some_and(Member::arrive_in_place))
        };
        let result = self.executor.stand_in(&before_sleep, |worker| {
            let index = self.first + worker;
            // SAFETY: a second handle of the same count, which is never dropped, and gone before the one that `self` borrows.
            let registry = unsafe { ptr::read(self) };
            let member = ManuallyDrop::new(Member { registry, index });
            let _leaves = LeavesPlace(&member, &slept);
            let op = op.take().expect("the place is taken once");
            member.enter(|| op(true))
        });
        match result {
            Ok(result) => Ok(result),
            Err(_unused) => Err(op.expect("the place was not taken")),
        }
    }

    #[cold]
    fn call_injected<R: Send>(self: &Arc<Self>, op: impl FnOnce() -> R + Send) -> R {
        let mut result = None;
        Member::with(|member| {
            let called = Called::new(Bell::here(member));
            let slot = &mut result;
            let ends = Arc::clone(&called);
            let run = move || *slot = Some(catch_unwind(AssertUnwindSafe(op)));
            let ended = move || ends.set();
            // SAFETY: this frame waits until `run` has returned: `wait` does not unwind, and every injected job runs.
            self.inject(unsafe { Job::borrowing(run, ended) });
            wait(member, called.bell(), &*called);
        });
        match result.expect("the job has run") {
            Ok(value) => value,
            Err(payload) => resume_unwind(payload),
        }
    }
}

static GLOBAL: OnceLock<Arc<Registry>> = OnceLock::new();
static MADE: Once = Once::new();

/// Makes the global pool.
pub(crate) fn build_global<S: ThreadSpawn>(
    builder: ThreadPoolBuilder<S>,
) -> Result<&'static Arc<Registry>, ThreadPoolBuildError> {
    make_global(|| Registry::build(builder))
}

fn make_global(
    make: impl FnOnce() -> Result<Arc<Registry>, ThreadPoolBuildError>,
) -> Result<&'static Arc<Registry>, ThreadPoolBuildError> {
    let mut result = Err(ThreadPoolBuildError::new(
        Kind::GlobalPoolAlreadyInitialized,
    ));
    MADE.call_once(|| result = make().map(|registry| GLOBAL.get_or_init(|| registry)));
    result
}

/// The global pool, made now if there is none.
///
/// # Panics
/// If it could not be made, now or before.
pub(crate) fn global() -> &'static Arc<Registry> {
    if let Some(registry) = GLOBAL.get() {
        return registry;
    }
    let error = match make_global(build_default) {
        Ok(registry) => return registry,
        Err(error) => error,
    };
    GLOBAL
        .get()
        .unwrap_or_else(|| panic!("The global thread pool has not been initialized.: {error:?}"))
}

/// Where the system starts no threads, the calling thread is the pool.
fn build_default() -> Result<Arc<Registry>, ThreadPoolBuildError> {
    match Registry::build(ThreadPoolBuilder::new()) {
        Err(error) if error.is_unsupported() && Member::with(|member| member.is_none()) => {
            let alone = ThreadPoolBuilder::new().num_threads(1).use_current_thread();
            Registry::build(alone).map_err(|_| error)
        }
        result => result,
    }
}

/// Calls `f` with the pool of this thread, or the global one.
pub(crate) fn with_current<T>(f: impl FnOnce(&Arc<Registry>) -> T) -> T {
    Member::with(|member| match member {
        Some(member) => f(&member.registry),
        None => f(global()),
    })
}

/// Calls `op` as a thread of a pool: on this one, if it is in a pool, else in the global one.
pub(crate) fn in_pool<R: Send>(op: impl FnOnce(bool) -> R + Send) -> R {
    if Member::address() != 0 {
        return op(false);
    }
    global().call(op)
}
