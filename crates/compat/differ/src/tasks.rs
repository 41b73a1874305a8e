//! Acts with tasks of their own, local ones, and slices.

use std::cell::RefCell;
use std::rc::Rc;

#[cfg(feature = "multi_threaded")]
use std::{
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
};

use bevy_tasks::{ParallelSlice, ParallelSliceMut};
#[cfg(feature = "multi_threaded")]
use bevy_tasks::{Task, block_on};

use crate::random::Random;
#[cfg(feature = "multi_threaded")]
use crate::support::outcome;
use crate::support::{World, Yields};

/// Tasks of a pool: awaited, detached, cancelled, dropped. Of those that are cancelled in the middle it is not said how far
/// they came.
#[cfg(feature = "multi_threaded")]
pub(crate) fn spawned(random: &mut Random, world: &World) {
    let Some((pool, _)) = world.with_threads(random) else {
        return;
    };
    let (sender, receiver) = mpsc::channel();
    let dropped = Arc::new(AtomicUsize::new(0));
    struct Counted(Arc<AtomicUsize>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    let mut awaited: Vec<Task<u64>> = Vec::new();
    let mut detached = 0;
    let mut cancelled = 0;
    for n in 0..random.below(12) {
        let turns = random.below(4);
        match random.below(3) {
            0 => awaited.push(pool.spawn(async move {
                Yields(turns).await;
                n
            })),
            1 => {
                let sender = sender.clone();
                let task = pool.spawn(async move {
                    Yields(turns).await;
                    sender.send(n).unwrap();
                });
                task.detach();
                detached += 1;
            }
            _ => {
                let counted = Counted(Arc::clone(&dropped));
                let task: Task<u64> = pool.spawn(async move {
                    let _counted = counted;
                    pending().await
                });
                println!("cancelled {:?}", block_on(task.cancel()));
                cancelled += 1;
            }
        }
    }
    let awaited: Vec<u64> = awaited.into_iter().map(block_on).collect();
    let mut sent: Vec<u64> = receiver.iter().take(detached).collect();
    sent.sort_unstable();
    println!("awaited {awaited:?}, detached {sent:?}");
    println!("dropped {}", dropped.load(SeqCst) == cancelled);
}

/// Local tasks, in the order in which they are polled.
pub(crate) fn locals(random: &mut Random, world: &World) {
    let (pool, _) = world.any(random);
    let log = Rc::new(RefCell::new(Vec::new()));
    let mut kept = Vec::new();
    for n in 0..random.below(8) {
        let (log, turns) = (Rc::clone(&log), random.below(4));
        let task = pool.spawn_local(async move {
            for turn in 0..turns {
                log.borrow_mut().push((n, turn));
                Yields(1).await;
            }
        });
        match random.below(3) {
            0 => drop(task),
            1 => task.detach(),
            _ => kept.push(task),
        }
    }
    pool.with_local_executor(|executor| while executor.try_tick() {});
    println!("polled {:?}", log.borrow());
    println!(
        "finished {:?}",
        kept.iter()
            .map(|task| task.is_finished())
            .collect::<Vec<_>>()
    );
    drop(kept);
    pool.with_local_executor(|executor| while executor.try_tick() {});
    println!("references {}", Rc::strong_count(&log));
}

/// Panics of tasks that are awaited, and of local ones.
#[cfg(feature = "multi_threaded")]
pub(crate) fn panics(random: &mut Random, world: &World) {
    let Some((pool, _)) = world.with_threads(random) else {
        return;
    };
    let turns = random.below(3);
    let awaited = outcome(|| {
        block_on(pool.spawn(async move {
            Yields(turns).await;
            panic!("number {turns}");
        }))
    });
    println!("awaited {awaited:?}");
    let local = pool.spawn_local(async { panic!("a local task") });
    let ticked = outcome(|| pool.with_local_executor(|executor| while executor.try_tick() {}));
    println!("ticked {ticked:?}, finished {}", local.is_finished());
    println!("awaited {:?}", outcome(|| block_on(local)));
}

/// Slices in chunks.
pub(crate) fn slices(random: &mut Random, world: &World) {
    let (pool, _) = world.any(random);
    let mut numbers: Vec<u64> = (0..random.below(50)).map(|_| random.below(100)).collect();
    let chunk = 1 + random.below(9) as usize;
    let sums = numbers.par_chunk_map(pool, chunk, |at, chunk| (at, chunk.iter().sum::<u64>()));
    println!("sums {sums:?}");
    numbers.par_chunk_map_mut(pool, chunk, |_, chunk| chunk.reverse());
    println!("reversed {numbers:?}");
}
