//! The savings of this crate's task cell, and of others: spawn + run + detach, and a self-wake. The contenders are this
//! cell, async-task's bare cell, and two minimal cells that work on one thread only. See "What the cell saves" in the
//! README.
//!
//! Arguments: the name of one contender, to run it alone (for an instruction count); none: all, with times.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::hint::black_box;
use std::pin::Pin;
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};
use std::time::Instant;

use terrace_local::StaticLocalExecutor;
use terrace_queue::RunQueue;

/// Operations of one sample; few where the times mean nothing.
const OPERATIONS: u32 = if cfg!(debug_assertions) {
    2_000
} else {
    200_000
};
/// Samples; the fastest one counts.
const SAMPLES: u32 = 9;

/// One future type in a cell whose count and state are plain. Its waker must not leave the thread: a prototype of what a
/// `LocalWaker` would allow, not an executor.
struct Plain<F> {
    references: Cell<usize>,
    queued: Cell<bool>,
    owner: *const Queue<F>,
    future: RefCell<Option<F>>,
}

/// The run queue, and the memory of ended tasks if it is kept.
struct Queue<F> {
    queued: RefCell<VecDeque<*const Plain<F>>>,
    free: Option<RefCell<Vec<*const Plain<F>>>>,
}

impl<F: Future<Output = ()>> Queue<F> {
    const VTABLE: RawWakerVTable =
        RawWakerVTable::new(Self::clone, Self::wake, Self::wake_by_ref, Self::release);

    fn new(recycles: bool) -> Self {
        Self {
            queued: RefCell::default(),
            free: recycles.then(RefCell::default),
        }
    }

    fn spawn(&self, future: F) {
        let cell = Plain {
            references: Cell::new(1),
            queued: Cell::new(true),
            owner: self,
            future: RefCell::new(Some(future)),
        };
        let kept = self.free.as_ref().and_then(|free| free.borrow_mut().pop());
        let task = match kept {
            Some(kept) => {
                // SAFETY: the last reference to this cell is gone, and `release` took its future
                // out. So the write overwrites no live value.
                unsafe { kept.cast_mut().write(cell) };
                kept
            }
            None => Box::into_raw(Box::new(cell)).cast_const(),
        };
        self.queued.borrow_mut().push_back(task);
    }

    fn tick(&self) -> bool {
        let Some(task) = self.queued.borrow_mut().pop_front() else {
            return false;
        };
        // SAFETY: the queue holds a reference, which is now ours.
        let cell = unsafe { &*task };
        cell.queued.set(false);
        let raw = RawWaker::new(task.cast(), &Self::VTABLE);
        // SAFETY: `raw` points to a live cell, which the vtable's functions expect. The waker is
        // not dropped: `release` below gives the reference back.
        let waker = std::mem::ManuallyDrop::new(unsafe { Waker::from_raw(raw) });
        let mut future = cell.future.borrow_mut();
        if let Some(running) = future.as_mut() {
            // SAFETY: the future stays in its cell until it is dropped there.
            let running = unsafe { Pin::new_unchecked(running) };
            if running.poll(&mut Context::from_waker(&waker)).is_ready() {
                *future = None;
            }
        }
        drop(future);
        // SAFETY: this gives back the reference that the queue held.
        unsafe { Self::release(task.cast()) };
        true
    }

    unsafe fn clone(task: *const ()) -> RawWaker {
        // SAFETY: a waker's task is alive.
        let cell = unsafe { &*task.cast::<Plain<F>>() };
        cell.references.set(cell.references.get() + 1);
        RawWaker::new(task, &Self::VTABLE)
    }

    unsafe fn wake(task: *const ()) {
        // SAFETY: called through the vtable, with a waker's reference, which keeps the task alive.
        unsafe { Self::wake_by_ref(task) };
        // SAFETY: the waker is used up, so this gives back its reference, once.
        unsafe { Self::release(task) };
    }

    unsafe fn wake_by_ref(task: *const ()) {
        let task = task.cast::<Plain<F>>();
        // SAFETY: a waker's task is alive.
        let cell = unsafe { &*task };
        if !cell.queued.replace(true) {
            cell.references.set(cell.references.get() + 1);
            // SAFETY: the queue outlives its tasks in this program.
            let owner = unsafe { &*cell.owner };
            owner.queued.borrow_mut().push_back(task);
        }
    }

    unsafe fn release(task: *const ()) {
        let task = task.cast::<Plain<F>>();
        // SAFETY: the caller gives back a reference, so the cell is alive until then.
        let cell = unsafe { &*task };
        let left = cell.references.get() - 1;
        cell.references.set(left);
        if left != 0 {
            return;
        }
        drop(cell.future.take());
        // SAFETY: the queue outlives its tasks in this program.
        match unsafe { &(*cell.owner).free } {
            Some(free) => free.borrow_mut().push(task),
            // SAFETY: the last reference to a box.
            None => drop(unsafe { Box::from_raw(task.cast_mut()) }),
        }
    }
}

/// Wakes itself so many times.
struct Ping(u32);

impl Future for Ping {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.0 == 0 {
            return Poll::Ready(());
        }
        self.0 -= 1;
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

/// Spawns, runs and forgets `tasks` tasks that wake themselves `wakes` times.
type Contender = fn(tasks: u32, wakes: u32);

fn terrace(tasks: u32, wakes: u32) {
    let executor: &'static StaticLocalExecutor = Box::leak(Box::default());
    for _ in 0..tasks {
        executor.spawn(Ping(black_box(wakes))).detach();
        while executor.try_tick() {}
    }
}

fn async_task(tasks: u32, wakes: u32) {
    let queue = RunQueue::new();
    for _ in 0..tasks {
        let schedule = |task| queue.push_back(task);
        // SAFETY: the queue outlives its tasks, which stay on this thread.
        let (runnable, task) =
            unsafe { async_task::spawn_unchecked(Ping(black_box(wakes)), schedule) };
        runnable.schedule();
        task.detach();
        while let Some(runnable) = queue.pop_front() {
            runnable.run();
        }
    }
}

fn plain(tasks: u32, wakes: u32) {
    queue(&Queue::new(false), tasks, wakes);
}

fn recycled(tasks: u32, wakes: u32) {
    queue(&Queue::new(true), tasks, wakes);
}

fn queue(queue: &Queue<Ping>, tasks: u32, wakes: u32) {
    for _ in 0..tasks {
        queue.spawn(Ping(black_box(wakes)));
        while queue.tick() {}
    }
}

const CONTENDERS: [(&str, Contender); 4] = [
    ("terrace", terrace),
    ("async_task", async_task),
    ("plain", plain),
    ("recycled", recycled),
];

/// The fastest sample, in nanoseconds an operation.
fn measure(contender: Contender, tasks: u32, wakes: u32) -> f64 {
    (0..SAMPLES)
        .map(|_| {
            let start = Instant::now();
            contender(tasks, wakes);
            start.elapsed().as_secs_f64() * 1e9 / f64::from(OPERATIONS)
        })
        .fold(f64::INFINITY, f64::min)
}

fn main() {
    if let Some(name) = std::env::args().nth(1) {
        let contender = CONTENDERS.iter().find(|(known, _)| *known == name);
        let (_, contender) = contender.expect("the name of a contender");
        contender(OPERATIONS, 0);
        return;
    }
    println!(
        "{:<12} {:>22} {:>16}",
        "cell", "spawn + run, ns", "self-wake, ns"
    );
    for (name, contender) in CONTENDERS {
        let spawn = measure(contender, OPERATIONS, 0);
        let wake = measure(contender, 1, OPERATIONS);
        println!("{name:<12} {spawn:>22.1} {wake:>16.1}");
    }
}
