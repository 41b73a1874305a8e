//! What a report says of a pool, as plain data.

use core::panic::Location;
use core::time::Duration;
use std::format;
use std::string::String;
use std::vec::Vec;

use super::json::{Json, object};

/// Defines a part of a report, and its JSON form: an object with the fields of the same names.
macro_rules! report {
    ($($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)+ })+) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type,)+
        }

        impl Json for $name {
            fn json(&self, out: &mut String) {
                object(out, &[$((stringify!($field), &self.$field)),+]);
            }
        }
    )+};
}

/// Defines an enum whose variants are words of a report.
macro_rules! words {
    ($($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)+ })+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)+
        }

        impl $name {
            pub fn text(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }
        }

        impl Json for $name {
            fn json(&self, out: &mut String) {
                self.text().json(out);
            }
        }
    )+};
}

words! {
    /// How far a pool is in its life.
    Phase {
        Open = "open",
        /// Its drop has begun.
        Closing = "being dropped",
        /// It has dropped its tasks.
        Closed = "dropped",
    }
    /// What a worker does.
    Doing {
        /// Its thread has been started, and has not begun, or has ended.
        Absent = "is not there yet, or no more",
        Runs = "runs something",
        Searches = "searches",
        RunsOrSearches = "runs something, or searches",
        Parked = "is parked",
        Sentinel = "is parked, as the sentinel",
        WaitsInScope = "waits in a scope",
        WaitsInJoin = "waits in a join",
        /// In `block_on`, in a shutdown, or in the drop of an executor.
        Waits = "waits in block_on or a shutdown",
        StoodInFor = "sleeps while another thread stands in for it",
    }
    /// What a task does.
    State {
        Queued = "queued",
        Polled = "polled",
        Waits = "waits to be woken",
    }
}

impl Doing {
    /// Whether its thread is in the middle of something that is not a wait of the executor's.
    #[must_use = "the call only answers a question"]
    pub fn is_awake(self) -> bool {
        matches!(self, Self::Runs | Self::RunsOrSearches)
    }

    /// Whether its thread sleeps, in its loop or in a wait.
    #[must_use = "the call only answers a question"]
    pub fn is_asleep(self) -> bool {
        !self.is_awake() && !matches!(self, Self::Searches | Self::Absent)
    }
}

report! {
    /// A pool.
    Pool {
        id: u64,
        phase: Phase,
        /// How many workers it is to have.
        wanted: usize,
        /// Tasks that have not ended, and that were spawned.
        active: usize,
        spawned: usize,
        /// Lengths of the shared queues.
        injected: usize,
        high: usize,
        background: usize,
        /// `run` futures, how many of them sleep, and the lengths of their queues.
        drivers: usize,
        drivers_asleep: usize,
        driver_rings: Vec<usize>,
        /// Threads inside of a `shutdown`, and in `wait_idle`.
        in_shutdown: usize,
        in_wait_idle: usize,
        /// Whether threads that wait run its tasks, as it has no workers.
        driven_by_waits: bool,
        workers: Vec<Worker>,
        scopes: Vec<Scope>,
        joins: Vec<Join>,
        /// `None` without the feature that keeps records of them.
        tasks: Option<Vec<Task>>,
        /// Whether there are further tasks, whose records were locked.
        tasks_partial: bool,
    }
    /// A worker or a spare.
    Worker {
        index: usize,
        /// The name of its thread.
        thread: Option<String>,
        spare: bool,
        asked_to_end: bool,
        doing: Doing,
        /// For how long it sleeps, if it does and that is known.
        asleep: Option<Duration>,
        /// Whether it has taken this dump.
        here: bool,
        /// The scope that it waits in.
        scope: Option<usize>,
        /// What the system says of its thread.
        system: Option<System>,
        /// Length of its queue, with the task in its slot.
        queued: usize,
        polls: usize,
    }
    /// What the system says of a thread.
    System {
        /// Whether it sleeps.
        sleeps: bool,
        /// Its state, and where in the kernel it sleeps.
        text: String,
        /// How long it has run on processors.
        processor: Option<Duration>,
    }
    /// An open scope.
    Scope {
        /// Children that have not ended; the body counts as one of them while it runs.
        pending: usize,
        /// Pending children that are queued for a thread. The others run, or wait to be woken.
        queued: usize,
        /// Whether the thread that opened it sleeps until they have ended.
        waiter_asleep: bool,
        /// Children that wait to be woken, if the records were not locked.
        waiting: Option<usize>,
        /// Its place in the pool.
        slot: usize,
        /// The thread that opened it.
        waiter: String,
        site: Option<&'static Location<'static>>,
        /// For how long it is open.
        age: Option<Duration>,
    }
    /// A thread in the middle of joins.
    Join {
        seat: usize,
        /// Which kind of thread it is.
        by: String,
        /// Which threads its jobs are for. `None` if none of its jobs is queued.
        offer: Option<String>,
        /// Whether it may push a job without telling a sleeper. It does not while it sleeps.
        forking: bool,
        asleep: bool,
        thread: String,
    }
    /// A task, or a child of a scope.
    Task {
        number: u64,
        name: Option<String>,
        /// Where it was spawned.
        site: &'static Location<'static>,
        /// The type of its future or closure.
        future: &'static str,
        /// The scope that it is a child of, by its slot.
        scope: Option<usize>,
        state: State,
        /// For how long it is in this state.
        since: Duration,
        /// For how long it exists.
        age: Duration,
        polls: usize,
        /// Wakers that exist of it; none is known before its first poll.
        wakers: Option<usize>,
        /// The thread that polls it, or did last.
        thread: Option<String>,
        /// The worker that is.
        worker: Option<usize>,
        /// What its poll waits for, in a wait of the executor's.
        waits_in: Option<&'static str>,
        /// Whether it has taken this dump.
        here: bool,
    }
}

impl Pool {
    /// Tasks in its queues.
    #[must_use = "the call only reads a value"]
    pub fn queued(&self) -> usize {
        let own = self.workers.iter().map(|worker| worker.queued);
        let shared = self.injected + self.high + self.background;
        shared + own.sum::<usize>() + self.driver_rings.iter().sum::<usize>()
    }
}

impl Worker {
    /// How a report names it.
    #[must_use = "the call only reads a value"]
    pub fn title(&self) -> String {
        let kind = if self.spare { "spare worker" } else { "worker" };
        match &self.thread {
            Some(thread) => format!("{kind} {} ({thread})", self.index),
            None => format!("{kind} {}", self.index),
        }
    }
}

impl Task {
    /// How a report names it: by its name, or by the type of its future.
    #[must_use = "the call only reads a value"]
    pub fn title(&self) -> String {
        let (number, site) = (self.number, self.site);
        let kind = if self.scope.is_some() {
            "child"
        } else {
            "task"
        };
        let name = match &self.name {
            Some(name) => format!("`{name}`"),
            None => format!("of {}", self.future),
        };
        format!("{kind} {number} {name} (spawned at {site})")
    }
}
