//! Spawning from inside, messages between workers, bursts, and trees.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_channel::bounded;
use futures_lite::future;

use crate::Gate;
use crate::spawn::{self, Contender, Spawner};

/// `amount` tasks that do nothing, spawned by a task of the executor.
pub fn spawn_many_inside<C: Contender>(contender: C, amount: usize) -> impl FnMut() {
    move || {
        let spawner = contender.spawner();
        contender.run(spawner.spawn(spawn::many(spawner, amount)));
    }
}

/// `amount` tasks that do nothing, spawned by an external thread, while each worker has a task that
/// never rests.
pub fn spawn_many_busy<C: Contender>(contender: C, workers: usize, amount: usize) -> impl FnMut() {
    let restless = Restless::new(contender, workers);
    move || {
        let contender = restless.contender();
        contender.run(spawn::many(contender.spawner(), amount));
    }
}

/// An executor with tasks that wake themselves until dropped.
pub struct Restless<C: Contender> {
    over: Arc<AtomicBool>,
    tasks: Vec<<C::Spawner as Spawner>::Task<()>>,
    contender: C,
}

impl<C: Contender> Restless<C> {
    /// Spawns that many.
    pub fn new(contender: C, tasks: usize) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let task = |_| {
            let over = Arc::clone(&over);
            contender.spawner().spawn(async move {
                while !over.load(Ordering::Relaxed) {
                    future::yield_now().await;
                }
            })
        };
        let tasks = (0..tasks).map(task).collect();
        Self {
            over,
            tasks,
            contender,
        }
    }
}

impl<C: Contender> Restless<C> {
    /// The executor.
    pub fn contender(&self) -> &C {
        &self.contender
    }
}

impl<C: Contender> Drop for Restless<C> {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let tasks = std::mem::take(&mut self.tasks);
        self.contender.run(async {
            for task in tasks {
                task.await;
            }
        });
    }
}

/// Pairs of tasks that send one another a message `messages` times, over channels with room for one.
pub fn ping_pong<C: Contender>(contender: C, pairs: usize, messages: usize) -> impl FnMut() {
    move || {
        let spawner = contender.spawner();
        let mut tasks = Vec::new();
        for _ in 0..pairs {
            let (ping, ping_here) = bounded(1);
            let (pong, pong_here) = bounded(1);
            tasks.push(spawner.spawn(async move {
                for number in 0..messages {
                    ping.send(number).await.expect("the partner lives");
                    black_box(pong_here.recv().await.expect("the partner lives"));
                }
            }));
            tasks.push(spawner.spawn(async move {
                for _ in 0..messages {
                    let number = ping_here.recv().await.expect("the partner lives");
                    pong.send(number).await.expect("the partner lives");
                }
            }));
        }
        contender.run(async {
            for task in tasks {
                task.await;
            }
        });
    }
}

/// `tasks` tasks that all wait. An external thread wakes them one straight after the other.
pub fn burst_wake<C: Contender>(contender: C, tasks: usize) -> impl FnMut() {
    let burst = Burst::new(contender, tasks);
    move || burst.round()
}

/// Waiting tasks; ended when dropped.
struct Burst<C: Contender> {
    shared: Arc<Shared>,
    tasks: Vec<<C::Spawner as Spawner>::Task<()>>,
    contender: C,
}

struct Shared {
    gates: Vec<Gate>,
    /// Tasks that have not answered in this round; the last opens `done`.
    left: AtomicUsize,
    done: Gate,
    over: AtomicBool,
}

impl<C: Contender> Burst<C> {
    fn new(contender: C, tasks: usize) -> Self {
        let shared = Arc::new(Shared {
            gates: (0..tasks).map(|_| Gate::default()).collect(),
            left: AtomicUsize::new(0),
            done: Gate::default(),
            over: AtomicBool::new(false),
        });
        let task = |number| {
            let shared = Arc::clone(&shared);
            contender.spawner().spawn(async move {
                loop {
                    let gate: &Gate = &shared.gates[number];
                    gate.pass().await;
                    if shared.over.load(Ordering::Relaxed) {
                        break;
                    }
                    if shared.left.fetch_sub(1, Ordering::Relaxed) == 1 {
                        shared.done.open();
                    }
                }
            })
        };
        let tasks = (0..tasks).map(task).collect();
        Self {
            shared,
            tasks,
            contender,
        }
    }

    fn round(&self) {
        let shared = &*self.shared;
        shared.left.store(shared.gates.len(), Ordering::Relaxed);
        shared.gates.iter().for_each(Gate::open);
        self.contender.run(shared.done.pass());
    }
}

impl<C: Contender> Drop for Burst<C> {
    fn drop(&mut self) {
        // The gates' locks order it.
        self.shared.over.store(true, Ordering::Relaxed);
        self.shared.gates.iter().for_each(Gate::open);
        let tasks = std::mem::take(&mut self.tasks);
        self.contender.run(async {
            for task in tasks {
                task.await;
            }
        });
    }
}

/// A task that spawns `children` tasks of about a microsecond and adds up their results, `rounds` times.
pub fn fan_out_fan_in<C: Contender>(contender: C, children: u64, rounds: usize) -> impl FnMut() {
    move || {
        let spawner = contender.spawner();
        let sum = contender.run(spawner.spawn(async move {
            let mut sum = 0_u64;
            for _ in 0..rounds {
                let tasks: Vec<_> = (0..children)
                    .map(|child| spawner.spawn(async move { compute(child) }))
                    .collect();
                for task in tasks {
                    sum = sum.wrapping_add(task.await);
                }
            }
            sum
        }));
        black_box(sum);
    }
}

/// A chain of dependent multiplications.
fn compute(seed: u64) -> u64 {
    const STEPS: u64 = 500;
    (0..STEPS).fold(black_box(seed), |value, step| {
        black_box(value.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ step)
    })
}
