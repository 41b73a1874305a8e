//! Hooks through which the Terrace layers say what they do.
//!
//! A hook is an empty `#[inline(always)]` function unless the feature `enabled` is on; so layers call
//! hooks unconditionally and pay nothing. With the feature each hook adds to relaxed counters, which are
//! sharded by thread, and [`snapshot`] sums them up. Counters bear the names tokio's metrics have.
//!
//! What it deliberately lacks: per-pool figures (the counters are the whole process's), and histograms.
//! Under the model checkers the hooks are always empty.
//!
//! ```
//! use terrace_trace as trace;
//!
//! let before = trace::snapshot();
//! trace::spawn(trace::EXTERNAL);
//! trace::run_begin(0);
//! trace::run_end(0);
//! let after = trace::snapshot();
//! let on = u64::from(trace::ENABLED);
//! assert_eq!(after.since(&before).spawned_tasks_count, on);
//! assert_eq!(after.since(&before).worker_poll_count, on);
//! ```

#![no_std]

#[cfg(feature = "std")]
extern crate std;

mod counters;

pub use counters::Counters;

/// The index to give where the calling thread is no worker.
pub const EXTERNAL: usize = usize::MAX;

/// Whether hooks do anything: the feature `enabled`, outside model checkers.
pub const ENABLED: bool = cfg!(all(
    feature = "enabled",
    not(any(terrace_loom, terrace_shuttle))
));

/// Sums up what all threads have counted; zeros unless [`ENABLED`].
///
/// The figures are read one after the other while others count on: totals are exact once the threads
/// that counted are known to have done so, differences between figures are approximate before.
/// Costs a few hundred loads.
pub fn snapshot() -> Counters {
    counters::snapshot()
}

macro_rules! hooks {
    ($($(#[$doc:meta])* $name:ident($worker:ident $(, $n:ident)?) => $($field:ident += $amount:expr),* ;)+) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name($worker: usize $(, $n: usize)?) {
            let _ = $worker;
            $(let _ = $n;)?
            #[cfg(all(feature = "enabled", not(any(terrace_loom, terrace_shuttle))))]
            {
                $(counters::add(counters::Field::$field, $amount);)*
            }
        }
    )+};
}

hooks! {
    /// A task was spawned by `worker`, or by [`EXTERNAL`].
    spawn(worker) => Spawned += 1;
    /// `worker` begins to poll a task.
    run_begin(worker) => Polled += 1;
    /// `worker` ended the poll it began last.
    run_end(worker) =>;
    /// `worker` put a task into its own queue.
    local_schedule(worker) => LocallyScheduled += 1;
    /// `worker` took `n` tasks from a peer in one operation.
    steal(worker, n) => Stolen += n, StealOperations += 1;
    /// `worker` is about to sleep.
    park(worker) => Parked += 1;
    /// `worker` has ended its sleep, for whatever reason.
    unpark(worker) => Unparked += 1;
    /// `worker` was chosen to be woken; called by the waker.
    wake(worker) => Woken += 1;
    /// `worker`, or [`EXTERNAL`], put `n` tasks into a shared queue.
    inject(worker, n) => Injected += n;
    /// `worker` took `n` tasks out of a shared queue.
    take(worker, n) => Taken += n;
}
