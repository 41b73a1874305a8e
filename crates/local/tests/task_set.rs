//! `TaskSet`, `abortable`, names and ids.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::future::{Future, pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::rc::Rc;
use std::sync::mpsc::{Sender, channel};
use std::task::{Context, Poll, Waker};

use futures_lite::future::block_on;
use terrace_local::{
    AbortHandle, LocalExecutor, Task, TaskError, TaskId, TaskName, TaskSet, abortable, named,
};
use terrace_testing::{Drops, OnDrop, Random, WakerSlot, Wakes, Yields, text, watchdog};

type Set<'e, T> = TaskSet<&'e LocalExecutor<'static>, T>;

#[test]
fn results_come_as_tasks_end() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let mut set: Set<'_, u32> = TaskSet::new(&executor);
    let rounds = [9, 3, 6, 0];
    for rounds in rounds {
        set.spawn(async move {
            Yields(rounds).await;
            rounds
        });
    }
    let mut order = Vec::new();
    let context = &mut Context::from_waker(Waker::noop());
    while !set.is_empty() {
        executor.try_tick();
        while let Poll::Ready(Some((number, result))) = set.poll_join_next(context) {
            order.push((number, result.unwrap()));
        }
    }
    assert_eq!(order, [(3, 0), (1, 3), (2, 6), (0, 9)]);
    assert!(set.is_empty() && executor.is_empty());
}

#[test]
fn all_results_come_in_the_order_of_the_spawns() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let mut set: Set<'_, u32> = TaskSet::new(&executor);
    for rounds in [9, 3, 6, 0] {
        set.spawn(async move {
            Yields(rounds).await;
            rounds
        });
    }
    let mut all = pin!(set.join_all());
    let context = &mut Context::from_waker(Waker::noop());
    let all = loop {
        if let Poll::Ready(all) = all.as_mut().poll(context) {
            break all;
        }
        executor.try_tick();
    };
    assert_eq!(all.unwrap(), [9, 3, 6, 0]);
}

#[test]
fn a_set_polled_after_its_end_is_empty_and_goes_on() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let mut set: Set<'_, u32> = TaskSet::new(&executor);
    for _ in 0..2 {
        assert!(block_on(set.join_next()).is_none());
        assert!(set.try_join_next().is_none());
        assert_eq!(block_on(set.join_all()).unwrap(), []);
    }
    set.spawn(async { 7 });
    assert_eq!(set.len(), 1);
    assert_eq!(block_on(executor.run(set.join_all())).unwrap(), [7]);
    assert!(block_on(set.join_next()).is_none());
}

#[test]
fn a_panic_is_the_result_of_its_task_alone() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let mut set: Set<'_, u32> = TaskSet::new(&executor);
    let bad = set.spawn(async { panic!("one of three") });
    let good = set.spawn(async { 2 });
    let eager = set.spawn_eager(async { 3 });
    executor.run_until_stalled();
    let mut results = BTreeMap::new();
    while let Some((number, result)) = set.try_join_next() {
        results.insert(number, result);
    }
    assert_eq!(*results[&good].as_ref().unwrap(), 2);
    assert_eq!(*results[&eager].as_ref().unwrap(), 3);
    let error = results.remove(&bad).unwrap().unwrap_err();
    assert!(!error.is_cancelled());
    assert_eq!(error.to_string(), "the task panicked");
    let TaskError::Panicked(payload) = error else {
        panic!("it has panicked");
    };
    assert_eq!(text(&*payload), "one of three");
}

#[test]
fn outputs_beside_one_that_failed_may_panic_in_their_destructors() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    for fails in 0..4 {
        let mut set = TaskSet::new(&executor);
        for number in 0..4 {
            set.spawn(async move {
                if number == fails {
                    panic!("task {number}");
                }
                OnDrop(|| panic!("destructor"))
            });
        }
        let Err(TaskError::Panicked(payload)) = block_on(executor.run(set.join_all())) else {
            panic!("one has panicked");
        };
        assert_eq!(text(&*payload), format!("task {fails}"));
        assert!(set.is_empty());
    }
}

#[test]
fn a_drop_aborts_all_and_a_detach_none() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let drops = Drops::new();
    let ran = Rc::new(Cell::new(0));
    for detached in [false, true] {
        ran.set(0);
        let mut set: Set<'_, ()> = TaskSet::new(&executor);
        for _ in 0..20 {
            let (kept, ran) = (drops.value(), Rc::clone(&ran));
            set.spawn(async move {
                let _kept = kept;
                ran.set(ran.get() + 1);
            });
        }
        if detached {
            set.detach_all();
            assert!(set.is_empty());
        }
        drop(set);
        executor.run_until_stalled();
        assert_eq!(ran.get(), if detached { 20 } else { 0 });
        assert!(executor.is_empty());
    }
    assert_eq!(drops.count(), 40);
}

#[test]
fn aborts_by_number() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let mut set: Set<'_, usize> = TaskSet::new(&executor);
    for n in 0..40 {
        set.spawn(async move {
            if n % 2 == 0 {
                pending::<()>().await;
            }
            n
        });
    }
    assert!(!set.abort(40) && !set.abort(usize::MAX), "no such task");
    // The set waits: so aborts meet tasks that have its waker.
    let mut join = pin!(executor.run(async { pending::<()>().await }));
    let context = &mut Context::from_waker(Waker::noop());
    assert!(join.as_mut().poll(context).is_pending());
    let mut odd = 0;
    while let Poll::Ready(Some((number, result))) = set.poll_join_next(context) {
        assert_eq!(result.unwrap(), number);
        assert!(!set.abort(number), "it has ended");
        odd += 1;
    }
    assert_eq!(odd, 20);
    for number in (0..40).step_by(2) {
        assert!(set.abort(number));
    }
    let mut cancelled = 0;
    block_on(executor.run(async {
        while let Some((number, result)) = set.join_next().await {
            assert!(number % 2 == 0 && result.unwrap_err().is_cancelled());
            cancelled += 1;
        }
    }));
    assert_eq!(cancelled, 20);
    assert!(executor.is_empty());
}

/// A task that waits spawns another one into its set: it is woken for that one's end, too.
#[test]
fn a_spawn_behind_a_pending_poll_wakes() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let mut set: Set<'_, u32> = TaskSet::new(&executor);
    set.spawn(pending());
    for eager in [false, true] {
        let mut spawned = false;
        let waits = poll_fn(|context| {
            let next = set.poll_join_next(context);
            if !std::mem::replace(&mut spawned, true) {
                assert!(next.is_pending());
                match eager {
                    true => set.spawn_eager(async { 7 }),
                    false => set.spawn(async { 7 }),
                };
            }
            next
        });
        let wakes = Wakes::new();
        let mut waits = pin!(waits);
        assert!(wakes.poll(waits.as_mut()).is_pending());
        executor.run_until_stalled();
        assert_eq!(wakes.count(), 1);
        let Poll::Ready(Some((_, Ok(7)))) = wakes.poll(waits) else {
            panic!("the new task has ended");
        };
    }
    // Nothing waits any more.
    let wakes = Wakes::new();
    set.spawn(async { 8 });
    executor.run_until_stalled();
    assert!(wakes.poll(pin!(set.join_next())).is_ready());
    set.spawn(async { 9 });
    assert_eq!(wakes.count(), 0);
}

/// The tasks of a set run on alone while a task waits for the set: it is woken, and finds the set empty.
#[test]
fn a_set_that_loses_its_tasks_wakes() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let mut set: Set<'_, ()> = TaskSet::new(&executor);
    set.spawn(pending());
    let wakes = Wakes::new();
    assert!(wakes.poll(pin!(set.join_next())).is_pending());
    set.detach_all();
    assert_eq!(wakes.count(), 1);
    assert!(matches!(
        wakes.poll(pin!(set.join_next())),
        Poll::Ready(None)
    ));
}

#[test]
fn a_shutdown_waits_for_the_futures_to_be_dropped() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let drops = Drops::new();
    let mut set: Set<'_, ()> = TaskSet::new(&executor);
    for _ in 0..20 {
        let kept = drops.value();
        set.spawn(async move {
            let _kept = kept;
            pending::<()>().await;
        });
    }
    executor.run_until_stalled();
    block_on(executor.run(set.shutdown()));
    assert_eq!(drops.count(), 20);
    assert!(set.is_empty());
    block_on(set.shutdown());
}

#[test]
fn the_end_of_the_executor_is_a_cancellation() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let spawner = executor.spawner();
    let mut set = TaskSet::new(spawner);
    set.spawn(pending::<u32>());
    executor.run_until_stalled();
    drop(executor);
    set.spawn(async { 1 });
    for _ in 0..2 {
        let (_, result) = block_on(set.join_next()).unwrap();
        assert!(result.unwrap_err().is_cancelled());
    }
}

#[test]
fn an_abort_reaches_a_future_in_each_state() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let drops = Drops::new();
    // Queued.
    let kept = drops.value();
    let (future, handle) = abortable(async move { drop(kept) });
    let mut task = executor.spawn(future);
    handle.abort();
    assert!(handle.is_aborted());
    executor.run_until_stalled();
    assert_eq!((task.try_take(), drops.count()), (Some(None), 1));
    // Pending.
    let slot = WakerSlot::default();
    let (future, handle) = abortable(slot.clone().forever::<()>());
    let mut task = executor.spawn(future);
    executor.run_until_stalled();
    handle.clone().abort();
    assert!(executor.has_queued(), "the abort wakes it");
    executor.run_until_stalled();
    assert_eq!(task.try_take(), Some(None));
    // In its own poll.
    let (future, handle) = abortable(async {
        poll_fn(|_| Poll::<()>::Pending).await;
    });
    let inside = handle.clone();
    let mut future = Box::pin(future);
    let mut task = executor.spawn(poll_fn(move |context| {
        inside.abort();
        future.as_mut().poll(context)
    }));
    executor.run_until_stalled();
    assert_eq!(task.try_take(), Some(None));
    // Done.
    let (future, handle) = abortable(async { 5 });
    let mut task = executor.spawn(future);
    executor.run_until_stalled();
    handle.abort();
    assert_eq!(task.try_take(), Some(Some(5)));
}

#[test]
fn a_future_that_is_aborted_in_its_own_poll_is_dropped_there() {
    let _watchdog = watchdog();
    let (drops, (send, handles)) = (Drops::new(), channel());
    let kept = drops.value();
    let (future, handle) = abortable(async move {
        let _kept = kept;
        let handle: AbortHandle = handles.recv().unwrap();
        handle.abort();
        pending::<()>().await;
    });
    send.send(handle).unwrap();
    let mut future = pin!(future);
    let context = &mut Context::from_waker(Waker::noop());
    assert_eq!(future.as_mut().poll(context), Poll::Ready(None));
    assert_eq!(drops.count(), 1);
}

#[test]
fn a_handle_keeps_no_waker_of_a_dropped_future() {
    let _watchdog = watchdog();
    let wakes = Wakes::new();
    let (future, _handle) = abortable(pending::<()>());
    assert!(wakes.poll(pin!(future)).is_pending());
    assert_eq!(std::sync::Arc::strong_count(&wakes), 1);
}

#[test]
fn an_abortable_future_polled_after_its_end_panics() {
    let _watchdog = watchdog();
    let (future, _handle) = abortable(async {});
    let mut future = pin!(future);
    let context = &mut Context::from_waker(Waker::noop());
    assert_eq!(future.as_mut().poll(context), Poll::Ready(Some(())));
    let again = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context)));
    assert!(text(&*again.unwrap_err()).contains("not polled after its end"));
}

#[test]
fn a_task_and_its_handle_agree_about_its_id() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let tasks: Vec<Task<Option<TaskId>>> =
        (0..10).map(|_| executor.spawn(TaskId::current())).collect();
    let ids: Vec<_> = tasks.iter().map(Task::id).collect();
    executor.run_until_stalled();
    for (n, (mut task, id)) in tasks.into_iter().zip(&ids).enumerate() {
        assert!(id.is_some() && !ids[..n].contains(id), "ids differ");
        assert_eq!(task.id(), *id, "the end changes nothing");
        assert_eq!(task.try_take(), Some(*id));
    }
    let mut later = executor.spawn_eager(async {
        Yields(1).await;
        TaskId::current().await
    });
    let id = later.id();
    assert!(id.is_some());
    executor.run_until_stalled();
    assert_eq!(later.try_take(), Some(id));
    assert_eq!(TaskId::of(Waker::noop()), None);
}

#[test]
fn names_are_those_of_the_innermost_future_and_outlast_panics() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let now = || TaskName::current().map(|name| name.name().to_owned());
    let (outer, line) = (
        named("outer", async move {
            let before = now();
            let inner = named(String::from("in\0ner"), async move {
                Yields(1).await;
                now()
            });
            (before, inner.await, now())
        }),
        line!() - 8,
    );
    let shown = format!("{outer:?}");
    assert!(shown.contains("\"outer\""), "{shown}");
    assert!(shown.contains(&format!("line: {line}")), "{shown}");
    let mut task = executor.spawn(outer);
    let plain = executor.spawn(async move { now() });
    let panics = executor.spawn(named("", async { panic!("of a named task") }));
    executor.run_until_stalled();
    let names = ["outer", "in\0ner", "outer"].map(|name| Some(name.to_owned()));
    assert_eq!(task.try_take().map(<[_; 3]>::from), Some(names));
    assert_eq!(block_on(plain), None);
    let _: &Task<()> = &panics;
    assert!(panics.is_finished());
    assert_eq!(now(), None);
}

#[test]
fn names_are_known_in_destructors_of_thread_locals() {
    struct AtTheEnd(Cell<Option<Sender<[Option<String>; 2]>>>);
    impl Drop for AtTheEnd {
        fn drop(&mut self) {
            let now = || TaskName::current().map(|name| name.name().to_owned());
            let polled = pin!(named("late", async move { now() }));
            let polled = polled.poll(&mut Context::from_waker(Waker::noop()));
            let inside = match polled {
                Poll::Ready(name) => name,
                Poll::Pending => unreachable!("it waits for nothing"),
            };
            if let Some(names) = self.0.take() {
                names.send([now(), inside]).unwrap();
            }
        }
    }
    thread_local! {
        static AT_THE_END: AtTheEnd = const { AtTheEnd(Cell::new(None)) };
    }
    let _watchdog = watchdog();
    let (names, late) = channel();
    let thread = std::thread::spawn(move || {
        // Of two thread-locals, the one that was used first goes last.
        AT_THE_END.with(|end| end.0.set(Some(names)));
        block_on(named("early", async {
            assert!(TaskName::current().is_some())
        }));
    });
    thread.join().unwrap();
    assert_eq!(late.recv(), Ok([None, Some("late".to_owned())]));
}

/// Random programs: each task ends once, as its fate says.
#[test]
fn random_programs() {
    let _watchdog = watchdog();
    for seed in 1..=60 {
        let random = &mut Random::new(seed);
        let wakers = [Waker::noop().clone(), Wakes::new().waker()];
        let executor = LocalExecutor::new();
        let drops = Drops::new();
        let mut set: Set<'_, usize> = TaskSet::new(&executor);
        let (mut spawned, mut ended, mut last) = (0, 0, None);
        let mut end = |number: usize, result: Result<usize, TaskError>| {
            if let Ok(number_inside) = result {
                assert_eq!(number_inside, number, "seed {seed}");
            }
            ended += 1;
        };
        for _ in 0..random.below(300) {
            match random.below(8) {
                0..=2 => {
                    let (kept, fate) = (drops.value(), random.below(5));
                    let rounds = random.of(&[0, 1, 2, 5]);
                    // Every number is one more than the one before, until a detach.
                    let number = last.map_or(0, |last| last + 1);
                    let task = async move {
                        let _kept = kept;
                        Yields(rounds).await;
                        match fate {
                            0 => panic!("fate"),
                            1 => pending().await,
                            _ => number,
                        }
                    };
                    let given = match random.once_in(2) {
                        true => set.spawn(task),
                        false => set.spawn_eager(task),
                    };
                    assert_eq!(given, number, "seed {seed}");
                    last = Some(number);
                    spawned += 1;
                }
                3 => {
                    executor.try_tick();
                }
                4 => {
                    executor.run_for(random.below(20));
                }
                5 => {
                    set.abort(random.below(spawned + 1));
                }
                6 => {
                    if let Some((number, result)) = set.try_join_next() {
                        end(number, result);
                    }
                }
                _ => {
                    let waker = wakers[random.below(2)].clone();
                    let context = &mut Context::from_waker(&waker);
                    if let Poll::Ready(Some((number, result))) = set.poll_join_next(context) {
                        end(number, result);
                    }
                }
            }
        }
        set.abort_all();
        block_on(executor.run(async {
            while let Some((number, result)) = set.join_next().await {
                end(number, result);
            }
        }));
        assert_eq!((ended, drops.count()), (spawned, spawned), "seed {seed}");
        assert!(executor.is_empty());
    }
}
