//! Many `run` and `tick` futures of one executor, which an event loop polls when they are woken, and only then. Drivers change
//! threads between polls, end, panic and are dropped. Whenever no driver is woken, every task that can run has run.

use std::collections::BTreeMap;
use std::future::{Future, pending, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::task::{Context, Poll, Wake, Waker};

use async_executor::Task;
use fastrand::Rng;
use futures_lite::future::{block_on, poll_once};

use crate::home::{Drive, Home};
use crate::plan::{Plan, Value};
use crate::world::{Ctx, GATES, Order, outcome, yields};

/// Operations of a program.
const OPERATIONS: u32 = 60;
/// Polls that no settling needs.
const ENDLESS: u32 = 100_000;
/// Tasks of a batch, at most: more than a poll of a driver runs.
const BATCH: usize = 300;

/// Whether a driver was woken.
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, SeqCst);
    }
}

/// A handle that is detached when its driver is dropped: how far the task is by then depends on the order of polls.
struct Awaited(Option<Task<Value>>);

impl Awaited {
    /// The task's number, or a panic.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<u64> {
        let task = self.0.as_mut().expect("it is there until the drop");
        Pin::new(task).poll(context).map(|value| value.number)
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        self.0.take().into_iter().for_each(Task::detach);
    }
}

/// What becomes of a driver.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It is there until nothing is left to do, and what it gives is printed.
    Stays,
    /// It may be dropped while there is something to do. Whether it ended before depends on the order of polls.
    Doomed,
    /// It never ends.
    Endless,
}

struct Driver {
    name: String,
    drive: Drive,
    woken: Arc<Flag>,
    fate: Fate,
}

struct Loop<'r> {
    /// Draws the operations.
    rng: &'r mut Rng,
    /// Draws the polls, whose number depends on the executor.
    polls: Rng,
    /// Drivers that may be dropped.
    doomed: Vec<String>,
    home: Home,
    drivers: Vec<Driver>,
    handles: BTreeMap<String, Task<Value>>,
    names: u32,
    ctx: Arc<Ctx>,
}

/// Runs a program.
pub(crate) fn run(rng: &mut Rng) {
    let home = Home::random(rng, false);
    println!("drivers of {}", home.kind());
    let ctx = Ctx::new(Order::Sorted);
    let (drivers, handles) = (Vec::new(), BTreeMap::new());
    let polls = rng.fork();
    let mut this = Loop {
        rng,
        polls,
        doomed: Vec::new(),
        home,
        drivers,
        handles,
        names: 0,
        ctx,
    };
    for _ in 0..OPERATIONS {
        this.operation();
    }
    this.settle();
    this.end();
}

impl Loop<'_> {
    fn operation(&mut self) {
        match self.rng.u32(0..20) {
            0..3 => {
                let plan = self.plan();
                let name = plan.name.clone();
                let task = self.home.spawn(plan, &self.ctx);
                // A task that is polled before this ends in the same way as one that is not.
                drop(self.handles.insert(name, task));
            }
            3 => {
                let plans: Vec<Plan> = (0..self.rng.usize(..BATCH)).map(|_| self.plan()).collect();
                let tasks = self.home.spawn_many(plans, &self.ctx);
                tasks.into_iter().for_each(Task::detach);
            }
            4..7 => self.add(),
            7..12 => drop(self.poll()),
            12 | 13 => self.drop_doomed(),
            14 => {
                let (gate, ctx) = (self.rng.usize(..GATES), &self.ctx);
                std::thread::scope(|scope| drop(scope.spawn(|| ctx.open(gate)).join()));
            }
            15 => self.ctx.stashed().into_iter().for_each(Waker::wake),
            16 => {
                // A poll that no wake asked for.
                if let Some(driver) = self.drivers.first() {
                    driver.woken.0.store(true, SeqCst);
                }
            }
            17 => {
                self.settle();
                self.change();
            }
            18 => {
                self.settle();
                self.leave();
            }
            _ => {}
        }
    }

    /// From a state where all drivers sleep: some come and sleep, too, something is queued, and those are dropped that it has
    /// woken, perhaps. Nothing else wakes the rest.
    fn leave(&mut self) {
        let all = self.rng.usize(2..6);
        // The endless one is not always the first to sleep.
        self.drivers.clear();
        self.add_endless();
        for _ in 0..all {
            self.add_doomed();
        }
        while self.poll() {}
        match self.rng.u32(0..4) {
            0 => {
                let plan = self.plan();
                self.home.spawn(plan, &self.ctx).detach();
            }
            1 => {
                let plans: Vec<Plan> = (0..self.rng.usize(..BATCH)).map(|_| self.plan()).collect();
                let tasks = self.home.spawn_many(plans, &self.ctx);
                tasks.into_iter().for_each(Task::detach);
            }
            2 => self.ctx.open(self.rng.usize(..GATES)),
            _ => self.ctx.stashed().into_iter().for_each(Waker::wake),
        }
        for _ in 0..all {
            if self.rng.u32(0..3) == 0 {
                let _polled = self.poll();
            }
            self.drop_doomed();
        }
        self.settle();
    }

    fn plan(&mut self) -> Plan {
        self.names += 1;
        Plan::random(
            self.rng,
            format!("t{}", self.names),
            &self.home.reach(),
            &self.ctx,
        )
    }

    /// Adds a driver, which is to be polled.
    fn add(&mut self) {
        let turns = self.rng.u64(0..5);
        self.names += 1;
        let name = format!("d{}", self.names);
        let kind = self.rng.u32(0..6);
        let drive = match kind {
            0 => self.home.run(pending()),
            1 => self.home.run(yields(turns)),
            2 => {
                let (ctx, gate) = (Arc::clone(&self.ctx), turns as usize % GATES);
                let name = name.clone();
                self.home.run(async move {
                    ctx.pass(gate, &name).await;
                    7
                })
            }
            3 => {
                let plan = self.plan();
                let mut awaited = Awaited(Some(self.home.spawn(plan, &self.ctx)));
                self.home.run(poll_fn(move |context| awaited.poll(context)))
            }
            4 => self.home.tick(),
            _ => self.home.run(async move {
                yields(turns).await;
                panic!("after {turns} turns")
            }),
        };
        let fate = match kind {
            _ if self.rng.u32(0..3) == 0 => Fate::Doomed,
            0 => Fate::Endless,
            _ => Fate::Stays,
        };
        self.push(name, drive, fate);
    }

    /// Adds a driver that waits until it is dropped, or runs one task.
    fn add_doomed(&mut self) {
        self.names += 1;
        let drive = match self.rng.bool() {
            true => self.home.run(pending()),
            false => self.home.tick(),
        };
        self.push(format!("d{}", self.names), drive, Fate::Doomed);
    }

    /// Adds a driver that stays.
    fn add_endless(&mut self) {
        let drive = self.home.run(pending());
        self.push("endless".to_owned(), drive, Fate::Endless);
    }

    fn push(&mut self, name: String, drive: Drive, fate: Fate) {
        if fate == Fate::Doomed {
            self.doomed.push(name.clone());
        }
        self.drivers.push(Driver {
            name,
            drive,
            woken: Arc::new(Flag(AtomicBool::new(true))),
            fate,
        });
    }

    /// Drops a driver that may be dropped, if it has not ended.
    fn drop_doomed(&mut self) {
        if self.doomed.is_empty() {
            return;
        }
        let name = self.doomed.swap_remove(self.rng.usize(..self.doomed.len()));
        let elsewhere = self.rng.bool();
        let mut names = self.drivers.iter().map(|driver| &driver.name);
        if let Some(at) = names.position(|other| *other == name) {
            self.drivers.swap_remove(at).drive.end(elsewhere);
        }
    }

    /// Polls a driver that was woken; false if there is none.
    fn poll(&mut self) -> bool {
        let woken = |driver: &Driver| driver.woken.0.load(SeqCst);
        let all: Vec<usize> = (0..self.drivers.len())
            .filter(|at| woken(&self.drivers[*at]))
            .collect();
        if all.is_empty() {
            return false;
        }
        let at = all[self.polls.usize(..all.len())];
        let driver = &mut self.drivers[at];
        driver.woken.0.store(false, SeqCst);
        if self.polls.u32(0..4) == 0 {
            // A driver that is polled with a new waker is woken through that one.
            driver.woken = Arc::new(Flag(AtomicBool::new(false)));
        }
        let waker = Waker::from(Arc::clone(&driver.woken));
        match driver.drive.poll(&waker, self.polls.u32(0..4) == 0) {
            Ok(Poll::Pending) => return true,
            _ if driver.fate == Fate::Doomed => {}
            // Which driver runs a task is not said, so a `tick` may end or not.
            Ok(Poll::Ready(0)) => {}
            ended => self.ctx.event(format!("{}: {ended:?}", driver.name)),
        }
        drop(self.drivers.swap_remove(at));
        true
    }

    /// Polls woken drivers until none is woken, and prints what has happened. One driver is an endless one.
    fn settle(&mut self) {
        let endless = |driver: &Driver| driver.fate == Fate::Endless;
        if !self.drivers.iter().any(endless) {
            self.add_endless();
        }
        let mut polls = 0;
        while self.poll() {
            polls += 1;
            if polls == ENDLESS {
                println!("endless");
                break;
            }
        }
        // Ticks that are left would be the first to run what comes next, on one side only.
        self.drivers.retain(endless);
        self.doomed.clear();
        println!("settled, empty: {:?}", self.home.is_empty());
        self.ctx.print(true);
    }

    /// Changes something that a poll in between would make depend on order.
    fn change(&mut self) {
        match self.rng.u32(0..4) {
            0 => {
                for gate in 0..GATES {
                    self.ctx.close(gate);
                }
            }
            1 => {
                let at = self.rng.usize(..self.handles.len().max(1));
                if let Some(name) = self.handles.keys().nth(at).cloned() {
                    let task = self.handles.remove(&name).expect("its name was found");
                    let cancelled = outcome(|| block_on(poll_once(task.cancel())));
                    let shown = cancelled.map(|polled| polled.map(|value| value.map(|v| v.number)));
                    println!("cancel {name}: {shown:?}");
                }
            }
            2 => {
                for (name, task) in std::mem::take(&mut self.handles) {
                    if task.is_finished() {
                        println!("await {name}: {:?}", outcome(|| block_on(task).number));
                    } else {
                        self.handles.insert(name, task);
                    }
                }
            }
            _ if self.rng.u32(0..4) == 0 => {
                println!("leak");
                self.drivers.clear();
                let kept = Home::random(self.rng, true);
                self.home = std::mem::replace(&mut self.home, kept).leak();
            }
            _ => {}
        }
    }

    /// Drops the executor with tasks in its queues.
    fn end(mut self) {
        for _ in 0..self.rng.u32(0..40) {
            let plan = self.plan();
            self.home.spawn(plan, &self.ctx).detach();
        }
        self.ctx.open(0);
        self.ctx.stashed().into_iter().for_each(Waker::wake);
        println!("end of {}", self.home.kind());
        self.drivers.clear();
        drop(self.home);
        self.ctx.print(true);
        for (name, task) in self.handles {
            if task.is_finished() {
                let value = outcome(|| block_on(task.fallible()).map(|value| value.number));
                println!("{name}: {value:?}");
            }
        }
        self.ctx.stashed().into_iter().for_each(Waker::wake);
        self.ctx.forget_wakers();
        self.ctx.print(true);
    }
}
