//! Every name that the published interfaces of all Bevys have, used the way the published signatures allow. `cargo xtask compat`
//! runs this file on the published crates, too.

use bevy_tasks::futures::{check_ready, now_or_never};
use bevy_tasks::prelude::*;
use bevy_tasks::{
    BoxedFuture, ConditionalSend, ConditionalSendFuture, Scope, Task, TaskPool, TaskPoolBuilder,
    ThreadExecutor, available_parallelism, cfg, futures_lite, poll_once,
    tick_global_task_pools_on_main_thread,
};
use terrace_testing::watchdog;

/// A function that is generic over what the bounds of the interface say.
fn boxed<'a, F: ConditionalSendFuture<Output = u8> + 'a>(future: F) -> BoxedFuture<'a, u8> {
    Box::pin(future)
}

fn conditionally_send<T: ConditionalSend>(value: T) -> T {
    value
}

/// As Bevy passes scopes around: by the lifetimes of the published type.
fn spawn_through<'scope, 'env: 'scope>(scope: &Scope<'scope, 'env, u8>) {
    scope.spawn(async { 1 });
    scope.spawn_on_scope(async { 2 });
    scope.spawn_on_external(async { 3 });
}

#[test]
fn pools_scopes_and_tasks() {
    let _watchdog = watchdog();
    let _function: fn() = tick_global_task_pools_on_main_thread;
    let builder = TaskPoolBuilder::default()
        .num_threads(available_parallelism())
        .stack_size(1 << 20)
        .thread_name("Name".into())
        .on_thread_spawn(|| ())
        .on_thread_destroy(|| ());
    let pool: TaskPool = builder.build();
    let executor = TaskPool::get_thread_executor();
    assert_eq!(
        pool.scope(|scope| {
            spawn_through(scope);
        }),
        [1, 2, 3]
    );
    assert_eq!(
        pool.scope_with_executor(false, Some(&executor), |scope| {
            spawn_through(scope);
        }),
        [1, 2, 3]
    );
    assert_eq!(
        pool.scope_with_executor(true, None, |scope| {
            spawn_through(scope);
        }),
        [1, 2, 3]
    );
    let task: Task<u8> = pool.spawn(async { 4 });
    assert_eq!(block_on(task), 4);
    let local = pool.spawn_local(async { 5 });
    pool.with_local_executor(|executor| while executor.try_tick() {});
    assert!(local.is_finished());
    assert_eq!(block_on(local), 5);
    pool.spawn(async {}).detach();
    assert_eq!(
        block_on(pool.spawn(std::future::pending::<u8>()).cancel()),
        None
    );
    let _new: ThreadExecutor<'static> = ThreadExecutor::new();
    assert!(pool.thread_num() > 0);
    assert!(format!("{pool:?}").contains("TaskPool"));
}

#[test]
fn pools_of_the_process() {
    let _watchdog = watchdog();
    let compute: &'static ComputeTaskPool = ComputeTaskPool::get_or_init(TaskPool::default);
    let background = AsyncComputeTaskPool::get_or_init(TaskPool::new);
    let io = IoTaskPool::get_or_init(|| TaskPoolBuilder::new().num_threads(1).build());
    let pools: [&TaskPool; 3] = [compute, background, io];
    assert!(pools.iter().all(|pool| pool.thread_num() > 0));
    assert!(ComputeTaskPool::try_get().is_some() && IoTaskPool::try_get().is_some());
    assert!(AsyncComputeTaskPool::get().thread_num() > 0);
    tick_global_task_pools_on_main_thread();
}

#[cfg(feature = "multi_threaded")]
#[test]
fn tickers() {
    let _watchdog = watchdog();
    let executor = ThreadExecutor::new();
    let ticker: bevy_tasks::ThreadExecutorTicker<'_, '_> = executor.ticker().expect("made here");
    let task = executor.spawn(async { 6 });
    assert!(executor.is_same(&executor) && !executor.is_same(&ThreadExecutor::default()));
    assert!(ticker.try_tick() && !ticker.try_tick());
    assert_eq!(block_on(task), 6);
    executor.spawn(async {}).detach();
    block_on(ticker.tick());
}

#[test]
fn futures() {
    let _watchdog = watchdog();
    assert_eq!(now_or_never(boxed(async { 7 })), Some(7));
    assert_eq!(
        check_ready(&mut boxed(async { conditionally_send(8) })),
        Some(8)
    );
    assert_eq!(block_on(poll_once(std::future::pending::<u8>())), None);
    assert_eq!(block_on(futures_lite::future::ready(9)), 9);
}

/// Code that catches panics around what it borrows.
#[test]
fn unwind_safety() {
    let _watchdog = watchdog();
    fn unwind_safe<T: std::panic::UnwindSafe + Unpin>(value: T) -> T {
        value
    }
    let pool = TaskPool::new();
    let task: Task<u8> = unwind_safe(pool.spawn(async { 1 }));
    assert_eq!(block_on(task), 1);
    let results = pool.scope(|scope| {
        #[cfg(feature = "multi_threaded")]
        let scope: &Scope<'_, '_, u8> = unwind_safe(scope);
        scope.spawn(async { 2 });
    });
    assert_eq!(results, [2]);
}

/// A module that imports two crates with a `*` each.
mod globs {
    use super::watchdog;

    /// Names as in other crates of Bevy, and in programs.
    mod others {
        pub(super) struct Spawn<T>(pub(super) T);
        pub(super) struct Source(pub(super) u8);
        pub(super) struct Metrics(pub(super) u8);
    }

    use bevy_tasks::*;
    use others::*;

    fn ended(Spawn(task): Spawn<Task<u8>>, source: Source, metrics: Metrics) -> [u8; 3] {
        [block_on(task), source.0, metrics.0]
    }

    #[test]
    fn the_crate_takes_no_further_name() {
        let _watchdog = watchdog();
        let pool = TaskPool::new();
        let task = pool.spawn(async { 1 });
        assert_eq!(ended(Spawn(task), Source(2), Metrics(3)), [1, 2, 3]);
    }
}

/// One batch of the numbers below its own.
struct Below(u32);

impl ParallelIterator<std::ops::Range<u32>> for Below {
    fn next_batch(&mut self) -> Option<std::ops::Range<u32>> {
        (self.0 > 0).then(|| 0..std::mem::take(&mut self.0))
    }
}

#[test]
fn iterators_and_slices() {
    let _watchdog = watchdog();
    let pool = TaskPool::new();
    assert_eq!(
        Below(5)
            .map(|n| n * 2)
            .filter(|n| *n > 2)
            .collect::<Vec<_>>(&pool),
        [4, 6, 8]
    );
    let mut numbers = [1, 2, 3];
    assert_eq!(
        numbers.par_chunk_map_mut(&pool, 2, |i, chunk| (i, chunk.len())),
        [(0, 2), (1, 1)]
    );
    assert_eq!(
        numbers
            .par_splat_map(&pool, Some(1), |_, chunk| chunk.len())
            .iter()
            .sum::<usize>(),
        3
    );
    assert_eq!(
        ParallelSlice::par_chunk_map(&numbers, &pool, 3, |_, chunk| chunk[0]),
        [1]
    );
    ParallelSliceMut::par_splat_map_mut(&mut numbers, &pool, None, |_, chunk| chunk.fill(0));
    assert_eq!(numbers, [0, 0, 0]);
}

#[test]
fn conditions() {
    assert_eq!(cfg::multi_threaded!(), cfg!(feature = "multi_threaded"));
    assert_eq!(cfg::async_executor!(), cfg!(feature = "async_executor"));
    assert_eq!(
        [cfg::conditional_send!(), cfg::web!(), cfg::alloc!()],
        [false, false, true]
    );
    let executor = cfg::async_executor! { if { "on" } else { "off" } };
    let expected = if cfg!(feature = "async_executor") {
        "on"
    } else {
        "off"
    };
    assert_eq!(executor, expected);
}
