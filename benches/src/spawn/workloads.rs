//! Spawning, waking and passing messages.

use async_channel::bounded;
use futures_lite::future;

use super::{BATCH, Contender, STEPS, Spawner, TASKS};

/// One task that does nothing.
pub fn spawn_one<C: Contender>(contender: C) -> impl FnMut() {
    move || contender.run(async { contender.spawner().spawn(async {}).await })
}

/// `amount` tasks that do nothing.
pub fn spawn_many<C: Contender>(contender: C, amount: usize) -> impl FnMut() {
    move || contender.run(many(contender.spawner(), amount))
}

pub(crate) async fn many<S: Spawner>(spawner: S, amount: usize) {
    let mut tasks = Vec::new();
    for _ in 0..amount {
        tasks.push(spawner.spawn(async {}));
    }
    for task in tasks {
        task.await;
    }
}

/// [`BATCH`] tasks at once, by the contender's own call for it where it has one; each waits for one turn.
pub fn spawn_batch<C: Contender>(contender: C) -> impl FnMut() {
    let mut tasks = Vec::new();
    move || {
        contender.run(async {
            let futures = (0..BATCH).map(|_| future::yield_now());
            contender.spawner().spawn_many(futures, &mut tasks);
            for task in tasks.drain(..) {
                task.await;
            }
        });
    }
}

/// [`TASKS`] tasks, each of which spawns one and waits for it, [`STEPS`] deep.
pub fn spawn_recursively<C: Contender>(contender: C) -> impl FnMut() {
    move || {
        contender.run(async {
            let spawner = contender.spawner();
            let tasks: Vec<_> = (0..TASKS)
                .map(|_| spawner.spawn(descend(spawner, STEPS)))
                .collect();
            for task in tasks {
                task.await;
            }
        });
    }
}

/// Boxed, for the future would contain itself otherwise.
fn descend<S: Spawner>(spawner: S, left: usize) -> future::Boxed<()> {
    Box::pin(async move {
        if left > 0 {
            spawner.spawn(descend(spawner, left - 1)).await;
        }
    })
}

/// [`TASKS`] tasks that wake themselves [`STEPS`] times each.
pub fn yield_now<C: Contender>(contender: C) -> impl FnMut() {
    move || {
        contender.run(async {
            let spawner = contender.spawner();
            let task = |_| {
                spawner.spawn(async {
                    for _ in 0..STEPS {
                        future::yield_now().await;
                    }
                })
            };
            let tasks: Vec<_> = (0..TASKS).map(task).collect();
            for task in tasks {
                task.await;
            }
        });
    }
}

/// A chain of [`TASKS`] tasks; [`STEPS`] messages go through it, one at a time.
pub fn channels<C: Contender>(contender: C) -> impl FnMut() {
    move || {
        contender.run(async {
            let spawner = contender.spawner();
            let (head, mut tail) = bounded(1);
            let mut tasks = Vec::new();
            for _ in 0..TASKS {
                let (send, receive) = bounded(1);
                let from = std::mem::replace(&mut tail, receive);
                tasks.push(spawner.spawn(async move {
                    for _ in 0..STEPS {
                        from.recv().await.expect("the sender lives");
                        send.send(()).await.expect("the receiver lives");
                    }
                }));
            }
            for _ in 0..STEPS {
                head.send(()).await.expect("the chain lives");
                tail.recv().await.expect("the chain lives");
            }
            for task in tasks {
                task.await;
            }
        });
    }
}
