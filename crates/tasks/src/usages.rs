//! The three pools of a program, one for each kind of work.

use core::ops::Deref;

use terrace_sync::OnceLock;

use crate::pools::TaskPool;

/// Defines a pool the whole process shares: a newtype over [`TaskPool`] with a static slot.
macro_rules! usage {
    ($(#[$doc:meta])* $Pool:ident in $SLOT:ident) => {
        terrace_sync::global! {
            static $SLOT: OnceLock<$Pool> = OnceLock::new();
        }

        $(#[$doc])*
        ///
        /// It derefs to [`TaskPool`], which has the methods. It lives as long as the process, and nothing drops it: when the program ends,
        /// its tasks end unfinished, detached ones too, and neither their destructors nor the hooks of its threads run.
        ///
        /// # Examples
        ///
        /// ```
        #[doc = concat!("use terrace_tasks::{", stringify!($Pool), ", TaskPool};")]
        ///
        #[doc = concat!("assert!(", stringify!($Pool), "::try_get().is_none());")]
        #[doc = concat!("let pool = ", stringify!($Pool), "::get_or_init(TaskPool::new);")]
        /// let sums = pool.scope(|scope| scope.spawn(async { 6 * 7 }));
        /// assert_eq!(sums, [42]);
        #[doc = concat!("assert!(std::ptr::eq(pool, ", stringify!($Pool), "::get()));")]
        /// ```
        #[derive(Debug)]
        pub struct $Pool(TaskPool);

        impl $Pool {
            /// The process's pool of this kind; the first call makes it with `f`, later ones ignore theirs. If several threads call this
            /// at once, one runs its `f`, and the others wait. The [type](Self) has an example.
            ///
            /// `f` must not call this itself for the same kind: that waits for its own end.
            ///
            /// # Panics
            /// If `f` does, for instance because the system refuses a thread. There is no pool then, and the next call is the first.
            pub fn get_or_init(f: impl FnOnce() -> TaskPool) -> &'static Self {
                $SLOT.get_or_init(|| Self(f()))
            }

            /// The process's pool of this kind, `None` before [`get_or_init`](Self::get_or_init).
            /// The [type](Self) has an example.
            pub fn try_get() -> Option<&'static Self> {
                $SLOT.get()
            }

            /// The process's pool of this kind. The [type](Self) has an example.
            ///
            /// # Panics
            /// Before [`get_or_init`](Self::get_or_init) was called.
            #[track_caller]
            pub fn get() -> &'static Self {
                match $SLOT.get() {
                    Some(pool) => pool,
                    None => uninitialised(stringify!($Pool)),
                }
            }
        }

        impl Deref for $Pool {
            type Target = TaskPool;

            fn deref(&self) -> &TaskPool {
                &self.0
            }
        }
    };
}

/// The panic of a pool that the program has not made yet. It begins with the words of the published `bevy_tasks`, which tests of programs
/// expect.
#[cold]
#[track_caller]
fn uninitialised(pool: &str) -> ! {
    panic!(
        "The {pool} has not been initialized yet. Please call {pool}::get_or_init beforehand. \
         `{pool}::get_or_init(TaskPool::new)` once at start-up does (in a Bevy app: add `TaskPoolPlugin`, which \
         `MinimalPlugins` and `DefaultPlugins` contain)"
    )
}

usage! {
    /// Short computations the current frame waits for.
    ///
    /// Work that may take longer than a frame belongs in the [`AsyncComputeTaskPool`].
    ComputeTaskPool in COMPUTE
}

usage! {
    /// Computations that may go on for several frames.
    ///
    /// Work that the current frame waits for belongs in the [`ComputeTaskPool`].
    AsyncComputeTaskPool in ASYNC_COMPUTE
}

usage! {
    /// Tasks that mostly wait: for files, for the network, for other threads.
    IoTaskPool in IO
}

/// How many tasks of each kind [`tick_global_task_pools_on_main_thread`] polls at most.
const TASKS_PER_TICK: usize = 100;

/// Gives the calling thread's own tasks some time, and the shared tasks of pools that have no threads.
///
/// An event loop calls this regularly on its main thread, as `bevy_app` does once a frame. It polls tasks that were
/// spawned onto this thread ([`TaskPool::spawn_local`], [`ThreadSpawner`](crate::ThreadSpawner)). Of each of the three
/// pools that has no threads, it also polls shared tasks. It makes at most 100 polls a pool and kind. It returns early
/// when nothing is left to poll and never blocks. Called on another thread it does the same for that thread.
///
/// # Panics
/// If one of [`ComputeTaskPool`], [`AsyncComputeTaskPool`] and [`IoTaskPool`] has not been initialized.
///
/// # Examples
///
/// ```
/// use terrace_tasks::{
///     AsyncComputeTaskPool, ComputeTaskPool, IoTaskPool, TaskPool, tick_global_task_pools_on_main_thread,
/// };
///
/// ComputeTaskPool::get_or_init(TaskPool::new);
/// AsyncComputeTaskPool::get_or_init(TaskPool::new);
/// IoTaskPool::get_or_init(TaskPool::new);
///
/// let task = ComputeTaskPool::get().spawn_local(async { "polled by the main thread" });
/// tick_global_task_pools_on_main_thread();
/// assert!(task.is_finished());
/// ```
#[track_caller]
pub fn tick_global_task_pools_on_main_thread() {
    let pools: [&TaskPool; 3] = [
        COMPUTE.get().unwrap_or_else(|| missing("ComputeTaskPool")),
        ASYNC_COMPUTE
            .get()
            .unwrap_or_else(|| missing("AsyncComputeTaskPool")),
        IO.get().unwrap_or_else(|| missing("IoTaskPool")),
    ];
    for _ in 0..TASKS_PER_TICK {
        let mut polled = false;
        for pool in pools {
            polled |= pool.tick_on_this_thread();
        }
        if !polled {
            break;
        }
    }
}

/// The panic of [`tick_global_task_pools_on_main_thread`].
#[cold]
#[track_caller]
fn missing(pool: &str) -> ! {
    panic!(
        "`tick_global_task_pools_on_main_thread` needs all three pools and the {pool} has not been initialized: call \
         `get_or_init` of ComputeTaskPool, AsyncComputeTaskPool and IoTaskPool before the event loop starts (in a \
         Bevy app: add `TaskPoolPlugin`)"
    )
}
