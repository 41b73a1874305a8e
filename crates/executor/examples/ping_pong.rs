//! Pairs of tasks that wake each other, and their costs beside time: context switches and CPU time a message.
//! Each answer is checked, and so is their number.
//!
//! ```sh
//! cargo run --release -p terrace-executor --example ping_pong -- WORKERS PAIRS MESSAGES
//! ```
//!
//! `strace -f -c -e trace=futex` also shows the number of futex calls. With `--cfg terrace_count`, the example shows
//! our own atomic operations in the first pair's first task. With one worker and one pair, these are all.

use std::time::Instant;

use terrace_executor::{Builder, block_on};

/// Context switches of both kinds and CPU time in ns, of all threads so far; zeros on other systems than Linux.
#[derive(Clone, Copy, Default)]
struct Usage {
    switches: u64,
    nanos: u64,
}

impl Usage {
    fn now() -> Self {
        let mut usage = Self::default();
        let tasks = std::fs::read_dir("/proc/self/task");
        for task in tasks.into_iter().flatten() {
            let path = task.expect("readable").path();
            let read = |file: &str| std::fs::read_to_string(path.join(file)).unwrap_or_default();
            let number =
                |text: Option<&str>| text.and_then(|text| text.trim().parse().ok()).unwrap_or(0);
            for line in read("status")
                .lines()
                .filter(|line| line.contains("ctxt_switches"))
            {
                usage.switches += number(line.split(':').nth(1));
            }
            usage.nanos += number(read("schedstat").split(' ').next());
        }
        usage
    }
}

#[cfg(terrace_count)]
fn operations() -> terrace_sync::count::Counts {
    terrace_sync::count::Counts::now()
}

fn main() {
    let mut arguments = std::env::args()
        .skip(1)
        .map(|text| text.parse::<usize>().expect("a number"));
    let mut next = |default| arguments.next().unwrap_or(default);
    let (workers, pairs, messages) = (next(2), next(1), next(100_000));
    let executor = Builder::new()
        .workers(workers)
        .try_build_static()
        .expect("threads start");
    let (before, start) = (Usage::now(), Instant::now());
    let tasks: Vec<_> = (0..pairs)
        .map(|_| {
            let (ping, ping_here) = smol::channel::bounded(1);
            let (pong, pong_here) = smol::channel::bounded(1);
            executor
                .spawn(async move {
                    while let Ok(message) = ping_here.recv().await {
                        pong.send(message).await.expect("the partner waits");
                    }
                })
                .detach();
            executor.spawn(async move {
                #[cfg(terrace_count)]
                let counted = operations();
                let mut answered = 0;
                for message in 0..messages {
                    ping.send(message).await.expect("the partner waits");
                    let answer = pong_here.recv().await.expect("the partner answers");
                    assert_eq!(answer, message, "the partner sends back what it gets");
                    answered += 1;
                }
                #[cfg(terrace_count)]
                println!("{:?} in {messages} round trips", operations() - counted);
                answered
            })
        })
        .collect();
    let answered: usize = tasks.into_iter().map(block_on).sum();
    let (wall, after) = (start.elapsed(), Usage::now());
    assert_eq!(answered, pairs * messages, "every message is answered once");
    let trips = (pairs * messages) as f64;
    println!(
        "{workers} workers, {pairs} pairs: {:.0} ns, {:.0} ns of CPU and {:.4} context switches a round trip",
        wall.as_nanos() as f64 / trips,
        (after.nanos - before.nanos) as f64 / trips,
        (after.switches - before.switches) as f64 / trips,
    );
}
