//! Work as services have it: actors that answer clients, and tasks that compute.

use std::hint::black_box;

use async_channel::{Receiver, Sender, bounded};

use crate::spawn::{Contender, Spawner};

/// Actors, each with a queue for this many requests.
const ACTORS: usize = 4;
const QUEUE: usize = 16;

/// Steps of [`chain`] in about a microsecond, on a processor of 3 GHz.
const STEPS_A_MICROSECOND: u64 = 500;

/// A request, and where its answer goes.
struct Request {
    number: usize,
    answer: Sender<usize>,
}

async fn actor(requests: Receiver<Request>) -> usize {
    let mut sum = 0;
    while let Ok(Request { number, answer }) = requests.recv().await {
        sum += number;
        answer.send(number + 1).await.expect("the client waits");
    }
    sum
}

async fn client(actors: Vec<Sender<Request>>, requests: usize) {
    let (answer, answers) = bounded(1);
    for number in 0..requests {
        let request = Request {
            number,
            answer: answer.clone(),
        };
        let actor = &actors[number % actors.len()];
        actor.send(request).await.expect("the actor lives");
        black_box(answers.recv().await.expect("the actor answers"));
    }
}

/// `clients` tasks that each ask the actors in turn, `requests` times, and wait for each answer.
pub fn actors<C: Contender>(contender: C, clients: usize, requests: usize) -> impl FnMut() {
    move || {
        let spawner = contender.spawner();
        let (senders, receivers): (Vec<_>, Vec<_>) = (0..ACTORS).map(|_| bounded(QUEUE)).unzip();
        let actors: Vec<_> = receivers
            .into_iter()
            .map(|requests| spawner.spawn(actor(requests)))
            .collect();
        let clients: Vec<_> = (0..clients)
            .map(|_| spawner.spawn(client(senders.clone(), requests)))
            .collect();
        drop(senders);
        contender.run(async {
            for client in clients {
                client.await;
            }
            for actor in actors {
                black_box(actor.await);
            }
        });
    }
}

/// A chain of steps, each of which needs the one before: no memory, nothing to overlap, and nothing that a compiler can
/// shorten. Marsaglia's xorshift.
fn chain(steps: u64) -> u64 {
    let mut value = black_box(1_u64);
    for _ in 0..steps {
        value ^= value << 13;
        value ^= value >> 7;
        value ^= value << 17;
    }
    value
}

async fn computes(microseconds: u64) {
    black_box(chain(microseconds * STEPS_A_MICROSECOND));
}

/// `tasks` tasks that compute for about so long each, spawned by an external thread.
pub fn cpu_bound<C: Contender>(contender: C, tasks: usize, microseconds: u64) -> impl FnMut() {
    move || {
        let spawner = contender.spawner();
        let tasks: Vec<_> = (0..tasks)
            .map(|_| spawner.spawn(computes(microseconds)))
            .collect();
        contender.run(async {
            for task in tasks {
                task.await;
            }
        });
    }
}

/// The same tasks one by one: an external thread spawns the next when it has seen the end of the one before.
pub fn one_by_one<C: Contender>(contender: C, tasks: usize, microseconds: u64) -> impl FnMut() {
    move || {
        for _ in 0..tasks {
            contender.run(contender.spawner().spawn(computes(microseconds)));
        }
    }
}
