//! The pools of a process, and ticking them. One test, as there is one set a process.

use std::cell::Cell;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::task::Poll;

use terrace_tasks::{
    AsyncComputeTaskPool, ComputeTaskPool, IoTaskPool, TaskPool, TaskPoolBuilder, block_on,
    tick_global_task_pools_on_main_thread as tick,
};
use terrace_testing::on_own_thread;

#[test]
fn pools_are_made_once_and_ticking_runs_what_no_other_thread_can() {
    on_own_thread(|| {
        let io = IoTaskPool::get_or_init(|| TaskPoolBuilder::new().num_threads(0).build());
        ComputeTaskPool::get_or_init(TaskPool::new);
        AsyncComputeTaskPool::get_or_init(|| TaskPoolBuilder::new().num_threads(1).build());
        let again = IoTaskPool::get_or_init(|| unreachable!("it is there already"));
        assert!(std::ptr::eq(io, again) && std::ptr::eq(io, IoTaskPool::get()));
        assert!(std::ptr::eq(io, IoTaskPool::try_get().unwrap()));

        // Nothing to do: it returns.
        tick();

        // A child of a scope ticks under a lock that the next child wants. That one waits for the scope's own turn.
        let lock = Mutex::new(0);
        ComputeTaskPool::get().scope(|scope| {
            for _ in 0..2 {
                scope.spawn_on_scope(async {
                    let mut count = lock.try_lock().expect("no sibling runs inside of this one");
                    tick();
                    *count += 1;
                });
            }
        });
        assert_eq!(lock.into_inner().unwrap(), 2);

        let ran = Rc::new(Cell::new(0));
        for pool in [
            &**io,
            &**ComputeTaskPool::get(),
            &**AsyncComputeTaskPool::get(),
        ] {
            let ran = Rc::clone(&ran);
            pool.spawn_local(async move { ran.set(ran.get() + 1) })
                .detach();
        }
        let shared = [(); 5].map(|()| io.spawn(async { 4 }));
        tick();
        assert_eq!(ran.get(), 3);
        assert!(shared.iter().all(|task| task.is_finished()));
        for task in shared {
            assert_eq!(block_on(task), 4);
        }

        // What a thread of its pool can run is left to that thread.
        if cfg!(feature = "multi_threaded") {
            let pool = AsyncComputeTaskPool::get();
            let (release, blocked) = channel::<()>();
            let (started, starts) = channel();
            let blocks = pool.spawn(async move {
                started.send(()).unwrap();
                let _released = blocked.recv();
            });
            starts.recv().unwrap();
            let queued = pool.spawn(async {});
            tick();
            assert!(!queued.is_finished());
            drop(release);
            block_on(queued);
            block_on(blocks);
        }

        // A task that can always go on takes its share, not all the time.
        let polls = Rc::new(Cell::new(0));
        let counted = Rc::clone(&polls);
        let endless = ComputeTaskPool::get().with_local_executor(|executor| {
            executor.spawn(poll_fn(move |context| {
                counted.set(counted.get() + 1);
                context.waker().wake_by_ref();
                Poll::<()>::Pending
            }))
        });
        tick();
        assert!((100..=300).contains(&polls.get()), "{} polls", polls.get());
        drop(endless);
    });
}
