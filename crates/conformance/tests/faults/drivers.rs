//! Drivers and batches of the broken executor, with faults of their own.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::task::{Poll, Waker};

use terrace_conformance::kind::{Batch, Drivable};
use terrace_local::task::{Runnable, Task};

use super::Fault::*;
use super::{Broken, Shared};

/// The drivers of the executor, by number.
#[derive(Default)]
pub(crate) struct Drivers {
    next: usize,
    /// Those that sleep.
    asleep: Vec<(usize, Waker)>,
}

impl Shared {
    pub(crate) fn wake_driver(&self) {
        let mut drivers = self.drivers.lock().expect("not poisoned");
        let first = (!drivers.asleep.is_empty()).then(|| drivers.asleep.remove(0));
        drop(drivers);
        if let Some((_, waker)) = first {
            waker.wake();
        }
    }
}

/// One driver, as long as its future exists.
struct Driver<'k> {
    executor: &'k Broken,
    number: usize,
    slept: bool,
    /// Tasks that only this driver runs: none, except with a fault.
    kept: VecDeque<Runnable>,
}

impl<'k> Driver<'k> {
    fn new(executor: &'k Broken) -> Self {
        let mut drivers = executor.0.drivers.lock().expect("not poisoned");
        drivers.next += 1;
        Self {
            executor,
            number: drivers.next,
            slept: false,
            kept: VecDeque::new(),
        }
    }

    /// Awake again. True if no thread had woken it.
    fn wake_up(&mut self) -> bool {
        let mut drivers = self.executor.0.drivers.lock().expect("not poisoned");
        let before = drivers.asleep.len();
        drivers.asleep.retain(|(number, _)| *number != self.number);
        let unwoken = drivers.asleep.len() < before;
        drop(drivers);
        !std::mem::take(&mut self.slept) || unwoken
    }

    fn take(&mut self) -> Option<Runnable> {
        let shared = &self.executor.0;
        if shared.fault == KeepsABatchInARun {
            while let Some(task) = shared.pop() {
                self.kept.push_back(task);
            }
        }
        self.kept.pop_front().or_else(|| shared.pop())
    }

    /// A task, or asleep.
    fn take_or_sleep(&mut self, waker: &Waker) -> Option<Runnable> {
        if let Some(task) = self.take() {
            return Some(task);
        }
        let shared = &self.executor.0;
        let mut drivers = shared.drivers.lock().expect("not poisoned");
        drivers.asleep.push((self.number, waker.clone()));
        drop(drivers);
        self.slept = true;
        let task = self.take();
        if task.is_some() {
            self.wake_up();
        }
        task
    }
}

impl Drop for Driver<'_> {
    fn drop(&mut self) {
        let shared = &self.executor.0;
        let woken = !self.wake_up();
        if woken && shared.fault != SwallowsWakesOfDroppedRuns {
            shared.wake_driver();
        }
    }
}

/// Tasks that a run polls before it gives way.
const RUN_BATCH: usize = 100;

impl Drivable for Broken {
    async fn run<T>(&self, future: impl Future<Output = T>) -> T {
        let mut driver = Driver::new(self);
        let mut future = std::pin::pin!(future);
        poll_fn(|context| {
            driver.wake_up();
            for _ in 0..RUN_BATCH {
                if let Poll::Ready(output) = future.as_mut().poll(context) {
                    return Poll::Ready(output);
                }
                match driver.take_or_sleep(context.waker()) {
                    Some(task) => self.0.poll(task),
                    None => return Poll::Pending,
                }
            }
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await
    }

    async fn tick_async(&self) {
        let mut driver = Driver::new(self);
        poll_fn(|context| {
            driver.wake_up();
            match driver.take_or_sleep(context.waker()) {
                Some(task) => self.0.poll(task),
                None => return Poll::Pending,
            }
            if self.0.fault == PollsTwoInATick {
                self.0.tick();
            }
            Poll::Ready(())
        })
        .await;
    }
}

impl Batch for Broken {
    fn spawn_many<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
        &self,
        futures: impl IntoIterator<Item = F>,
        handles: &mut impl Extend<Task<T>>,
    ) {
        let mut made = Vec::new();
        for future in futures {
            let task = self.0.spawn(future);
            match self.0.fault {
                DropsBatchesWhosePanic | TurnsBatchesAround => made.push(task),
                _ => handles.extend([task]),
            }
        }
        if self.0.fault == TurnsBatchesAround {
            made.reverse();
        }
        handles.extend(made);
    }
}
