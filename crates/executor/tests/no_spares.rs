//! Waits that nest where no spare worker can start: the waiters run each other's jobs, up to a bounded depth.
//!
//! The system refuses a thread whose stack does not fit. The tests run this program again with a bound on its address
//! space, so that only the workers' own stacks fit. Not sanitized: a sanitizer needs more address space than there is
//! memory.
#![cfg(all(
    target_os = "linux",
    target_pointer_width = "64",
    not(any(terrace_asan, terrace_tsan))
))]

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use terrace_executor::{Builder, Executor, block_on};
use terrace_testing::{on_own_thread, succeeds, this_program, watchdog};

/// Address space of the whole program, in KiB, as `ulimit -v` has it.
const SPACE: usize = 4 << 20;
/// One fits, two do not.
const STACK: usize = 2500 << 20;
/// Set in the program that is run again.
const INSIDE: &str = "TERRACE_TEST_NO_SPARES";

/// Runs `test` where a pool of one worker cannot have another thread.
fn without_spares(name: &str, test: impl FnOnce(Arc<Executor<'static>>) + Send + 'static) {
    if std::env::var_os(INSIDE).is_some() {
        on_own_thread(|| {
            let executor = Builder::new().workers(1).stack_size(STACK).build();
            assert!(executor.set_workers(2).is_err(), "a second thread fits");
            test(Arc::new(executor));
        });
        return;
    }
    let this = this_program();
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("ulimit -v {SPACE} && exec \"$0\" \"$@\"")])
        .arg(this.get_program())
        .args(this.get_args())
        .args([name, "--exact", "--nocapture"])
        .env(INSIDE, "1");
    succeeds(name, &mut command);
}

/// Blocks on a task of its own pool, which blocks on another one, and so on.
fn nest(executor: &Arc<Executor<'static>>, depth: usize, entered: &Arc<AtomicUsize>) -> usize {
    entered.fetch_add(1, Ordering::Relaxed);
    if depth == 0 {
        return 0;
    }
    let (own, counter) = (Arc::clone(executor), Arc::clone(entered));
    1 + block_on(executor.spawn(async move { nest(&own, depth - 1, &counter) }))
}

/// Eight tasks that each block on a further task of the pool: the only worker runs them all on its one stack.
#[test]
fn eight_tasks_that_block_on_further_tasks() {
    let _watchdog = watchdog();
    without_spares("eight_tasks_that_block_on_further_tasks", |executor| {
        let entered = Arc::new(AtomicUsize::new(0));
        let tasks: Vec<_> = (0..8)
            .map(|_| {
                let (own, counter) = (Arc::clone(&executor), Arc::clone(&entered));
                executor.spawn(async move { nest(&own, 1, &counter) })
            })
            .collect();
        assert_eq!(tasks.into_iter().map(block_on).sum::<usize>(), 8);
        assert_eq!(entered.load(Ordering::Relaxed), 16);
    });
}

/// A chain as deep as waiters help each other. Tasks that the worker itself has queued run up to twice the depth of
/// other jobs.
#[test]
fn a_chain_of_waits_as_deep_as_help_nests() {
    let _watchdog = watchdog();
    /// Documented: 8 levels, and 8 more for tasks in a worker's ring.
    const DEPTH: usize = 16;
    without_spares("a_chain_of_waits_as_deep_as_help_nests", |executor| {
        let entered = Arc::new(AtomicUsize::new(0));
        let (own, counter) = (Arc::clone(&executor), Arc::clone(&entered));
        let task = executor.spawn(async move { nest(&own, DEPTH, &counter) });
        assert_eq!(block_on(task), DEPTH);
        assert_eq!(entered.load(Ordering::Relaxed), DEPTH + 1);
    });
}

/// One deeper: the worker leaves the last task alone, rather than run out of its stack, and sleeps. No panic: it cannot
/// know whether a thread of the program comes to its help. Here one does, by `try_tick`.
#[test]
fn a_deeper_chain_waits_for_another_thread() {
    let _watchdog = watchdog();
    const DEPTH: usize = 17;
    without_spares("a_deeper_chain_waits_for_another_thread", |executor| {
        let entered = Arc::new(AtomicUsize::new(0));
        let (own, counter) = (Arc::clone(&executor), Arc::clone(&entered));
        let task = executor.spawn(async move { nest(&own, DEPTH, &counter) });
        while entered.load(Ordering::Relaxed) < DEPTH {
            std::thread::yield_now();
        }
        // Long enough for the worker to run one more if it did; too short only makes the test easier.
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert_eq!(entered.load(Ordering::Relaxed), DEPTH);
        // The last task is queued, if the worker has come so far.
        while !executor.try_tick() {
            std::thread::yield_now();
        }
        assert_eq!(block_on(task), DEPTH);
    });
}
