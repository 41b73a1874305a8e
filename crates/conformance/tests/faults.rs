//! The suite proves itself: executors with a planted fault each do not conform, and the same executor without one does.
//!
//! Not under AddressSanitizer: some of the faults leak.
#![cfg(not(terrace_asan))]

mod common;

use std::collections::VecDeque;
use std::future::Future;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use terrace_conformance::{Caps, Handle, Kind, behaviours};
use terrace_local::registry::Registry;
use terrace_local::task::{self, Core, CoreRef, Register, Runnable, Task};
use terrace_local::{ThreadNumber, thread_id};

/// What is wrong with an executor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    Nothing,
    LosesWakes,
    LosesForeignWakes,
    LosesWakesDuringPolls,
    PollsTwice,
    RunsLastFirst,
    ServesOneTask,
    PollsAtSpawn,
    PollsAllInATick,
    LeaksPendingTasks,
    LeaksQueuedTasks,
    DropsSpawnsOfTasks,
}

use Fault::*;

/// Chooses the fault of a kind.
trait Planted: 'static {
    const FAULT: Fault;
}

/// A plain executor, correct but for its fault: a queue under a lock, ticked by hand.
struct Broken<P> {
    shared: Arc<Shared>,
    planted: PhantomData<P>,
}

struct Shared {
    this: Weak<Self>,
    fault: Fault,
    queue: Mutex<VecDeque<Runnable>>,
    registry: Registry,
    owner: ThreadNumber,
    schedules: AtomicUsize,
    polling: AtomicBool,
}

impl Core for Shared {
    unsafe fn schedule(this: NonNull<Self>, task: Runnable) {
        // SAFETY: the task refers to its executor, which is alive up to the push.
        let shared = unsafe { this.as_ref() };
        // The task's reference goes with the push.
        let shared = shared.this.upgrade().expect("a task keeps its executor");
        let number = shared.schedules.fetch_add(1, Ordering::Relaxed);
        let lost = match shared.fault {
            LosesWakes => number % 7 == 6,
            LosesForeignWakes => thread_id() != shared.owner,
            LosesWakesDuringPolls => shared.polling.load(Ordering::Relaxed),
            _ => false,
        };
        if lost {
            std::mem::forget(task);
        } else {
            shared.push(task);
        }
    }

    fn registry(&self) -> Option<&dyn Register> {
        Some(&self.registry)
    }
}

impl Shared {
    fn push(&self, task: Runnable) {
        let mut queue = self.queue.lock().expect("not poisoned");
        match self.fault {
            RunsLastFirst => queue.push_front(task),
            // One that wakes itself while it is polled is the next, again and again.
            ServesOneTask if self.polling.load(Ordering::Relaxed) => queue.push_front(task),
            _ => queue.push_back(task),
        }
    }

    fn pop(&self) -> Option<Runnable> {
        self.queue.lock().expect("not poisoned").pop_front()
    }

    fn spawn<T: Send + 'static>(
        self: &Arc<Self>,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Task<T> {
        let core = CoreRef::Shared(Arc::clone(self));
        // SAFETY: future and output are Send and 'static.
        let (runnable, task) = unsafe { task::build(core, future) };
        if self.fault == DropsSpawnsOfTasks && self.polling.load(Ordering::Relaxed) {
            drop(runnable);
        } else {
            self.push(runnable);
        }
        if self.fault == PollsAtSpawn {
            self.tick();
        }
        task
    }

    fn tick(&self) -> bool {
        let mut ticked = false;
        while let Some(task) = self.pop() {
            ticked = true;
            let waker = (self.fault == PollsTwice).then(|| task.waker());
            let before = self.polling.swap(true, Ordering::Relaxed);
            task.run();
            self.polling.store(before, Ordering::Relaxed);
            if let Some(waker) = waker {
                waker.wake();
            }
            if self.fault != PollsAllInATick {
                break;
            }
        }
        ticked
    }

    fn close(&self) {
        let drain = || {
            let queued = std::mem::take(&mut *self.queue.lock().expect("not poisoned"));
            let any = !queued.is_empty();
            drop(queued);
            any
        };
        match self.fault {
            // A registry waits for tasks whose wake is on its way: for ever, where that was lost.
            LeaksPendingTasks | LosesWakes | LosesForeignWakes | LosesWakesDuringPolls => {
                while drain() {}
            }
            LeaksQueuedTasks => {
                let queued = std::mem::take(&mut *self.queue.lock().expect("not poisoned"));
                std::mem::forget(queued);
                self.registry.close(drain);
            }
            _ => self.registry.close(drain),
        }
    }
}

impl<P: Planted> Kind for Broken<P> {
    type Handle = BrokenHandle;

    const CAPS: Caps = Caps::MANUAL
        .and(Caps::ONE_THREAD)
        .and(Caps::FIFO)
        .and(Caps::CLOSES);

    fn name() -> String {
        format!("{:?}", P::FAULT)
    }

    fn make() -> Self {
        let shared = Arc::new_cyclic(|this: &Weak<Shared>| Shared {
            this: this.clone(),
            fault: P::FAULT,
            queue: Mutex::default(),
            registry: Registry::new(),
            owner: thread_id(),
            schedules: AtomicUsize::new(0),
            polling: AtomicBool::new(false),
        });
        Self {
            shared,
            planted: PhantomData,
        }
    }

    fn handle(&self) -> BrokenHandle {
        BrokenHandle(Arc::downgrade(&self.shared))
    }

    fn spawn_exact<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Task<T> {
        // One function more that passes the future on, see `task::is_large`.
        if task::is_large(&future) {
            return self.shared.spawn(task::boxed(future));
        }
        self.shared.spawn(future)
    }

    fn tick(&self) -> bool {
        self.shared.tick()
    }

    fn patience() -> Duration {
        match P::FAULT {
            Nothing => Duration::from_secs(60),
            // What is lost does not come, however long one waits.
            _ => Duration::from_millis(300),
        }
    }
}

impl<P> Drop for Broken<P> {
    fn drop(&mut self) {
        self.shared.close();
    }
}

/// Refers to the executor without keeping it.
#[derive(Clone)]
struct BrokenHandle(Weak<Shared>);

impl Handle for BrokenHandle {
    fn spawn_exact<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Option<Task<T>> {
        self.0.upgrade().map(|shared| shared.spawn(future))
    }

    fn tick(&self) -> bool {
        self.0.upgrade().is_some_and(|shared| shared.tick())
    }
}

/// The behaviour fails on the executor with the fault.
fn catches<P: Planted>(name: &str) {
    let behaviour = behaviours::<Broken<P>>()
        .into_iter()
        .find(|behaviour| behaviour.name == name)
        .expect("a behaviour of that name");
    assert!(behaviour.applies());
    let failure = common::failure(behaviour);
    assert!(failure.is_some(), "{name} does not see {:?}", P::FAULT);
}

#[test]
fn without_a_fault_it_conforms() {
    struct None;
    impl Planted for None {
        const FAULT: Fault = Nothing;
    }
    let failures = common::failures(behaviours::<Broken<None>>());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    let all = behaviours::<Broken<None>>();
    let applying = all.iter().filter(|behaviour| behaviour.applies()).count();
    // The one behaviour more needs spawns during the drop.
    assert_eq!(applying, all.len() - 1, "faults meet every other behaviour");
}

macro_rules! faults {
    ($($test:ident: $fault:ident $($behaviour:literal)+;)+) => {
        $(#[test]
        fn $test() {
            struct It;
            impl Planted for It {
                const FAULT: Fault = $fault;
            }
            $(catches::<It>($behaviour);)+
        })+
    };
}

faults! {
    a_lost_wake: LosesWakes "wakes::a_task_that_wakes_itself_is_fair" "basics::a_hundred_thousand_tasks_run";
    a_lost_foreign_wake: LosesForeignWakes "wakes::from_another_thread_while_idle";
    a_wake_lost_in_a_poll: LosesWakesDuringPolls "wakes::before_the_poll_returns";
    a_second_poll: PollsTwice "basics::each_wake_is_one_poll";
    last_come_first_served: RunsLastFirst "basics::ready_tasks_are_polled_in_order";
    one_task_is_served: ServesOneTask "wakes::a_task_that_wakes_itself_is_fair";
    a_poll_at_spawn: PollsAtSpawn "basics::a_tick_polls_one_task" "cancel::before_the_first_poll";
    many_polls_in_a_tick: PollsAllInATick "basics::a_tick_polls_one_task";
    pending_tasks_leak: LeaksPendingTasks "shutdown::drops_queued_and_pending_tasks" "shutdown::tasks_that_hold_each_other";
    queued_tasks_leak: LeaksQueuedTasks "shutdown::drops_queued_and_pending_tasks";
    spawns_of_tasks_are_dropped: DropsSpawnsOfTasks "reentry::a_poll_spawns" "reentry::spawns_nest";
}
