//! Batch spawns: the iterator and the collection are the user's code.

use std::cell::Cell;
use std::future::{Future, pending, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Waker};

use futures_lite::future::block_on;
use terrace_local::{LocalExecutor, StaticLocalExecutor, Task};
use terrace_testing::{Wakes, watchdog};

#[test]
fn outputs_come_in_order_on_both_kinds() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let mut tasks: Vec<Task<usize>> = Vec::new();
    executor.spawn_many((0..100).map(ready), &mut tasks);
    let leaked: &'static StaticLocalExecutor = Box::leak(Box::default());
    leaked.spawn_many((100..200).map(ready), &mut tasks);
    executor.run_until_stalled();
    leaked.run_until_stalled();
    let outputs: Vec<usize> = tasks
        .iter_mut()
        .map(|task| task.try_take().expect("it ran"))
        .collect();
    assert_eq!(outputs, (0..200).collect::<Vec<_>>());
}

#[test]
fn a_batch_wakes_a_driver_once() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let wakes = Arc::<Wakes>::default();
    let waker = Waker::from(wakes.clone());
    let mut run = pin!(executor.run(pending::<()>()));
    assert!(
        run.as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_pending()
    );
    let mut second = pin!(executor.run(pending::<()>()));
    assert!(
        second
            .as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_pending()
    );
    let mut tasks = Vec::new();
    executor.spawn_many((0..1_000).map(ready), &mut tasks);
    assert_eq!(wakes.count(), 1);
}

#[test]
fn an_empty_batch_wakes_no_driver() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let wakes = Arc::<Wakes>::default();
    let waker = Waker::from(wakes.clone());
    let mut run = pin!(executor.run(pending::<()>()));
    assert!(
        run.as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_pending()
    );
    executor.spawn_many(
        std::iter::empty::<std::future::Ready<()>>(),
        &mut Vec::new(),
    );
    assert_eq!(wakes.count(), 0);
}

/// The iterator of a batch panics. The tasks spawned before stay spawned, the batch wakes the driver for them, and
/// nothing is leaked.
#[test]
fn a_panicking_iterator_leaves_what_it_spawned() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let wakes = Arc::<Wakes>::default();
    let waker = Waker::from(wakes.clone());
    let shared = Rc::new(());
    let mut tasks = Vec::new();
    {
        let mut run = pin!(executor.run(pending::<()>()));
        assert!(
            run.as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_pending()
        );
        let futures = (0..10).map(|n| {
            assert!(n < 7, "the iterator's panic");
            let shared = shared.clone();
            async move { drop(shared) }
        });
        let caught = catch_unwind(AssertUnwindSafe(|| {
            executor.spawn_many(futures, &mut tasks)
        }));
        assert!(caught.is_err());
        assert_eq!(wakes.count(), 1);
    }
    assert_eq!(tasks.len(), 7);
    assert_eq!(executor.run_until_stalled(), 7);
    assert!(tasks.iter().all(Task::is_finished));
    assert_eq!(Rc::strong_count(&shared), 1);
    assert!(executor.is_empty());
    assert_eq!(block_on(executor.run(executor.spawn(ready(1)))), 1);
}

/// Takes so many handles and panics.
struct Picky(Vec<Task<()>>, usize);

impl Extend<Task<()>> for Picky {
    fn extend<I: IntoIterator<Item = Task<()>>>(&mut self, tasks: I) {
        for task in tasks {
            assert!(self.0.len() < self.1, "the collection's panic");
            self.0.push(task);
        }
    }
}

#[test]
fn a_panicking_collection_cancels_what_it_did_not_take() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let ran = Rc::new(Cell::new(0));
    let futures = (0..10).map(|_| {
        let ran = ran.clone();
        async move { ran.set(ran.get() + 1) }
    });
    let mut picky = Picky(Vec::new(), 3);
    let caught = catch_unwind(AssertUnwindSafe(|| {
        executor.spawn_many(futures, &mut picky)
    }));
    assert!(caught.is_err());
    executor.run_until_stalled();
    assert_eq!(ran.get(), 3);
    assert!(executor.is_empty());
    assert_eq!(Rc::strong_count(&ran), 1);
}

/// The iterator spawns, ticks, and starts another batch.
#[test]
fn an_iterator_may_use_the_executor() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let ran = Rc::new(Cell::new(0));
    let count = |ran: &Rc<Cell<usize>>| {
        let ran = ran.clone();
        async move { ran.set(ran.get() + 1) }
    };
    let mut tasks = Vec::new();
    let futures = (0..10).map(|_| {
        executor.spawn(count(&ran)).detach();
        let mut inner = Vec::new();
        executor.spawn_many((0..2).map(|_| count(&ran)), &mut inner);
        inner.into_iter().for_each(Task::detach);
        while executor.try_tick() {}
        count(&ran)
    });
    executor.spawn_many(futures, &mut tasks);
    executor.run_until_stalled();
    assert_eq!(ran.get(), 40);
    assert!(executor.is_empty());
}
