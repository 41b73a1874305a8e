//! Records what a pool does, and writes it as a page and as a trace.
//!
//! ```text
//! cargo run --release -p terrace-executor --features timeline --example timeline [EVENTS] [FILE]
//! ```
//!
//! FILE is the page if it ends in `.html`, else the trace. Without one nothing is written. At the end the program says what an event costs.

use std::hint::black_box;
use std::time::{Duration, Instant};

use terrace_executor::{Builder, Executor, block_on, named};
use terrace_trace::{Mark, timeline};

/// Polls whose events are timed at once.
const BATCH: u32 = 1000;

/// Keeps the processor busy.
fn compute(rounds: u32) -> u32 {
    (0..rounds).fold(1, |sum, round| black_box(sum ^ round))
}

/// A request: it asks two others, and waits for both.
async fn request(executor: &Executor<'_>, number: u32) -> u32 {
    let left = executor.spawn(async move { compute(number % 97 * 20) });
    let right = executor.spawn(named("right half", async move {
        smol::future::yield_now().await;
        compute(500)
    }));
    left.await ^ right.await
}

/// Some tens of events for each of them.
async fn requests(executor: &Executor<'static>, requests: u32) {
    for number in 0..requests {
        black_box(request(executor, number).await);
        if number % 256 == 255 {
            smol::Timer::after(Duration::from_micros(300)).await;
        }
    }
}

fn main() -> std::io::Result<()> {
    let mut words = std::env::args().skip(1);
    let events: u32 = words
        .next()
        .map_or(10_000, |word| word.parse().expect("EVENTS is a number"));
    timeline::set_records_per_thread(events as usize);
    let executor = Builder::new().workers(2).build();
    block_on(requests(&executor, events / 13));
    let taken = timeline::snapshot();
    for thread in taken.threads() {
        println!(
            "{}: {} events, {} overwritten",
            thread.name(),
            thread.events(),
            thread.lost()
        );
    }
    if let Some(path) = words.next() {
        let start = Instant::now();
        taken.write_file(path)?;
        println!("written in {:?}", start.elapsed());
    }
    let mark = Mark::spawned::<()>();
    let batch = || {
        let start = Instant::now();
        for _ in 0..BATCH {
            mark.woken();
            drop(mark.polls());
        }
        start.elapsed()
    };
    // The fastest one, which nothing has disturbed.
    let fastest = (0..1000).map(|_| batch()).min().unwrap_or_default();
    println!(
        "{:.1} ns an event",
        fastest.as_secs_f64() * 1e9 / f64::from(3 * BATCH)
    );
    Ok(())
}
