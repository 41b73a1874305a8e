//! A server, its connections and their database, simulated.

use std::hint::black_box;

use async_channel::{Receiver, Sender, bounded};
use fastrand::Rng;
use futures_lite::future::yield_now;

use super::{Contender, STEPS, Spawner, TASKS};

/// The same numbers in every iteration.
const SEED: u64 = 0x1234_5678;

/// Where the database sends its answer.
type Reply = Sender<usize>;

/// [`TASKS`] connections. A cache answers about half of them. The others ask a database between half and all of
/// [`STEPS`] times, over a channel with room for a fifth of them. The database answers after up to nine turns.
pub fn web_server<C: Contender>(contender: C) -> impl FnMut() {
    move || {
        contender.run(async {
            let spawner = contender.spawner();
            let (queries, incoming) = bounded(TASKS / 5);
            let mut random = Rng::with_seed(SEED);
            let connections = random.fork();
            let database = spawner.spawn(database(incoming, random));
            let server = spawner.spawn(server(spawner, queries, connections));
            server.await;
            // It ends when the last connection has dropped its sender.
            database.await;
        });
    }
}

async fn database(incoming: Receiver<Reply>, mut random: Rng) {
    while let Ok(reply) = incoming.recv().await {
        for _ in 0..random.usize(..10) {
            yield_now().await;
        }
        reply.send(random.usize(..)).await.ok();
    }
}

async fn server<S: Spawner>(spawner: S, queries: Sender<Reply>, mut random: Rng) {
    for number in 0..TASKS {
        if random.usize(..=16) == 16 {
            yield_now().await;
        }
        S::detach(spawner.spawn(connection(queries.clone(), random.fork())));
        if number & 16 == 0 {
            yield_now().await;
        }
    }
}

async fn connection(queries: Sender<Reply>, mut random: Rng) {
    if random.bool() {
        yield_now().await;
        return;
    }
    for _ in 0..random.usize(STEPS / 2..STEPS) {
        let (reply, answer) = bounded(1);
        queries.send(reply).await.expect("the database lives");
        black_box(answer.recv().await.expect("the database answers"));
    }
    for _ in 0..random.usize(3..16) {
        yield_now().await;
    }
}
