//! The suite proves itself: executors with a planted fault each do not conform, and the same executor without one does.
//!
//! Not under AddressSanitizer: some of the faults leak.
#![cfg(not(terrace_asan))]

#[path = "../common/mod.rs"]
mod common;
mod drivers;

use std::cell::Cell;
use std::collections::VecDeque;
use std::future::Future;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use terrace_conformance::{
    Behaviour, Caps, Handle, Kind, Make, behaviours, driven_behaviours, exact_behaviours,
};
use terrace_local::registry::Registry;
use terrace_local::task::{self, Core, CoreRef, Register, Runnable, Schedule, Task};
use terrace_local::{ThreadNumber, thread_id};

/// The fault of an executor.
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
    QueuesEagerChildren,
    StarvesOthers,
    // Of its drivers.
    SwallowsWakesOfDroppedRuns,
    KeepsABatchInARun,
    PollsTwoInATick,
    ForgetsDriversAtSpawn,
    // Of its batches.
    TurnsBatchesAround,
    DropsBatchesWhosePanic,
}

use Fault::*;
use drivers::Drivers;

thread_local! {
    /// The fault of the executors that this thread makes.
    static PLANTED: Cell<Fault> = const { Cell::new(Nothing) };
}

/// A plain executor, correct but for its fault: a queue under a lock, ticked by hand.
struct Broken(Arc<Shared>);

struct Shared {
    this: Weak<Self>,
    fault: Fault,
    queue: Mutex<VecDeque<Runnable>>,
    registry: Registry,
    owner: ThreadNumber,
    schedules: AtomicUsize,
    polling: AtomicBool,
    /// Eager children so far, and eager polls in progress.
    eager: AtomicUsize,
    depth: AtomicUsize,
    drivers: Mutex<Drivers>,
}

impl Core for Shared {
    fn registry(&self) -> Option<&dyn Register> {
        Some(&self.registry)
    }
}

impl Schedule for Shared {
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
            shared.wake_driver();
        }
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
            if self.fault != ForgetsDriversAtSpawn {
                self.wake_driver();
            }
        }
        if self.fault == PollsAtSpawn {
            self.tick();
        }
        task
    }

    fn spawn_eager<T: Send + 'static>(
        self: &Arc<Self>,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Task<T> {
        let number = self.eager.fetch_add(1, Ordering::Relaxed);
        let queued = number % 200 == 199 && self.fault != StarvesOthers;
        let depth = self.depth.load(Ordering::Relaxed);
        if queued || depth == 16 || self.fault == QueuesEagerChildren {
            return self.spawn(future);
        }
        let core = CoreRef::Shared(Arc::clone(self));
        // SAFETY: future and output are Send and 'static.
        let (runnable, task) = unsafe { task::build(core, future) };
        self.depth.store(depth + 1, Ordering::Relaxed);
        self.poll(runnable);
        self.depth.store(depth, Ordering::Relaxed);
        task
    }

    fn tick(&self) -> bool {
        let mut ticked = false;
        while let Some(task) = self.pop() {
            ticked = true;
            self.poll(task);
            if self.fault != PollsAllInATick {
                break;
            }
        }
        ticked
    }

    fn poll(&self, task: Runnable) {
        let waker = (self.fault == PollsTwice).then(|| task.waker());
        let before = self.polling.swap(true, Ordering::Relaxed);
        task.run();
        self.polling.store(before, Ordering::Relaxed);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn close(&self) {
        let drain = || {
            let queued = std::mem::take(&mut *self.queue.lock().expect("not poisoned"));
            let any = !queued.is_empty();
            drop(queued);
            any
        };
        match self.fault {
            // A registry waits for tasks whose wake is on its way. With a lost wake it would wait
            // without end, so these faults only drain.
            LeaksPendingTasks
            | LosesWakes
            | LosesForeignWakes
            | LosesWakesDuringPolls
            | KeepsABatchInARun => while drain() {},
            LeaksQueuedTasks => {
                let queued = std::mem::take(&mut *self.queue.lock().expect("not poisoned"));
                std::mem::forget(queued);
                self.registry.close(drain);
            }
            _ => self.registry.close(drain),
        }
    }
}

impl Make for Broken {
    const CAPS: Caps = Caps::MANUAL
        .and(Caps::ONE_THREAD)
        .and(Caps::FIFO)
        .and(Caps::CLOSES);

    fn name() -> String {
        "a broken executor".to_owned()
    }

    fn make() -> Self {
        Self(Arc::new_cyclic(|this| Shared {
            this: this.clone(),
            fault: PLANTED.get(),
            queue: Mutex::default(),
            registry: Registry::default(),
            owner: thread_id(),
            schedules: AtomicUsize::new(0),
            polling: AtomicBool::new(false),
            eager: AtomicUsize::new(0),
            depth: AtomicUsize::new(0),
            drivers: Mutex::default(),
        }))
    }
}

impl Kind for Broken {
    type Handle = BrokenHandle;

    fn caps(&self) -> Caps {
        Self::CAPS
    }

    fn maker(&self) -> fn() -> Self {
        Self::make
    }

    fn handle(&self) -> BrokenHandle {
        BrokenHandle(Arc::downgrade(&self.0))
    }

    fn spawn_exact<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Task<T> {
        // One function more that passes the future on, see `task::is_large`.
        if task::is_large(&future) {
            return self.0.spawn(task::boxed(future));
        }
        self.0.spawn(future)
    }

    fn spawn_eager<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Task<T> {
        self.0.spawn_eager(future)
    }

    fn tick(&self) -> bool {
        self.0.tick()
    }

    fn patience(&self) -> Duration {
        match PLANTED.get() {
            Nothing => Duration::from_secs(60),
            // A lost task does not come, however long the test waits.
            _ => Duration::from_millis(300),
        }
    }
}

impl Drop for Broken {
    fn drop(&mut self) {
        self.0.close();
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

    fn spawn_eager<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Option<Task<T>> {
        self.0.upgrade().map(|shared| shared.spawn_eager(future))
    }

    fn tick(&self) -> bool {
        self.0.upgrade().is_some_and(|shared| shared.tick())
    }
}

fn all_behaviours() -> Vec<Behaviour<Broken>> {
    let mut all = behaviours();
    all.extend(exact_behaviours());
    all.extend(driven_behaviours());
    all
}

/// The failure of a behaviour on the executor with this fault.
fn failure(behaviour: Behaviour<Broken>, fault: Fault) -> Option<String> {
    common::failure(behaviour.name, move || {
        PLANTED.set(fault);
        behaviour.check(Broken::make());
    })
}

fn catches(fault: Fault, name: &str) {
    let behaviour = all_behaviours()
        .into_iter()
        .find(|behaviour| behaviour.name == name)
        .expect("a behaviour of that name");
    assert!(behaviour.applies(Broken::CAPS));
    let failure = failure(behaviour, fault);
    assert!(failure.is_some(), "{name} does not see {fault:?}");
}

#[test]
fn without_a_fault_it_conforms() {
    let (applying, others): (Vec<_>, Vec<_>) = all_behaviours()
        .into_iter()
        .partition(|behaviour| behaviour.applies(Broken::CAPS));
    let failures = applying
        .into_iter()
        .filter_map(|behaviour| failure(behaviour, Nothing));
    let failures: Vec<_> = failures.collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    // The one that needs spawns during the drop.
    assert_eq!(others.len(), 1, "faults meet every other behaviour");
}

macro_rules! faults {
    ($($test:ident: $fault:ident $($behaviour:literal)+;)+) => {
        $(#[test]
        fn $test() {
            $(catches($fault, $behaviour);)+
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
    eager_children_are_queued: QueuesEagerChildren "eager::a_child_is_polled_in_the_call";
    eager_children_starve_others: StarvesOthers "eager::a_parent_that_spawns_yields";
    many_polls_in_a_tick: PollsAllInATick "basics::a_tick_polls_one_task";
    pending_tasks_leak: LeaksPendingTasks "shutdown::drops_queued_and_pending_tasks" "shutdown::tasks_that_hold_each_other";
    queued_tasks_leak: LeaksQueuedTasks "shutdown::drops_queued_and_pending_tasks";
    spawns_of_tasks_are_dropped: DropsSpawnsOfTasks "reentry::a_poll_spawns" "reentry::spawns_nest";
    a_dropped_run_swallows_its_wake: SwallowsWakesOfDroppedRuns "drivers::a_dropped_run_passes_its_wake_on";
    a_run_keeps_a_batch: KeepsABatchInARun "drivers::a_run_dropped_half_way_leaves_its_tasks" "drivers::a_forgotten_run_holds_no_task";
    a_tick_is_two_tasks: PollsTwoInATick "drivers::each_tick_is_one_task";
    a_spawn_wakes_no_driver: ForgetsDriversAtSpawn "drivers::each_tick_is_one_task";
    a_batch_is_turned_around: TurnsBatchesAround "batch::runs_and_keeps_its_order";
    a_batch_is_dropped_when_its_iterator_panics: DropsBatchesWhosePanic "batch::its_iterator_panics";
}
