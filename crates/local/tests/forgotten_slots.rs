//! A task that goes on for long keeps no slots of others, and tasks keep their numbers.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use terrace_local::{LocalExecutor, TaskGroup, TaskSet};
use terrace_testing::{Random, Wakes, Yields, watchdog};

type Set<'e, T> = TaskSet<&'e LocalExecutor<'static>, T>;

/// Each block of slots that a list keeps has a waker of the task that awaits it; the test has one of its own at most.
fn blocks(wakes: &Arc<Wakes>) -> usize {
    Arc::strong_count(wakes) - 1
}

#[test]
fn a_task_that_goes_on_keeps_no_slots_of_others() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let mut set: Set<'_, usize> = TaskSet::new(&executor);
    let wakes = Wakes::new();
    let waker = wakes.waker();
    let context = &mut Context::from_waker(&waker);
    let goes_on = set.spawn(pending());
    for number in 1..=1_000 {
        set.spawn(async move {
            Yields(1).await;
            number
        });
        assert!(set.poll_join_next(context).is_pending());
        executor.run_until_stalled();
        let Poll::Ready(Some((found, Ok(output)))) = set.poll_join_next(context) else {
            panic!("task {number} has ended");
        };
        assert_eq!((found, output), (number, number));
        assert!(blocks(&wakes) <= 4, "{number} tasks: {}", blocks(&wakes));
    }
    assert!(set.abort(goes_on) && !set.abort(500) && !set.abort(usize::MAX));
    executor.run_until_stalled();
    assert!(set.poll_join_next(context).is_ready() && set.is_empty());
}

#[test]
fn a_child_that_goes_on_keeps_no_slots_of_others() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let mut group = TaskGroup::<_, usize, Infallible>::new(&executor);
    let wakes = Wakes::new();
    group.spawn(pending());
    for number in 1..=1_000 {
        group.spawn(async move {
            Yields(2).await;
            Ok(number)
        });
        let mut next = pin!(group.next());
        let value = loop {
            if let Poll::Ready(value) = wakes.poll(next.as_mut()) {
                break value;
            }
            executor.try_tick();
        };
        assert_eq!(value, Some(Ok((number, number))));
        assert!(blocks(&wakes) <= 3, "{number} children: {}", blocks(&wakes));
    }
    drop(group);
    executor.run_until_stalled();
    assert!(executor.is_empty());
}

#[test]
fn numbers_stay_where_blocks_are_forgotten() {
    let _watchdog = watchdog();
    for seed in 0..100 {
        let mut random = Random::new(seed);
        let executor = LocalExecutor::new();
        let mut set: Set<'_, usize> = TaskSet::new(&executor);
        let wakes = Wakes::new();
        let waker = wakes.waker();
        let context = &mut Context::from_waker(&waker);
        // Whether each task that has left no result so far was aborted.
        let mut left = BTreeMap::new();
        let mut next = 0;
        for step in 0..600 {
            if step < 400 {
                let life = if random.below(40) == 0 {
                    2_000
                } else {
                    random.below(30)
                };
                let number = next;
                next += 1;
                let future = async move {
                    Yields(life as u32).await;
                    number
                };
                let spawned = match random.below(4) {
                    0 => set.spawn_eager(future),
                    _ => set.spawn(future),
                };
                assert_eq!(spawned, number, "seed {seed}");
                left.insert(number, false);
            }
            if random.below(20) == 0 {
                let number = random.below(next);
                if set.abort(number) {
                    *left.get_mut(&number).expect("it has left no result") = true;
                }
            }
            for _ in 0..random.below(20) {
                executor.try_tick();
            }
            loop {
                let ended = match random.below(3) {
                    0 => set.try_join_next(),
                    _ => match set.poll_join_next(context) {
                        Poll::Ready(ended) => ended,
                        Poll::Pending => None,
                    },
                };
                let Some((number, result)) = ended else { break };
                let aborted = left.remove(&number).expect("each result comes once");
                match result {
                    Ok(output) => assert_eq!(output, number, "seed {seed}"),
                    Err(error) => assert!(aborted && error.is_cancelled(), "seed {seed}"),
                }
            }
            assert_eq!(set.len(), left.len(), "seed {seed}");
            if set.poll_join_next(context).is_pending() {
                assert!(blocks(&wakes) <= left.len() + 3, "seed {seed}");
            }
        }
        set.abort_all();
        executor.run_until_stalled();
        while set
            .try_join_next()
            .is_some_and(|(number, _)| left.remove(&number).is_some())
        {}
        assert!(set.is_empty() && left.is_empty(), "seed {seed}");
    }
}
