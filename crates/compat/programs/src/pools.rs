//! A task pool of Bevy beside smol's executor: tasks of each wait for tasks of the other.

use bevy_tasks::TaskPoolBuilder;
use smol::channel::{Sender, bounded, unbounded};

use crate::Failure;

/// A number, and where its square goes.
type Question = (u64, Sender<u64>);

pub(crate) fn run() -> Result<(), Failure> {
    let pool = TaskPoolBuilder::new().num_threads(2).build();
    let (ask, questions) = unbounded::<Question>();
    let server = pool.spawn(async move {
        let mut answered = 0;
        while let Ok((number, answer)) = questions.recv().await {
            if answer.send(number * number).await.is_ok() {
                answered += 1;
            }
        }
        answered
    });
    let clients: Vec<_> = (0..8)
        .map(|client| {
            let ask = ask.clone();
            smol::spawn(async move {
                let mut sum = 0;
                for number in client * 100..(client + 1) * 100 {
                    let (sender, answer) = bounded(1);
                    ask.send((number, sender)).await?;
                    sum += answer.recv().await?;
                }
                Ok::<_, Failure>(sum)
            })
        })
        .collect();
    drop(ask);
    smol::block_on(async {
        for client in clients {
            println!("a client's sum: {}", client.await?);
        }
        println!("answered: {}", server.await);
        Ok::<_, Failure>(())
    })?;
    let sums = pool.scope(|scope| {
        for factor in 0..4_u64 {
            scope.spawn(async move {
                let numbers: Vec<_> = (0..50)
                    .map(|number| smol::spawn(async move { number * factor }))
                    .collect();
                let mut sum = 0;
                for number in numbers {
                    sum += number.await;
                }
                sum
            });
        }
    });
    println!("sums of a scope: {sums:?}");
    Ok(())
}
