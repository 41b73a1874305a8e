//! Children that return values: places of the caller, and `outputs`.

mod pools;

use std::sync::atomic::{AtomicUsize, Ordering};

use pools::with_each;
use terrace_executor::Executor;
use terrace_fork::{outputs, scope};
use terrace_testing::{Drops, Random, Yields, text_of, watchdog};

#[test]
fn values_borrow_and_come_in_order() {
    let _watchdog = watchdog();
    with_each(|executor| {
        let text: Vec<String> = (0..200_u32).map(|n| format!("{n} word")).collect();
        let futures = text.iter().enumerate().map(|(n, line)| async move {
            Yields(u32::try_from(n % 4).unwrap()).await;
            &line[..line.len() - 5]
        });
        let words: Vec<&str> = outputs(executor, futures);
        assert!(
            words
                .iter()
                .zip(&text)
                .all(|(word, line)| word.as_ptr() == line.as_ptr())
        );
        assert!(words.into_iter().eq((0..200).map(|n| n.to_string())));
        let none: Vec<()> = outputs(executor, std::iter::empty::<std::future::Ready<()>>());
        assert!(none.is_empty());
    });
}

#[test]
fn a_place_keeps_the_last_value_and_drops_the_one_before() {
    let _watchdog = watchdog();
    with_each(|executor| {
        let drops = Drops::new();
        let mut place = Some(drops.value());
        scope(executor, |s| {
            s.spawn_into(&mut place, async { drops.value() })
        });
        assert_eq!((place.is_some(), drops.count()), (true, 1));
        drop(place);
        assert_eq!(drops.count(), 2);
    });
}

#[test]
fn a_panic_drops_the_values_that_were_there() {
    let _watchdog = watchdog();
    with_each(|executor| {
        let drops = Drops::new();
        let made = AtomicUsize::new(0);
        let child = |n: u32| {
            let (drops, made) = (&drops, &made);
            async move {
                Yields(n % 3).await;
                assert!(n != 20, "child 20");
                made.fetch_add(1, Ordering::Relaxed);
                drops.value()
            }
        };
        let message = text_of(|| outputs(executor, (0..40).map(child)));
        assert_eq!(message, "child 20");
        assert_eq!(drops.count(), made.load(Ordering::Relaxed));
    });
}

/// The numbers below a node of a random tree: its own one, and its children.
fn node(random: &mut Random, depth: u32) -> (u64, Vec<Random>) {
    let own = random.number() % 100;
    let children = if depth == 0 { 0 } else { random.below(5) };
    (own, (0..children).map(|_| random.split()).collect())
}

fn sum_alone(mut random: Random, depth: u32) -> u64 {
    let (own, children) = node(&mut random, depth);
    let below = children
        .into_iter()
        .map(|child| sum_alone(child, depth - 1));
    own + below.sum::<u64>()
}

fn sum_in_scopes(executor: &Executor<'static>, mut random: Random, depth: u32) -> u64 {
    let (own, children) = node(&mut random, depth);
    let below = children.into_iter().map(|child| async move {
        Yields(depth % 2).await;
        sum_in_scopes(executor, child, depth - 1)
    });
    own + outputs(executor, below).into_iter().sum::<u64>()
}

/// Random trees of scopes, each node of which sums what its children return.
#[test]
fn random_trees() {
    let _watchdog = watchdog();
    with_each(|executor| {
        for seed in 1..=20 {
            let expected = sum_alone(Random::new(seed), 4);
            assert_eq!(
                sum_in_scopes(executor, Random::new(seed), 4),
                expected,
                "seed {seed}"
            );
        }
    });
}
