//! The matrix of acts, sites and threads; which cells make sense, and the documented result of each.

use std::fmt;

/// The code that cells ask the process to exit with.
pub(crate) const EXIT_CODE: i32 = 7;

/// Declares an enum whose variants have names, and a list of them.
macro_rules! named {
    ($(#[$about:meta])* $name:ident { $($(#[$attr:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $name { $($(#[$attr])* $variant,)+ }

        impl $name {
            pub(crate) const ALL: &[Self] = &[$(Self::$variant),+];
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(match self { $(Self::$variant => $text),+ })
            }
        }
    };
}

named! {
    /// The act of user code.
    Act {
        /// `block_on` of a future that another thread wakes.
        BlockOn = "block_on",
        /// A scope whose child another thread wakes.
        Scope = "scope",
        /// Spawns a task, of the same lane, and blocks until it is done.
        SpawnAndWait = "spawn_and_wait",
        /// Drops the last reference to the executor.
        DropExecutor = "drop_executor",
        /// Closes the thread's core, then blocks, and has a task spawned onto the thread.
        Close = "close",
        /// More workers, fewer, and as many as before.
        Resize = "resize",
        /// Ends all workers, and waits for them.
        Shutdown = "shutdown",
        /// Exits the process.
        Exit = "exit",
        /// Panics.
        Panic = "panic",
    }
}

named! {
    /// The place that user code is called from.
    Site {
        StartHook = "start_hook",
        StopHook = "stop_hook",
        /// The closure that names threads. Of a spare, it is called by a worker that waits.
        NameClosure = "name_closure",
        /// The poll of a pinned task.
        PinnedPoll = "pinned_poll",
        /// The destructor of a pinned task's future: at the end of the thread, or in `close`.
        PinnedDestructor = "pinned_destructor",
        /// A thread-local's destructor, before the thread's core is closed.
        ThreadLocal = "thread_local",
        /// A thread-local's destructor, after the thread's core was closed.
        ThreadLocalLate = "thread_local_late",
        /// The waker of a `run` that sleeps, called by a thread that spawns.
        RunWaker = "run_waker",
        /// The same, called by a worker between two polls.
        LoopWaker = "loop_waker",
        /// The same, called in a scope's wait, of a background task that lends its permit.
        WaitWaker = "wait_waker",
        /// The waker of a future that awaits the task which the thread has polled to its end.
        AwaiterWaker = "awaiter_waker",
        /// The destructor of a future that is done.
        FutureDestructor = "future_destructor",
        /// The destructor of a panic's payload that no handle sees; on a thread outside the pool, of a payload in a
        /// handle.
        PayloadDestructor = "payload_destructor",
        FirstPoll = "first_poll",
        SecondPoll = "second_poll",
        /// The poll of a task of the background lane.
        BackgroundPoll = "background_poll",
        /// The poll of a scope's child, while another one is queued.
        ChildPoll = "child_poll",
    }
}

named! {
    /// The thread that user code is called on.
    Role {
        /// A worker that has a second one beside it.
        Worker = "worker",
        /// The only worker of its pool.
        Lone = "lone_worker",
        /// A spare, started as the only worker waits in `block_on`.
        Spare = "spare",
        /// A spare, started as the only worker waits in a scope.
        ScopeSpare = "spare_beside_scope",
        /// A thread in `block_on`, which drives a pool without workers.
        Waiter = "waiter",
        /// A thread that calls `try_tick` of a pool without workers.
        TryTick = "try_tick",
        /// A thread that polls `run` of a pool without workers, and parks in between.
        Run = "run",
        /// A thread that has nothing to do with the pool.
        Foreign = "foreign",
    }
}

/// The outcome. No other end is good: not a hang, not an abort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The act returns, or its panic reaches a handle, a caller or the panic hook only. The executor works on, and its
    /// drop drops unfinished tasks.
    Completes,
    /// It panics with a message that contains this. The rest is as in `Completes`.
    #[expect(dead_code, reason = "nothing is refused so far")]
    Refused(&'static str),
    /// The process exits with this code.
    Exits(i32),
}

/// One cell of the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) act: Act,
    pub(crate) site: Site,
    pub(crate) role: Role,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.act, self.site, self.role)
    }
}

impl Role {
    /// Whether it is a thread of the pool.
    pub(crate) fn is_of_the_pool(self) -> bool {
        matches!(self, Self::Worker | Self::Lone) || self.is_spare()
    }

    /// Whether it is a spare.
    pub(crate) fn is_spare(self) -> bool {
        matches!(self, Self::Spare | Self::ScopeSpare)
    }

    /// Whether a caller borrows the executor while the thread runs tasks.
    fn borrows(self) -> bool {
        matches!(self, Self::TryTick | Self::Run | Self::ScopeSpare)
    }
}

impl Cell {
    /// All that make sense.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let cells = Act::ALL.iter().flat_map(|&act| {
            Site::ALL.iter().flat_map(move |&site| {
                let of = move |&role| Self { act, site, role };
                Role::ALL.iter().map(of)
            })
        });
        cells.filter(|cell| cell.left_out().is_none())
    }

    /// Why a cell makes no sense, if it does not.
    pub(crate) fn left_out(self) -> Option<&'static str> {
        let Self { act, site, role } = self;
        let rules = [
            (
                matches!(site, Site::StartHook | Site::StopHook) && !role.is_of_the_pool(),
                "hooks run on the threads of a pool",
            ),
            (
                site == Site::ThreadLocal && role != Role::Foreign,
                "a worker closes its thread's core before its thread-locals are dropped",
            ),
            (
                site == Site::ThreadLocalLate
                    && matches!(role, Role::Waiter | Role::TryTick | Role::Run),
                "a thread that has driven a pool ends as any foreign one does",
            ),
            (
                site == Site::BackgroundPoll && role == Role::Foreign,
                "a future that no executor polls has no lane",
            ),
            (
                matches!(site, Site::RunWaker | Site::LoopWaker | Site::WaitWaker)
                    && role == Role::Worker,
                "a publish wakes an idle worker rather than a `run`",
            ),
            (
                site == Site::LoopWaker && !role.is_of_the_pool(),
                "only workers publish between polls",
            ),
            (
                site == Site::WaitWaker && !(role.is_of_the_pool() || role == Role::Run),
                "a permit is lent by workers, and in a `run`",
            ),
            (
                role == Role::ScopeSpare && site != Site::NameClosure,
                "once it is started, a spare does not know what the worker waits in",
            ),
            (
                site == Site::AwaiterWaker && role == Role::Foreign,
                "the thread that ends a task has polled it, and is not foreign",
            ),
            (
                act == Act::Panic && site == Site::AwaiterWaker,
                "async-task ends a process in which the waker of an awaiting future panics",
            ),
            (
                act == Act::DropExecutor
                    && (role.borrows()
                        || matches!(
                            site,
                            Site::RunWaker | Site::LoopWaker | Site::WaitWaker | Site::ChildPoll
                        )
                        || (site == Site::NameClosure && !role.is_spare())),
                "`try_tick`, `run`, `set_workers` and scopes borrow the executor: no reference is the last",
            ),
            (
                act == Act::Panic && matches!(site, Site::ThreadLocal | Site::ThreadLocalLate),
                "the standard library ends a process whose thread-locals panic when dropped",
            ),
        ];
        rules
            .into_iter()
            .find_map(|(applies, reason)| applies.then_some(reason))
    }

    /// The documented result.
    pub(crate) fn expected(self) -> Outcome {
        match self.act {
            Act::Exit => Outcome::Exits(EXIT_CODE),
            _ => Outcome::Completes,
        }
    }
}
