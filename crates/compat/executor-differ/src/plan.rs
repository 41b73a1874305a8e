//! What a task does: a random list of steps, drawn before it is spawned.

use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::task::Poll;

use async_executor::Task;
use fastrand::Rng;
use futures_lite::FutureExt;

use crate::home::Reach;
use crate::world::{Ctx, GATES, Order, text, yields};

/// Generations of tasks that tasks spawn.
const DEPTH: u32 = 2;

/// What a task does.
pub(crate) struct Plan {
    pub(crate) name: String,
    steps: Vec<Step>,
    reach: Reach,
    /// Spawned by `spawn_scoped`, where there is such a method.
    pub(crate) scoped: bool,
}

enum Step {
    Yield,
    /// Waits at a gate.
    Pass(usize),
    Open(usize),
    /// Keeps a waker of the task.
    Stash,
    /// Spawns a task on its own executor.
    Spawn(Box<Plan>, Fate),
    /// Awaits the tasks it has kept.
    Join,
    /// Polls another task in the middle of this one.
    Tick,
    /// Runs the executor in the middle of this task.
    Run(u64),
    Never,
    Panic,
}

/// What becomes of a handle.
#[derive(Clone, Copy)]
enum Fate {
    Kept,
    Detached,
    Dropped,
}

impl Plan {
    /// A random one.
    pub(crate) fn random(rng: &mut Rng, name: String, reach: &Reach, ctx: &Ctx) -> Self {
        Self::deep(rng, name, reach, ctx.order, 0)
    }

    /// One that comes to its end by itself, and spawns nothing that does not.
    pub(crate) fn finite(rng: &mut Rng, name: String, reach: &Reach) -> Self {
        let mut steps: Vec<Step> = (0..rng.u32(0..4)).map(|_| Step::Yield).collect();
        if rng.u32(0..4) == 0 {
            let child = Self::finite(rng, format!("{name}.c"), reach);
            steps.push(Step::Spawn(Box::new(child), Fate::Kept));
            steps.push(Step::Join);
        }
        match rng.u32(0..8) {
            0 => steps.push(Step::Panic),
            1 => steps.push(Step::Tick),
            2 => steps.push(Step::Stash),
            _ => {}
        }
        Self {
            name,
            steps,
            reach: reach.clone(),
            scoped: rng.bool(),
        }
    }

    /// One that waits at a gate, and has kept its waker.
    pub(crate) fn waits(name: String, reach: &Reach, gate: usize) -> Self {
        let steps = vec![Step::Stash, Step::Pass(gate)];
        Self {
            name,
            steps,
            reach: reach.clone(),
            scoped: false,
        }
    }

    fn deep(rng: &mut Rng, name: String, reach: &Reach, order: Order, depth: u32) -> Self {
        let mut steps = Vec::new();
        for at in 0..rng.u32(0..6) {
            let step = match rng.u32(0..18) {
                0..5 => Step::Yield,
                5..7 => Step::Pass(rng.usize(..GATES)),
                7 => Step::Open(rng.usize(..GATES)),
                8 | 9 => Step::Stash,
                10..13 if depth < DEPTH => {
                    let child = format!("{name}.{at}");
                    let child = Self::deep(rng, child, reach, order, depth + 1);
                    let fate = [Fate::Kept, Fate::Detached, Fate::Dropped][rng.usize(..3)];
                    Step::Spawn(Box::new(child), fate)
                }
                13 | 14 => Step::Join,
                15 => Step::Tick,
                // It polls in an order of its own.
                16 if order == Order::Sorted => Step::Run(rng.u64(0..3)),
                17 if rng.bool() => Step::Panic,
                17 => Step::Never,
                _ => Step::Yield,
            };
            steps.push(step);
        }
        Self {
            name,
            steps,
            reach: reach.clone(),
            scoped: rng.bool(),
        }
    }
}

/// What a task gives, which tells of its drop.
pub(crate) struct Value {
    name: String,
    pub(crate) number: u64,
    ctx: Arc<Ctx>,
}

impl Drop for Value {
    fn drop(&mut self) {
        self.ctx.event(format!("{}: value dropped", self.name));
    }
}

/// Tells of the drop of a task's future.
struct Guard {
    name: String,
    reach: Reach,
    ctx: Arc<Ctx>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.ctx.event(format!("{}: future dropped", self.name));
        // The task counts until its future is gone.
        self.ctx.detail(|| {
            let empty = self.reach.home().and_then(|home| home.is_empty());
            format!("{}: empty in the drop: {empty:?}", self.name)
        });
    }
}

/// The future of a task. It owns its guard before the first poll, too.
pub(crate) fn perform(plan: Plan, ctx: Arc<Ctx>) -> impl Future<Output = Value> + Send {
    let guard = Guard {
        name: plan.name.clone(),
        reach: plan.reach.clone(),
        ctx: Arc::clone(&ctx),
    };
    steps(plan, ctx, guard)
}

async fn steps(plan: Plan, ctx: Arc<Ctx>, _guard: Guard) -> Value {
    let Plan {
        name, steps, reach, ..
    } = plan;
    let mut kept: Vec<(String, Task<Value>)> = Vec::new();
    let mut number = 0;
    for (at, step) in steps.into_iter().enumerate() {
        ctx.detail(|| format!("{name}: step {at}"));
        match step {
            Step::Yield => drop(yields(1).await),
            Step::Pass(gate) => ctx.pass(gate, &name).await,
            Step::Open(gate) => ctx.open(gate),
            Step::Stash => {
                poll_fn(|context| {
                    ctx.stash(&name, context.waker());
                    Poll::Ready(())
                })
                .await;
            }
            Step::Spawn(child, fate) => {
                let child_name = child.name.clone();
                let task = reach.home().map(|home| home.spawn(*child, &ctx));
                match (task, fate) {
                    (None, _) => ctx.event(format!("{name}: no executor")),
                    (Some(task), Fate::Kept) => kept.push((child_name, task)),
                    (Some(task), Fate::Detached) => task.detach(),
                    (Some(task), Fate::Dropped) => drop(task),
                }
            }
            Step::Join => {
                for (child, task) in kept.drain(..) {
                    match AssertUnwindSafe(task).catch_unwind().await {
                        Ok(value) => number += value.number + 1,
                        Err(payload) => {
                            ctx.event(format!("{name}: {child} panicked: {}", text(payload)));
                        }
                    }
                }
            }
            Step::Tick => {
                let ticked = reach.home().map(|home| home.try_tick());
                ctx.detail(|| format!("{name}: ticked {ticked:?}"));
            }
            Step::Run(turns) => {
                if let Some(home) = reach.home() {
                    let ran = home.run(yields(turns)).block();
                    ctx.event(format!("{name}: ran {ran:?}"));
                }
            }
            Step::Never => {
                // async-task drops the future of a pending task, or leaks it, once it has neither a handle nor a waker.
                let never = format!("{name}, never");
                poll_fn(|context| {
                    ctx.stash(&never, context.waker());
                    Poll::Pending
                })
                .await
            }
            Step::Panic => {
                // How far they are depends on the order of polls.
                kept.into_iter().for_each(|(_, task)| task.detach());
                ctx.event(format!("{name}: panics"));
                panic!("{name} at step {at}");
            }
        }
    }
    kept.into_iter().for_each(|(_, task)| task.detach());
    ctx.event(format!("{name}: done"));
    Value { name, number, ctx }
}
