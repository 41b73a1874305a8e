//! Every name of the published interface, used the way the published signatures allow. `cargo xtask compat --interface` runs
//! these tests on the published crate, too, and compares all signatures.

use std::fmt::Debug;
use std::future::pending;
use std::panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe, catch_unwind};
use std::rc::Rc;

use async_executor::{Executor, FallibleTask, LocalExecutor, Task};
use futures_lite::future::{self, block_on};
use static_assertions::{assert_impl_all, assert_not_impl_any};
use terrace_testing::{Drops, watchdog};

assert_impl_all!(Executor<'static>: Send, Sync, Unpin, UnwindSafe, RefUnwindSafe, Default, Debug);
assert_impl_all!(LocalExecutor<'static>: Unpin, UnwindSafe, RefUnwindSafe, Default, Debug);
assert_not_impl_any!(LocalExecutor<'static>: Send, Sync);

static EXECUTOR: Executor<'_> = Executor::new();

fn is_send_and_sync<T: Send + Sync>(value: T) -> T {
    value
}

/// Handles are those of async-task.
fn handle<T>(task: Task<T>) -> async_task::Task<T> {
    task
}

/// What is `const` is so in each place that wants it.
const NEW: fn() -> Executor<'static> = Executor::new;
const _: Executor<'static> = Executor::new();

thread_local! {
    static LOCAL: LocalExecutor<'static> = const { LocalExecutor::new() };
}

#[test]
fn functions_have_the_published_parameters() {
    let _watchdog = watchdog();
    let executor = NEW();
    let tick: fn(&Executor<'static>) -> bool = Executor::try_tick;
    let empty: for<'e> fn(&'e Executor<'static>) -> bool = Executor::is_empty;
    assert!(empty(&executor) && !tick(&executor));
    // Explicit types come in this order.
    let task = executor.spawn::<u8>(async { 1 });
    let mut tasks: Vec<Task<u8>> = Vec::new();
    executor.spawn_many::<u8, future::Ready<u8>>([future::ready(2)], &mut tasks);
    assert_eq!(block_on(executor.run::<u8>(task)), 1);
    // A future that is Send and not Sync makes one that is.
    let counted = std::cell::Cell::new(3);
    let run = executor.run(async move { counted.get() });
    fn is_send<T: Send>(value: T) -> T {
        value
    }
    assert_eq!(block_on(is_send(run)), 3);
    LOCAL.with(|executor| {
        let tick: fn(&LocalExecutor<'static>) -> bool = LocalExecutor::try_tick;
        executor.spawn::<u8>(async { 4 }).detach();
        executor.spawn_many::<u8, _>([future::ready(5)], &mut tasks);
        assert!(tick(executor) && tick(executor) && executor.is_empty());
    });
    // What is awaited need neither be Send nor live as long as the tasks.
    let here = Rc::new(6);
    assert_eq!(block_on(executor.run(async { *here })), 6);
    drop(executor);
    // Tasks that were polled keep what they gave.
    assert!(block_on(tasks.remove(0).fallible()).is_none_or(|value| value == 2));
    assert_eq!(block_on(tasks.remove(0)), 5);
}

/// The executor of tasks that borrow may be moved, be shared, and be part of a type with a lifetime.
#[test]
fn lifetimes_are_those_of_the_tasks() {
    let _watchdog = watchdog();
    struct Holds<'t> {
        executor: Executor<'t>,
        local: LocalExecutor<'t>,
    }
    fn spawn<'t>(holds: &Holds<'t>, word: &'t str) -> (Task<usize>, Task<usize>) {
        let task = holds.executor.spawn(async move { word.len() });
        (task, holds.local.spawn(async move { word.len() }))
    }
    let word = String::from("borrowed");
    let holds = Holds {
        executor: Executor::default(),
        local: LocalExecutor::default(),
    };
    let (shared, local) = spawn(&holds, &word);
    let Holds {
        executor,
        local: here,
    } = holds;
    let moved = std::thread::scope(|scope| {
        let thread = scope.spawn(|| block_on(executor.run(shared)));
        thread.join().expect("no panic")
    });
    assert_eq!((moved, block_on(here.run(local))), (8, 8));
}

#[test]
fn executors_spawn_and_run() {
    let _watchdog = watchdog();
    let word = String::from("borrowed");
    let executor = Executor::new();
    assert!(executor.is_empty());
    let task = handle(executor.spawn(async { word.len() }));
    assert!(!executor.is_empty());
    assert!(executor.try_tick());
    assert!(executor.is_empty());
    assert_eq!(block_on(task), 8);
    let mut tasks = Vec::new();
    executor.spawn_many((0..3).map(future::ready), &mut tasks);
    block_on(is_send_and_sync(executor.tick()));
    assert_eq!(block_on(is_send_and_sync(executor.run(tasks.remove(2)))), 2);
    let fallible: FallibleTask<i32> = tasks.remove(1).fallible();
    drop(executor);
    assert!(matches!(block_on(fallible), Some(1) | None));
}

#[test]
fn a_static_one_takes_tasks_of_all_threads() {
    let _watchdog = watchdog();
    let done: Vec<u32> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|i| scope.spawn(move || block_on(EXECUTOR.run(EXECUTOR.spawn(async move { i })))))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic"))
            .collect()
    });
    assert_eq!(done, [0, 1, 2, 3]);
}

#[test]
fn local_executors_take_futures_that_are_not_send() {
    let _watchdog = watchdog();
    let number = Rc::new(3);
    let executor = LocalExecutor::new();
    let task = handle(executor.spawn(async { *number }));
    let mut tasks = Vec::new();
    executor.spawn_many([future::ready(Rc::clone(&number))], &mut tasks);
    assert!(!executor.is_empty() && executor.try_tick());
    block_on(executor.tick());
    assert!(executor.is_empty());
    assert_eq!(block_on(executor.run(task)), 3);
    assert_eq!(*block_on(tasks.remove(0)), 3);
}

/// The waker of a local task wakes it from any thread, also after the end.
#[test]
fn local_tasks_are_woken_from_elsewhere() {
    let _watchdog = watchdog();
    let (sender, receiver) = std::sync::mpsc::channel();
    let executor = LocalExecutor::new();
    let not_send = Rc::new(5);
    let mut first = true;
    let task = executor.spawn(future::poll_fn(move |context| {
        if std::mem::take(&mut first) {
            sender.send(context.waker().clone()).expect("a receiver");
            return std::task::Poll::Pending;
        }
        std::task::Poll::Ready(*not_send)
    }));
    let thread = std::thread::spawn(move || {
        let waker = receiver.recv().expect("a waker");
        waker.wake_by_ref();
        waker
    });
    assert_eq!(block_on(executor.run(task)), 5);
    drop(executor);
    thread.join().expect("no panic").wake();
}

#[test]
fn panics_reach_their_handles() {
    let _watchdog = watchdog();
    let executor = Executor::new();
    let task: Task<()> = executor.spawn(async { panic!("a planned panic") });
    executor
        .spawn(async { panic!("nothing hears of this one") })
        .detach();
    assert!(executor.try_tick() && executor.try_tick());
    assert!(catch_unwind(AssertUnwindSafe(|| block_on(task))).is_err());
}

#[test]
fn a_drop_wakes_and_drops_the_tasks() {
    let _watchdog = watchdog();
    let drops = Drops::new();
    let executor = Executor::new();
    let keeps = |polled: bool| {
        let value = drops.value();
        let task = executor.spawn(async move {
            let _value = value;
            pending::<()>().await;
        });
        if polled {
            assert!(executor.try_tick());
        }
        task
    };
    let tasks = [keeps(true), keeps(false)];
    drop(executor);
    assert_eq!(drops.count(), 2);
    for task in tasks {
        assert_eq!(block_on(task.fallible()), None);
    }
}

#[test]
fn debug_names_the_type() {
    assert!(format!("{:?}", Executor::new()).starts_with("Executor"));
    assert!(format!("{:?}", LocalExecutor::new()).starts_with("LocalExecutor"));
}

#[cfg(feature = "static")]
mod never_dropped {
    use async_executor::{StaticExecutor, StaticLocalExecutor};

    use super::*;

    assert_impl_all!(StaticExecutor: Send, Sync, Unpin, UnwindSafe, RefUnwindSafe, Default, Debug);
    assert_impl_all!(StaticLocalExecutor: Send, Unpin, UnwindSafe, RefUnwindSafe, Default, Debug);
    assert_not_impl_any!(StaticLocalExecutor: Sync);

    static EXECUTOR: StaticExecutor = StaticExecutor::new();

    thread_local! {
        static LOCAL: &'static StaticLocalExecutor =
            Box::leak(Box::new(const { StaticLocalExecutor::new() }));
    }

    #[test]
    fn functions_have_the_published_parameters() {
        let _watchdog = watchdog();
        let leak: fn(Executor<'static>) -> &'static StaticExecutor = Executor::leak;
        let leak_local: fn(LocalExecutor<'static>) -> &'static StaticLocalExecutor =
            LocalExecutor::leak;
        let executor = leak(Executor::default());
        let task = executor.spawn::<u8>(async { 1 });
        assert_eq!(block_on(executor.run::<u8>(task)), 1);
        let tick: fn(&StaticExecutor) -> bool = StaticExecutor::try_tick;
        assert!(!tick(executor) && !tick(&StaticExecutor::default()));
        let local = leak_local(LocalExecutor::default());
        let task = local.spawn::<Rc<u8>>(async { Rc::new(2) });
        assert_eq!(*block_on(local.run::<Rc<u8>>(task)), 2);
        let task = LOCAL.with(|local| local.spawn(async { 3 }));
        assert_eq!(block_on(LOCAL.with(|local| *local).run(task)), 3);
        // An executor that nothing was spawned on may change its thread.
        let fresh = std::thread::spawn(StaticLocalExecutor::default);
        let fresh: &'static _ = Box::leak(Box::new(fresh.join().expect("no panic")));
        assert!(!fresh.try_tick());
    }

    fn awaits<T>(run: impl Future<Output = T>) -> T {
        block_on(run)
    }

    #[test]
    fn they_spawn_and_run() {
        let _watchdog = watchdog();
        let word = String::from("borrowed");
        let task = handle(EXECUTOR.spawn(async { 1 }));
        // SAFETY: the task ends in the next line.
        let scoped = unsafe { EXECUTOR.spawn_scoped(async { word.len() }) };
        assert_eq!(awaits(is_send_and_sync(EXECUTOR.run(scoped))), 8);
        assert_eq!(awaits(EXECUTOR.run(task)), 1);
        EXECUTOR.spawn(async {}).detach();
        awaits(is_send_and_sync(EXECUTOR.tick()));
        assert!(!EXECUTOR.try_tick());

        let local: &'static StaticLocalExecutor =
            Box::leak(Box::new(const { StaticLocalExecutor::new() }));
        let number = Rc::new(3);
        let task = local.spawn(async move { *number });
        // SAFETY: the task ends in the next line.
        let scoped = unsafe { local.spawn_scoped(async { word.len() }) };
        assert_eq!(awaits(local.run(scoped)), 8);
        assert_eq!(awaits(local.run(task)), 3);
        local.spawn(async {}).detach();
        awaits(local.tick());
        assert!(!local.try_tick());
    }

    #[test]
    fn a_leaked_one_keeps_its_tasks() {
        let _watchdog = watchdog();
        let executor = Executor::new();
        let task = executor.spawn(future::yield_now());
        assert!(executor.try_tick());
        let leaked: &'static StaticExecutor = executor.leak();
        awaits(leaked.run(task));

        let executor = LocalExecutor::new();
        let number = Rc::new(3);
        let task = executor.spawn(async move { *number });
        let leaked: &'static StaticLocalExecutor = executor.leak();
        assert_eq!(awaits(leaked.run(task)), 3);
        assert!(format!("{leaked:?}").starts_with("StaticLocalExecutor"));
    }
}
