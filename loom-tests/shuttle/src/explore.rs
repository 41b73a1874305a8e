//! Running a model in many schedules.

/// Runs `body` in many schedules: half of them random, half by priorities that change at random points (PCT).
///
/// | variable | meaning | without it |
/// |---|---|---|
/// | `TERRACE_SHUTTLE_RUNS` | schedules of each kind | 100 |
/// | `TERRACE_SHUTTLE_SEED` | where the random choices start: the same seed gives the same schedules | 0 |
/// | `TERRACE_SHUTTLE_SCHEDULE` | a file with one schedule, which alone is run | – |
/// | `TERRACE_SHUTTLE_FAILED` | a directory for the schedule of a failure | it is printed |
///
/// On `std` the body runs 10 times (`TERRACE_MODEL_RUNS`).
///
/// # Panics
/// If the body panics in any run, and under shuttle on a deadlock or a run that does not end.
pub fn explore(body: impl Fn() + Send + Sync + 'static) {
    #[cfg(terrace_shuttle)]
    modelled::explore(body);
    #[cfg(not(terrace_shuttle))]
    for _ in 0..number("TERRACE_MODEL_RUNS", 10) {
        body();
    }
}

/// Lets other threads go on for a while, so that workers fall asleep now and then.
pub fn pause() {
    #[cfg(terrace_shuttle)]
    modelled::pause();
    #[cfg(not(terrace_shuttle))]
    std::thread::sleep(std::time::Duration::from_micros(100));
}

/// Reads a number from the environment.
fn number(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{name} must be a whole number, not {text:?}")),
        Err(_) => default,
    }
}

#[cfg(terrace_shuttle)]
mod modelled {
    use super::number;
    use shuttle::scheduler::{PctScheduler, RandomScheduler, ReplayScheduler};
    use shuttle::{Config, FailurePersistence, MaxSteps, Runner};
    use std::path::PathBuf;
    use std::sync::Arc;

    /// Stacks of modelled threads, in bytes; those of a debug build are deep.
    const STACK: usize = 256 * 1024;
    /// Steps after which a run counts as one that does not end.
    const STEPS: usize = 1_000_000;
    /// How often PCT changes a priority in one run, at most: faults that need that many preemptions are found.
    const DEPTH: usize = 3;

    /// How often a pause yields, at most: enough for a worker to look around, spin and park.
    const YIELDS: usize = 400;

    pub(super) fn pause() {
        use shuttle::rand::Rng;
        for _ in 0..shuttle::rand::thread_rng().gen_range(0..YIELDS) {
            shuttle::thread::yield_now();
        }
    }

    pub(super) fn explore(body: impl Fn() + Send + Sync + 'static) {
        let mut config = Config::new();
        config.stack_size = STACK;
        config.max_steps = MaxSteps::FailAfter(STEPS);
        config.silence_warnings = true;
        // What a failed run has left behind is leaked: its destructors would wait for threads that run no more.
        config
            .ungraceful_shutdown_config
            .immediately_return_on_panic = true;
        if let Some(dir) = std::env::var_os("TERRACE_SHUTTLE_FAILED") {
            config.failure_persistence = FailurePersistence::File(Some(PathBuf::from(dir)));
        }
        if let Some(file) = std::env::var_os("TERRACE_SHUTTLE_SCHEDULE") {
            let mut schedule = ReplayScheduler::new_from_file(PathBuf::from(file))
                .expect("TERRACE_SHUTTLE_SCHEDULE names a file with a schedule");
            schedule.set_allow_incomplete();
            Runner::new(schedule, config).run(body);
            return;
        }
        let seed = number("TERRACE_SHUTTLE_SEED", 0);
        let runs = number("TERRACE_SHUTTLE_RUNS", 100) as usize;
        let body = Arc::new(body);
        let random = RandomScheduler::new_from_seed(seed, runs);
        Runner::new(random, config.clone()).run({
            let body = Arc::clone(&body);
            move || body()
        });
        let priorities = PctScheduler::new_from_seed(seed, DEPTH, runs);
        Runner::new(priorities, config).run(move || body());
    }
}
