//! Threads that start: what their handler sets up is there before the first job, also where a broadcast comes early.

use std::cell::Cell;
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::thread;

use rayon_core::{ThreadPool, ThreadPoolBuilder};
use terrace_testing::watchdog;

const THREADS: usize = 4;
const ROUNDS: usize = 20;

fn pool(handler: impl Fn(usize) + Send + Sync + 'static) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(THREADS);
    let pool = builder.start_handler(handler).build();
    pool.expect("the threads start")
}

#[test]
fn a_part_of_a_broadcast_finds_what_the_handler_has_set() {
    let _watchdog = watchdog();
    thread_local! {
        static IS_SET: Cell<bool> = const { Cell::new(false) };
    }
    for _ in 0..ROUNDS {
        let pool = pool(|_| IS_SET.set(true));
        assert_eq!(pool.broadcast(|_| IS_SET.get()), [true; THREADS]);
    }
}

#[test]
fn threads_have_the_names_that_the_program_gives_them() {
    let _watchdog = watchdog();
    let names: Vec<_> = (0..THREADS).map(|i| Some(format!("number {i}"))).collect();
    let builder = || {
        let builder = ThreadPoolBuilder::new().num_threads(THREADS);
        builder.thread_name(|index| format!("number {index}"))
    };
    let own = || thread::current().name().map(str::to_owned);
    let pool = builder().build().expect("the threads start");
    assert_eq!(pool.broadcast(|_| own()), names);
    // A program that starts the threads itself is told the names.
    let mut told = Vec::new();
    let builder = builder().spawn_handler(|thread| {
        told.push(thread.name().map(str::to_owned));
        thread::spawn(|| thread.run());
        Ok(())
    });
    let pool = builder.build().expect("the threads start");
    drop(pool);
    assert_eq!(told, names);
}

/// The parts block until this test has heard of each thread.
#[test]
fn a_part_that_blocks_holds_up_no_handler() {
    let _watchdog = watchdog();
    for _ in 0..ROUNDS {
        let (sender, started) = channel();
        let pool = pool(move |index| sender.send(index).expect("the test listens"));
        let heard = Arc::new(Barrier::new(THREADS + 1));
        let parts = Arc::clone(&heard);
        pool.spawn_broadcast(move |_| {
            parts.wait();
        });
        let mut indices: Vec<usize> = started.iter().take(THREADS).collect();
        indices.sort_unstable();
        assert!(indices.into_iter().eq(0..THREADS));
        heard.wait();
    }
}

/// A part runs also where the handler of its thread has panicked.
#[test]
fn a_handler_that_panics_leaves_the_parts_to_run() {
    let _watchdog = watchdog();
    for _ in 0..ROUNDS {
        let builder = ThreadPoolBuilder::new().num_threads(THREADS);
        let builder = builder.panic_handler(drop);
        let builder = builder.start_handler(|_| std::panic::resume_unwind(Box::new(())));
        let pool = builder.build().expect("the threads start");
        let indices = pool.broadcast(|part| part.index());
        assert!(indices.into_iter().eq(0..THREADS));
    }
}
