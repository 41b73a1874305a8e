//! [`model`]: one entry point for a model body under every backend, and the mutant that it runs with.

#[cfg(terrace_loom)]
use core::sync::atomic::{AtomicUsize, Ordering};

#[cfg(terrace_loom)]
use crate::tally;
#[cfg(any(terrace_loom, terrace_shuttle))]
use std::{string::String, sync::OnceLock};

/// Bytes of a modelled thread's stack; frames of a debug build are large.
#[cfg(terrace_shuttle)]
const SHUTTLE_STACK: usize = 256 * 1024;

/// Reads a number from the environment.
fn env_or(name: &str, default: usize) -> usize {
    match std::env::var(name) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{name} must be a whole number, not {text:?}")),
        Err(_) => default,
    }
}

/// Runs a model body under loom.
///
/// The checkpoints of a program's bodies are files of their own: `LOOM_CHECKPOINT_FILE`, with the number of the body at the end.
/// With `TERRACE_LOOM_REPLAY=NUMBER` only that body runs, from its checkpoint, with loom's log. A search that passes prints
/// how many schedules it tried, and the most threads in one.
#[cfg(terrace_loom)]
fn explore(body: impl Fn() + Send + Sync + 'static) {
    static BODIES: AtomicUsize = AtomicUsize::new(0);
    // Ordering: Relaxed, a mere counter.
    let number = BODIES.fetch_add(1, Ordering::Relaxed);
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(env_or("TERRACE_LOOM_PREEMPTIONS", 2));
    builder.max_branches = env_or("LOOM_MAX_BRANCHES", 10_000);
    if let Some(file) = &mut builder.checkpoint_file {
        file.as_mut_os_string().push(std::format!(".{number}"));
    }
    match env_or("TERRACE_LOOM_REPLAY", usize::MAX) {
        usize::MAX => {
            builder.check(move || {
                tally::begin();
                body();
            });
            tally::end();
        }
        // Only this call sets up the log; it takes all its settings from the environment.
        replayed if replayed == number => loom::model(body),
        _ => {}
    }
}

/// Runs a model body.
///
/// | backend | runs | set by |
/// |---|---|---|
/// | `std` | 300 times, a plain stress test | `TERRACE_MODEL_RUNS` |
/// | loom | once an interleaving with at most 2 preemptions | `TERRACE_LOOM_PREEMPTIONS`, and loom's own `LOOM_*` |
/// | shuttle | 1,000 random schedules | `TERRACE_SHUTTLE_RUNS` |
///
/// loom allows five threads, the body's own included, and 10,000 scheduling points a run.
///
/// # Panics
/// If the body panics in any run; under a checker also on a deadlock. Under loom also on a data race in an
/// [`UnsafeCell`](crate::cell::UnsafeCell) or a leaked [`Arc`](crate::Arc).
///
/// # Examples
///
/// ```
/// use terrace_sync::atomic::{AtomicU32, Ordering};
/// use terrace_sync::{Arc, model, thread};
///
/// model(|| {
///     let number = Arc::new(AtomicU32::new(0));
///     let other = Arc::clone(&number);
///     let thread = thread::spawn(move || other.fetch_add(1, Ordering::Relaxed));
///     number.fetch_add(1, Ordering::Relaxed);
///     thread.join().unwrap();
///     assert_eq!(number.load(Ordering::Relaxed), 2);
/// });
/// ```
pub fn model(body: impl Fn() + Send + Sync + 'static) {
    #[cfg(terrace_loom)]
    explore(body);
    #[cfg(terrace_shuttle)]
    {
        let mut config = shuttle::Config::new();
        config.stack_size = SHUTTLE_STACK;
        let runs = env_or("TERRACE_SHUTTLE_RUNS", 1_000);
        let scheduler = shuttle::scheduler::RandomScheduler::new(runs);
        shuttle::Runner::new(scheduler, config).run(body);
    }
    #[cfg(not(any(terrace_loom, terrace_shuttle)))]
    for _ in 0..env_or("TERRACE_MODEL_RUNS", 300) {
        body();
    }
}

/// Whether the model runs with the mutant `name`, which the variable `TERRACE_WEAKEN` chooses when the model starts.
#[cfg(any(terrace_loom, terrace_shuttle))]
pub fn is_weakened(name: &str) -> bool {
    static CHOSEN: OnceLock<Option<String>> = OnceLock::new();
    // Most models run without a mutant, and come here at each access.
    let chosen = CHOSEN.get_or_init(|| std::env::var("TERRACE_WEAKEN").ok());
    chosen.as_deref().is_some_and(|chosen| chosen == name)
}
