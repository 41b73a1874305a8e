//! Asking which worker the current thread is.

use std::hint::black_box;

use ::tokio::runtime::{Handle, Runtime};

use super::{Executor, Tokio};
use crate::spawn::{Contender, Spawner};

/// Lookups of one iteration.
const LOOKUPS: usize = 1_000;

/// A pool of one worker, and the question that its threads may ask.
pub trait Lookup: Sized + 'static {
    /// Its name in rows.
    const NAME: &'static str;

    /// A pool of one worker.
    fn new() -> Self;

    /// Asks on the calling thread; whether it is a worker.
    fn is_worker() -> bool;

    /// Calls `f` on the worker and waits.
    fn on_worker(&self, f: impl FnOnce() + Send + 'static);
}

/// Asks a thousand times, on the pool's worker or on the calling thread.
pub fn lookup<L: Lookup>(on_worker: bool) -> impl FnMut() {
    let pool = on_worker.then(L::new);
    move || match &pool {
        Some(pool) => pool.on_worker(ask_many::<L>),
        None => ask_many::<L>(),
    }
}

/// The loop, under a name by which instructions are counted.
#[inline(never)]
fn ask_many<L: Lookup>() {
    for _ in 0..LOOKUPS {
        black_box(L::is_worker());
    }
}

/// Ours.
pub struct Current(Executor);

impl Lookup for Current {
    const NAME: &'static str = "current";

    fn new() -> Self {
        Self(Executor::new(1))
    }

    #[inline]
    fn is_worker() -> bool {
        terrace_executor::current().is_some()
    }

    fn on_worker(&self, f: impl FnOnce() + Send + 'static) {
        self.0.run(Spawner::spawn(self.0.spawner(), async { f() }));
    }
}

/// tokio's `Handle::try_current`, which counts references.
pub struct TokioHandle(Tokio);

impl Lookup for TokioHandle {
    const NAME: &'static str = "tokio";

    fn new() -> Self {
        Self(Tokio::new(1))
    }

    #[inline]
    fn is_worker() -> bool {
        Handle::try_current().is_ok()
    }

    fn on_worker(&self, f: impl FnOnce() + Send + 'static) {
        let runtime: &'static Runtime = self.0.spawner();
        self.0.run(Spawner::spawn(runtime, async { f() }));
    }
}

/// rayon's `current_thread_index`.
pub struct RayonIndex(rayon_core::ThreadPool);

impl Lookup for RayonIndex {
    const NAME: &'static str = "rayon";

    fn new() -> Self {
        let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1).build();
        Self(pool.expect("the thread starts"))
    }

    #[inline]
    fn is_worker() -> bool {
        rayon_core::current_thread_index().is_some()
    }

    fn on_worker(&self, f: impl FnOnce() + Send + 'static) {
        self.0.install(f);
    }
}
