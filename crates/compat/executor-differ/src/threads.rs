//! Threads that run an executor, beside threads that spawn, wake and cancel. The events are sorted.

use std::sync::Arc;
use std::task::Waker;
use std::thread;

use fastrand::Rng;
use futures_lite::future::{block_on, or};

use crate::home::Home;
use crate::plan::Plan;
use crate::world::{Ctx, Order, outcome, yields};

/// Operations of a thread that spawns.
const OPERATIONS: u32 = 40;
/// Turns of a short `run`.
const TURNS: u64 = 30;
/// Where those tasks wait that never pass.
const CLOSED: usize = 1;
/// Where all wait until the end.
const LAST: usize = 0;

/// Runs a program.
pub(crate) fn run(rng: &mut Rng) {
    let home = Home::random(rng, true);
    let (runners, spawners) = (rng.usize(1..4), rng.usize(1..4));
    println!("{runners} threads run {}, {spawners} spawn", home.kind());
    let ctx = Ctx::new(Order::Sorted);
    let results = match &home {
        Home::Shared(executor) => between(&**executor, &home, (runners, spawners), rng, &ctx),
        Home::Static(executor) => between(*executor, &home, (runners, spawners), rng, &ctx),
        _ => unreachable!("threads share it"),
    };
    results.iter().flatten().for_each(|line| println!("{line}"));
    println!("empty: {:?}", home.is_empty());
    drop(home);
    ctx.print(true);
    ctx.stashed().into_iter().for_each(Waker::wake);
    ctx.forget_wakers();
    ctx.print(true);
}

/// What threads need of an executor.
trait Runs: Sync {
    /// Polls tasks until [`LAST`] is open.
    fn poll_all(&self, way: Way, ctx: &Arc<Ctx>, name: &str);
}

/// How a thread polls tasks.
#[derive(Clone, Copy)]
enum Way {
    /// In one `run`.
    Run,
    /// By one `tick` after the other. The last one is dropped while it waits.
    Tick,
    /// In many short `run`s.
    Runs,
}

macro_rules! runs {
    ($($type:ty)+) => {$(
        impl Runs for $type {
            fn poll_all(&self, way: Way, ctx: &Arc<Ctx>, name: &str) {
                let mut ended = false;
                while !ended {
                    let end = async {
                        ctx.pass(LAST, name).await;
                        true
                    };
                    let turns = async {
                        yields(TURNS).await;
                        false
                    };
                    let tick = async {
                        self.tick().await;
                        false
                    };
                    ended = match way {
                        Way::Run => block_on(self.run(end)),
                        Way::Tick => block_on(or(end, tick)),
                        Way::Runs => block_on(self.run(or(end, turns))),
                    };
                }
            }
        }
    )+};
}

runs!(async_executor::Executor<'static> async_executor::StaticExecutor);

/// What the spawners have seen, each its own lines.
fn between(
    executor: &dyn Runs,
    home: &Home,
    (runners, spawners): (usize, usize),
    rng: &mut Rng,
    ctx: &Arc<Ctx>,
) -> Vec<Vec<String>> {
    thread::scope(|scope| {
        for at in 0..runners {
            let way = [Way::Run, Way::Tick, Way::Runs][rng.usize(..3)];
            scope.spawn(move || executor.poll_all(way, ctx, &format!("runner {at}")));
        }
        let threads: Vec<_> = (0..spawners)
            .map(|at| {
                let (mut rng, reach) = (rng.fork(), home.reach());
                scope.spawn(move || {
                    let home = reach.home().expect("it is there until all are joined");
                    spawner(&mut rng, &home, &format!("s{at}"), ctx)
                })
            })
            .collect();
        let lines = threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic"));
        let lines = lines.collect();
        ctx.open(LAST);
        lines
    })
}

/// Spawns, awaits, wakes and cancels.
fn spawner(rng: &mut Rng, home: &Home, thread: &str, ctx: &Arc<Ctx>) -> Vec<String> {
    let reach = home.reach();
    let mut lines = Vec::new();
    let mut kept = Vec::new();
    for at in 0..OPERATIONS {
        let name = format!("{thread}.{at}");
        match rng.u32(0..10) {
            0..4 => {
                let task = home.spawn(Plan::finite(rng, name.clone(), &reach), ctx);
                if rng.bool() {
                    kept.push((name, task));
                } else {
                    let value = outcome(|| block_on(task).number);
                    lines.push(format!("{name}: {value:?}"));
                }
            }
            4 => {
                let plans =
                    (0..rng.u32(0..50)).map(|n| Plan::finite(rng, format!("{name}.{n}"), &reach));
                let tasks = home.spawn_many(plans.collect(), ctx);
                for (n, task) in tasks.into_iter().enumerate() {
                    let value = outcome(|| block_on(task).number);
                    lines.push(format!("{name}.{n}: {value:?}"));
                }
            }
            5 | 6 => {
                // It waits without end, so it is always pending.
                let task = home.spawn(Plan::waits(name.clone(), &reach, CLOSED), ctx);
                if rng.bool() && matches!(home, Home::Shared(_)) {
                    task.detach();
                } else {
                    let value = outcome(|| block_on(task.cancel()).map(|value| value.number));
                    lines.push(format!("{name} cancelled: {value:?}"));
                }
            }
            7 => ctx.stashed().into_iter().for_each(Waker::wake),
            8 => drop(home.try_tick()),
            _ => {
                for (name, task) in kept.drain(..) {
                    lines.push(format!("{name}: {:?}", outcome(|| block_on(task).number)));
                }
            }
        }
    }
    for (name, task) in kept {
        lines.push(format!("{name}: {:?}", outcome(|| block_on(task).number)));
    }
    lines
}
