//! Hooks through which the Terrace layers report their work.
#![doc = include_str!("../README.md")]
#![cfg_attr(
    docsrs,
    feature(doc_cfg),
    doc(auto_cfg(hide(terrace_loom, terrace_shuttle, terrace_count)))
)]
#![no_std]

#[cfg(feature = "std")]
extern crate std;

/// The calling thread has an event, if it has a timeline.
macro_rules! record {
    ($kind:ident, $payload:expr) => {{
        #[cfg(all(feature = "timeline", not(any(terrace_loom, terrace_shuttle))))]
        crate::timeline::threads::record(crate::timeline::record::Kind::$kind, $payload as u64);
        #[cfg(not(all(feature = "timeline", not(any(terrace_loom, terrace_shuttle)))))]
        let _ = $payload;
    }};
}

mod counters;
#[cfg(feature = "std")]
#[cfg_attr(
    any(not(feature = "inspect"), terrace_loom, terrace_shuttle),
    path = "inspect_off.rs"
)]
#[doc(hidden)]
pub mod inspect;
mod mark;
#[cfg(feature = "std")]
mod quoted;
#[cfg(feature = "std")]
#[doc(hidden)]
pub mod report;
#[cfg(feature = "timeline")]
#[doc(hidden)]
pub mod ring;
#[cfg(all(feature = "enabled", not(any(terrace_loom, terrace_shuttle))))]
mod shards;
mod span;
#[cfg(all(feature = "timeline", not(any(terrace_loom, terrace_shuttle))))]
pub mod timeline;

pub use counters::Counters;
#[cfg(all(feature = "timeline", not(any(terrace_loom, terrace_shuttle))))]
pub use mark::spawn_site;
pub use mark::{Caller, Mark, Polling, Spawns};
pub use span::{Inside, Span, inside};

/// Whether hooks count: the feature `enabled`, outside model checkers.
pub const ENABLED: bool = cfg!(all(
    feature = "enabled",
    not(any(terrace_loom, terrace_shuttle))
));

/// Sums up the counts of all threads; zeros unless [`ENABLED`].
///
/// The call reads one figure after the other while other threads count on. A total is exact once the caller knows that the
/// threads have counted; before, differences between figures are approximate. Costs a few hundred loads.
/// [`Counters`] has an example.
#[must_use = "it is a copy for the caller to read"]
pub fn snapshot() -> Counters {
    #[cfg(all(feature = "enabled", not(any(terrace_loom, terrace_shuttle))))]
    return shards::snapshot();
    #[cfg(not(all(feature = "enabled", not(any(terrace_loom, terrace_shuttle)))))]
    Counters::default()
}

/// Whether the calling layers have a timeline: the feature `timeline`, outside model checkers.
pub const TIMELINE: bool = cfg!(all(
    feature = "timeline",
    not(any(terrace_loom, terrace_shuttle))
));

/// The calling thread is the worker with this index of the pool with this number from now on. The timeline shows it.
///
/// # Examples
///
/// ```
/// terrace_trace::worker(7, 3);
/// # #[cfg(feature = "timeline")] {
/// let timeline = terrace_trace::timeline::snapshot();
/// let thread = &timeline.threads()[0];
/// assert_eq!((thread.pool(), thread.worker()), (Some(7), Some(3)));
/// # }
/// ```
#[inline(always)]
pub fn worker(pool: u64, index: usize) {
    let _ = (pool, index);
    #[cfg(all(feature = "timeline", not(any(terrace_loom, terrace_shuttle))))]
    timeline::threads::set_worker(timeline::threads::Worker { pool, index });
}

/// The task that the thread polls has this name, which was given at this line.
///
/// # Examples
///
/// ```
/// use std::panic::Location;
/// use terrace_trace::Mark;
///
/// let poll = Mark::spawned::<u32>().polls();
/// terrace_trace::polls_named("wash dishes", Location::caller());
/// drop(poll);
/// # #[cfg(feature = "timeline")] {
/// let mut json = Vec::new();
/// terrace_trace::timeline::snapshot().write_chrome(&mut json)?;
/// assert!(String::from_utf8(json)?.contains(r#""name":"wash dishes""#));
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[inline(always)]
pub fn polls_named(name: &str, location: &'static core::panic::Location<'static>) {
    let _ = (name, location);
    #[cfg(all(feature = "inspect", not(any(terrace_loom, terrace_shuttle))))]
    inspect::recorded::polls_named(name);
    #[cfg(all(feature = "timeline", not(any(terrace_loom, terrace_shuttle))))]
    match timeline::sites::of_name(location, name) {
        0 => {}
        site => record!(Name, timeline::record::task(0, site)),
    }
}

macro_rules! hooks {
    ($($(#[$doc:meta])* $name:ident($($number:ident)?) => $($field:ident += $amount:expr),* $(=> $kind:ident($payload:expr))?;)+) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name($($number: usize)?) {
            $(let _ = $number;)?
            $(record!($kind, $payload);)?
            #[cfg(all(feature = "enabled", not(any(terrace_loom, terrace_shuttle))))]
            {
                $(shards::add(shards::Field::$field, $amount);)*
            }
        }
    )+};
}

hooks! {
    /// A task was spawned. [`Counters`] has an example.
    spawn() => Spawned += 1;
    /// The calling thread begins to poll a task.
    ///
    /// # Examples
    ///
    /// ```
    /// let before = terrace_trace::snapshot();
    /// terrace_trace::run_begin();
    /// let counted = terrace_trace::snapshot().since(&before);
    /// let on = u64::from(terrace_trace::ENABLED);
    /// assert_eq!(counted.worker_poll_count, on);
    /// ```
    run_begin() => Polled += 1;
    /// The calling worker put a task into its own queue.
    ///
    /// # Examples
    ///
    /// ```
    /// let before = terrace_trace::snapshot();
    /// terrace_trace::local_schedule();
    /// let counted = terrace_trace::snapshot().since(&before);
    /// let on = u64::from(terrace_trace::ENABLED);
    /// assert_eq!(counted.worker_local_schedule_count, on);
    /// ```
    local_schedule() => LocallyScheduled += 1;
    /// The calling worker took `n` tasks from a peer in one operation.
    ///
    /// # Examples
    ///
    /// ```
    /// let before = terrace_trace::snapshot();
    /// terrace_trace::steal(3);
    /// let counted = terrace_trace::snapshot().since(&before);
    /// let on = u64::from(terrace_trace::ENABLED);
    /// assert_eq!(counted.worker_steal_count, 3 * on);
    /// assert_eq!(counted.worker_steal_operations, on);
    /// ```
    steal(n) => Stolen += n, StealOperations += 1 => Steal(n);
    /// The calling thread is about to sleep.
    ///
    /// # Examples
    ///
    /// ```
    /// let before = terrace_trace::snapshot();
    /// terrace_trace::park();
    /// // The thread sleeps.
    /// terrace_trace::unpark();
    /// let counted = terrace_trace::snapshot().since(&before);
    /// let on = u64::from(terrace_trace::ENABLED);
    /// assert_eq!(counted.worker_park_count, on);
    /// assert_eq!(counted.worker_unpark_count, on);
    /// ```
    park() => Parked += 1 => Park(0_u8);
    /// The calling thread has ended its sleep, for any reason. [`park`] has an example.
    unpark() => Unparked += 1 => Unpark(0_u8);
    /// The waker has chosen `worker`, which sleeps or is about to. The waker calls this.
    ///
    /// # Examples
    ///
    /// ```
    /// let before = terrace_trace::snapshot();
    /// terrace_trace::wake(2);
    /// let counted = terrace_trace::snapshot().since(&before);
    /// let on = u64::from(terrace_trace::ENABLED);
    /// assert_eq!(counted.worker_wake_count, on);
    /// ```
    wake(worker) => Woken += 1 => WakeWorker(worker);
    /// The calling thread put `n` tasks into a shared queue.
    ///
    /// # Examples
    ///
    /// ```
    /// let before = terrace_trace::snapshot();
    /// terrace_trace::inject(5);
    /// terrace_trace::take(4);
    /// let counted = terrace_trace::snapshot().since(&before);
    /// let on = u64::from(terrace_trace::ENABLED);
    /// assert_eq!(counted.remote_schedule_count, 5 * on);
    /// assert_eq!(counted.global_queue_depth, on);
    /// ```
    inject(n) => Injected += n;
    /// The calling thread took `n` tasks out of a shared queue. [`inject`] has an example.
    take(n) => Taken += n;
}
