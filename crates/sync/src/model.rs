//! [`model`]: one entry point for a model body under every backend.

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
/// If the body panics in any run; under a checker also on a deadlock, and under loom on a data race in
/// an [`UnsafeCell`](crate::cell::UnsafeCell) or a leaked [`Arc`](crate::Arc).
pub fn model(body: impl Fn() + Send + Sync + 'static) {
    #[cfg(terrace_loom)]
    {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(env_or("TERRACE_LOOM_PREEMPTIONS", 2));
        builder.max_branches = env_or("LOOM_MAX_BRANCHES", 10_000);
        builder.check(body);
    }
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
