//! Jobs that no thread waits for.

use std::sync::Arc;

use crate::call::with_current;
use crate::job::Job;
use crate::registry::Registry;

/// Runs `func` on a thread of this thread's pool, or of the global one, some time later. A thread runs the newest of its own jobs
/// first, unless others take them; they take the oldest.
///
/// A panic goes to the handler of the pool. If there is none, the process ends.
///
/// ```
/// # use rayon_core as rayon;
/// let (sender, receiver) = std::sync::mpsc::channel();
/// rayon::spawn(move || sender.send(6 * 7).unwrap());
/// assert_eq!(receiver.recv(), Ok(42));
/// ```
pub fn spawn<F>(func: F)
where
    F: FnOnce() + Send + 'static,
{
    with_current(|registry| spawn_in(registry, func));
}

/// As [`spawn`]; but of the jobs that a thread spawns by this function, the oldest runs first.
pub fn spawn_fifo<F>(func: F)
where
    F: FnOnce() + Send + 'static,
{
    with_current(|registry| spawn_fifo_in(registry, func));
}

pub(crate) fn spawn_in(registry: &Arc<Registry>, func: impl FnOnce() + Send + 'static) {
    let job = job(registry, func);
    registry.inject_or_push(job);
}

pub(crate) fn spawn_fifo_in(registry: &Arc<Registry>, func: impl FnOnce() + Send + 'static) {
    let job = job(registry, func);
    registry.here(|member| match member {
        Some(member) => member.push_fifo(&member.place().fifo, job),
        None => registry.inject(job),
    });
}

/// A job that keeps the pool open until it has run.
pub(crate) fn job(registry: &Arc<Registry>, func: impl FnOnce() + Send + 'static) -> Job {
    registry.hold();
    let registry = Arc::clone(registry);
    Job::new(move || {
        registry.contain(func);
        registry.close();
    })
}
