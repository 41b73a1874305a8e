//! One thread and its executors, operation by operation. Ticks poll in the order of the queue, which both print step by step.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::Waker;

use async_executor::Task;
use fastrand::Rng;
use futures_lite::future::{block_on, poll_once};

use crate::home::Home;
use crate::plan::{Plan, Value};
use crate::world::{Ctx, GATES, Order, outcome, yields};

/// Operations of a program.
const OPERATIONS: u32 = 40;
/// Ticks that no program needs.
const ENDLESS: u32 = 100_000;
/// Tasks of a batch, at most: more than the drop-in publishes at once.
const BATCH: usize = 80;

/// The state of a program.
struct Steps<'r> {
    rng: &'r mut Rng,
    homes: Vec<Option<Home>>,
    handles: BTreeMap<String, Task<Value>>,
    names: u32,
    ctx: Arc<Ctx>,
}

/// Runs a program.
pub(crate) fn run(rng: &mut Rng) {
    let homes: Vec<_> = (0..rng.usize(1..=2))
        .map(|_| Some(Home::random(rng, false)))
        .collect();
    let kinds: Vec<_> = homes.iter().flatten().map(Home::kind).collect();
    println!("steps on {kinds:?}");
    let ctx = Ctx::new(Order::OfTime);
    let mut steps = Steps {
        rng,
        homes,
        handles: BTreeMap::new(),
        names: 0,
        ctx,
    };
    for _ in 0..OPERATIONS {
        steps.operation();
        steps.ctx.print(false);
    }
    steps.end();
}

impl Steps<'_> {
    fn operation(&mut self) {
        let at = self.rng.usize(..self.homes.len());
        let Some(home) = self.homes[at].clone() else {
            return;
        };
        let operation = self.rng.u32(0..24);
        self.ctx.set_unordered((19..23).contains(&operation));
        match operation {
            0..4 => {
                let plan = self.plan(&home);
                println!("spawn {}", plan.name);
                let name = plan.name.clone();
                let task = home.spawn(plan, &self.ctx);
                self.keep(name, task);
            }
            4 => {
                let plans = (0..self.rng.usize(..BATCH)).map(|_| self.plan(&home));
                let plans: Vec<Plan> = plans.collect();
                println!("spawn {} at once", plans.len());
                let names: Vec<String> = plans.iter().map(|plan| plan.name.clone()).collect();
                let tasks = home.spawn_many(plans, &self.ctx);
                for (name, task) in names.into_iter().zip(tasks) {
                    self.keep(name, task);
                }
            }
            5..9 => {
                for _ in 0..self.rng.u32(1..12) {
                    println!("ticked {}", home.try_tick());
                    self.ctx.print(false);
                }
            }
            9 | 10 => {
                let mut tick = home.tick();
                let polled = tick.poll(Waker::noop(), false);
                println!("tick {polled:?}");
            }
            11 | 12 => {
                let gate = self.rng.usize(..GATES);
                println!("open {gate}");
                if self.rng.bool() {
                    let ctx = &self.ctx;
                    std::thread::scope(|scope| drop(scope.spawn(|| ctx.open(gate)).join()));
                } else {
                    self.ctx.open(gate);
                }
            }
            13 => self.ctx.close(self.rng.usize(..GATES)),
            14 | 15 => self.with_handle(),
            16 => {
                let finished: Vec<_> = self
                    .handles
                    .iter()
                    .map(|(name, task)| {
                        format!(
                            "{name} {}",
                            if task.is_finished() { "is" } else { "is not" }
                        )
                    })
                    .collect();
                println!("finished: {finished:?}");
            }
            17 => println!("empty: {:?}", home.is_empty()),
            18 => {
                println!("wake all");
                let wakers = self.ctx.stashed();
                if self.rng.bool() {
                    let wake = move || wakers.into_iter().for_each(Waker::wake);
                    std::thread::spawn(wake).join().expect("no panic");
                } else {
                    wakers.iter().for_each(Waker::wake_by_ref);
                }
            }
            19 => {
                let turns = self.rng.u64(0..4);
                println!("ran {:?}", home.run(yields(turns)).block());
                self.drain();
            }
            20 => {
                let turns = self.rng.u64(0..4);
                let panics = async move {
                    yields(turns).await;
                    panic!("after {turns} turns")
                };
                println!("ran {:?}", home.run(panics).block());
                self.drain();
            }
            21 => {
                if let Some(other) = &self.homes[self.rng.usize(..self.homes.len())] {
                    let inner = other.run(yields(2));
                    println!("nested {:?}", home.run_driver(inner).block());
                    self.drain();
                }
            }
            22 if self.rng.bool() => {
                println!("leak");
                self.drain();
                drop(home);
                self.homes[at] = self.homes[at].take().map(Home::leak);
                self.drain();
            }
            22 => self.drain(),
            _ if self.rng.u32(0..4) == 0 => {
                println!("drop an executor");
                drop(home);
                drop(self.homes[at].take());
                self.ctx.print(true);
            }
            _ => {}
        }
    }

    fn plan(&mut self, home: &Home) -> Plan {
        self.names += 1;
        Plan::random(
            self.rng,
            format!("t{}", self.names),
            &home.reach(),
            &self.ctx,
        )
    }

    /// Keeps a handle, drops it or detaches it.
    fn keep(&mut self, name: String, task: Task<Value>) {
        match self.rng.u32(0..4) {
            0 => task.detach(),
            1 => drop(task),
            _ => drop(self.handles.insert(name, task)),
        }
    }

    /// Does something with one of the handles.
    fn with_handle(&mut self) {
        let Some(name) = self.name() else { return };
        let task = self.handles.remove(&name).expect("the name is of a handle");
        match self.rng.u32(0..5) {
            0 => {
                println!("drop {name}");
                drop(task);
            }
            1 => {
                println!("detach {name}");
                task.detach();
            }
            2 => {
                let cancelled = outcome(|| block_on(poll_once(task.cancel())));
                let shown = cancelled.map(|polled| polled.map(|value| value.map(|v| v.number)));
                println!("cancel {name}: {shown:?}");
            }
            3 => {
                let polled = outcome(|| block_on(poll_once(task.fallible())));
                let shown = polled.map(|polled| polled.map(|value| value.map(|v| v.number)));
                println!("poll {name} and drop it: {shown:?}");
            }
            _ if task.is_finished() => {
                println!("await {name}: {:?}", outcome(|| block_on(task).number));
            }
            _ => drop(self.handles.insert(name, task)),
        }
    }

    fn name(&mut self) -> Option<String> {
        let at = self.rng.usize(..self.handles.len().max(1));
        self.handles.keys().nth(at).cloned()
    }

    /// Polls what is queued. `run` polls in an order of its own, after which the events are sorted.
    fn drain(&mut self) {
        let mut ticks = 0;
        while self.homes.iter().flatten().any(Home::try_tick) {
            ticks += 1;
            if ticks == ENDLESS {
                println!("endless");
                break;
            }
        }
        self.ctx.print(true);
        self.ctx.set_unordered(false);
    }

    /// Drops all, and says what became of the handles.
    fn end(mut self) {
        println!("end of the executors");
        self.drain();
        let empty: Vec<_> = self.homes.iter().flatten().map(Home::is_empty).collect();
        println!("empty: {empty:?}");
        self.homes.clear();
        self.ctx.print(true);
        for (name, task) in std::mem::take(&mut self.handles) {
            if !task.is_finished() {
                println!("{name} is pending");
                continue;
            }
            let value = outcome(|| block_on(task.fallible()).map(|value| value.number));
            println!("{name}: {value:?}");
        }
        self.ctx.print(true);
        self.ctx.stashed().into_iter().for_each(Waker::wake);
        self.ctx.forget_wakers();
        self.ctx.print(true);
    }
}
