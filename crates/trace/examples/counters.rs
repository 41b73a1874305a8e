//! Two workers of a toy pool tell the hooks what they do, and the counters are printed.
//!
//! ```sh
//! cargo run -p terrace-trace --features enabled --example counters
//! ```
//!
//! Without the feature every hook is an empty function, and all counters stay 0.

use std::collections::VecDeque;

use terrace_trace as trace;

/// Jobs that the program spawns.
const JOBS: u64 = 10;

/// One worker: its number, and its own queue.
struct Worker {
    number: usize,
    queue: VecDeque<u64>,
}

impl Worker {
    /// Runs a job of its own queue; false if there is none.
    fn run_one(&mut self) -> bool {
        let Some(job) = self.queue.pop_front() else {
            return false;
        };
        trace::run_begin();
        println!("worker {} runs job {job}", self.number);
        true
    }

    /// Takes half of a peer's jobs.
    fn steal(&mut self, peer: &mut Self) {
        let half = peer.queue.len() / 2;
        if half > 0 {
            trace::steal(half);
            self.queue.extend(peer.queue.drain(..half));
        }
    }
}

fn main() {
    let before = trace::snapshot();
    let [mut first, mut second] = [0, 1].map(|number| Worker {
        number,
        queue: VecDeque::new(),
    });
    for job in 0..JOBS {
        trace::spawn();
        trace::local_schedule();
        first.queue.push_back(job);
    }
    second.steal(&mut first);
    while first.run_one() | second.run_one() {}
    for worker in [&first, &second] {
        trace::park();
        println!("worker {} has slept", worker.number);
        trace::unpark();
    }

    let counted = trace::snapshot().since(&before);
    println!("{counted:#?}");
    let expected = if trace::ENABLED { JOBS } else { 0 };
    assert_eq!(counted.worker_poll_count, expected);
    assert_eq!(counted.worker_steal_count, expected / 2);
    if trace::ENABLED {
        println!("{expected} polls were counted");
    } else {
        println!("the hooks are off: add `--features enabled`");
    }
}
