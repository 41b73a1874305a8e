//! A pool that tokio-console can look at: `cargo run --bin console`, and `tokio-console` beside it. With the argument `check` the program
//! is its own console: it connects to its server as that program does, and tells whether each task is there, with its place and its counts.

use std::collections::BTreeMap;
use std::future::pending;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use console_api::instrument::InstrumentRequest;
use console_api::instrument::instrument_client::InstrumentClient;
use console_api::tasks::{Stats, Task};
use console_subscriber::ConsoleLayer;
use futures_lite::future::yield_now;
use terrace_executor::{Builder, Executor, block_on, named};
use tokio::time::timeout;

/// Where tokio-console looks without an address.
const PORT: u16 = 6_669;
/// For one update of the server, which come once a second.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often one of the tasks is polled.
const POLLS: u64 = 50;

fn main() -> Result<()> {
    let checks = std::env::args().nth(1).as_deref() == Some("check");
    let address = SocketAddr::from((
        Ipv4Addr::LOCALHOST,
        if checks { free_port()? } else { PORT },
    ));
    ConsoleLayer::builder().server_addr(address).init();
    let executor = Builder::new().workers(2).build();
    if checks {
        spawn(&executor);
        return tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?
            .block_on(check(address));
    }
    println!("2 workers; look at them with `tokio-console http://{address}`");
    spawn(&executor);
    block_on(work(&executor))
}

/// A port that nothing listens to.
fn free_port() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(listener.local_addr()?.port())
}

/// Tasks that stay as they are.
fn spawn(executor: &Executor<'static>) {
    executor.spawn(yields()).detach();
    executor.spawn(waits()).detach();
    executor
        .spawn(named("a task with a name", waits()))
        .detach();
}

/// Is polled some times, and then waits.
async fn yields() {
    for _ in 1..POLLS {
        yield_now().await;
    }
    pending::<()>().await;
}

/// Waits for what does not come, without a waker: a task that is lost.
async fn waits() {
    pending::<()>().await;
}

/// Tasks come and go.
async fn work(executor: &Executor<'static>) -> Result<()> {
    loop {
        let parts: Vec<_> = (1..=8).map(|part| executor.spawn(computes(part))).collect();
        for part in parts {
            part.await;
        }
    }
}

/// Works for some milliseconds between its polls.
async fn computes(part: u64) {
    for _ in 0..part {
        std::thread::sleep(Duration::from_millis(20));
        yield_now().await;
    }
}

/// What a console was told so far.
#[derive(Default)]
struct Seen {
    tasks: Vec<Task>,
    stats: BTreeMap<u64, Stats>,
}

impl Seen {
    /// The tasks whose future has this in the name of its type, each with its stats.
    fn find(&self, name: &str) -> Vec<(&Task, &Stats)> {
        let has_name = |task: &&Task| {
            let mut fields = task.fields.iter();
            fields.any(|field| field.to_string().contains(name))
        };
        let tasks = self.tasks.iter().filter(has_name);
        tasks
            .filter_map(|task| Some((task, self.stats.get(&task.id.as_ref()?.id)?)))
            .collect()
    }

    /// Whether all is there.
    fn check(&self) -> Result<()> {
        for (name, tasks, wanted) in [("console::yields", 1, POLLS), ("console::waits", 2, 1)] {
            let found = self.find(name);
            ensure!(found.len() == tasks, "{name}: {} tasks", found.len());
            for (task, stats) in found {
                let place = task.location.as_ref().context("a task has a place")?;
                ensure!(place.file().ends_with("console.rs"), "{place:?}");
                let polls = stats.poll_stats.as_ref().context("it has polls")?.polls;
                ensure!(polls == wanted, "{name}: {polls} polls of {wanted}");
                ensure!(stats.dropped_at.is_none(), "{name} is there");
                let wakers = (stats.waker_clones, stats.waker_drops);
                ensure!(wakers.0 == wakers.1, "{name}: {stats:?}");
                let wakes = (stats.wakes, stats.self_wakes);
                ensure!(wakes == (wanted - 1, wanted - 1), "{name}: {stats:?}");
            }
        }
        Ok(())
    }
}

async fn check(address: SocketAddr) -> Result<()> {
    // The server begins on a thread of its own.
    let connected = async {
        loop {
            match InstrumentClient::connect(format!("http://{address}")).await {
                Ok(client) => return client,
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
    };
    let mut client = timeout(PATIENCE, connected).await?;
    let updates = client.watch_updates(InstrumentRequest {}).await?;
    let (mut updates, mut seen) = (updates.into_inner(), Seen::default());
    let mut last = Ok(());
    for _ in 0..10 {
        let update = timeout(PATIENCE, updates.message()).await??;
        let Some(tasks) = update.context("the server ended")?.task_update else {
            continue;
        };
        ensure!(tasks.dropped_events == 0, "the server has lost events");
        seen.tasks.extend(tasks.new_tasks);
        seen.stats.extend(tasks.stats_update);
        last = seen.check();
        if last.is_ok() {
            println!(
                "tokio-console sees {} tasks, each with its place and its polls",
                seen.tasks.len()
            );
            // The server and the tasks have no end.
            return Ok(());
        }
    }
    match last {
        Ok(()) => bail!("the server tells nothing"),
        Err(error) => Err(error),
    }
}
