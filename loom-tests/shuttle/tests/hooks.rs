//! Hooks that wait: for another thread, and for tasks of their own pool.

use terrace_executor::{Builder, Executor, block_on, current};
use terrace_fork::scope;
use terrace_shuttle_tests::{Gate, explore};
use terrace_sync::{Arc, thread};

/// Each start hook waits for another thread; the workers then run the tasks that came during the wait.
#[test]
fn start_hooks_wait() {
    explore(|| {
        let gate = Gate::new();
        let passing = gate.clone();
        let pool = Builder::new()
            .workers(3)
            .on_thread_start(move || block_on(passing.pass()))
            .build();
        let opener = thread::spawn(move || gate.open());
        let tasks: Vec<_> = (0..4).map(|i| pool.spawn(async move { i })).collect();
        assert_eq!(tasks.into_iter().map(block_on).sum::<i32>(), 6);
        opener.join().expect("ends");
    });
}

/// Stop hooks wait for another thread while the remaining worker waits for its own pool.
#[test]
fn stop_hooks_wait() {
    explore(|| {
        let gate = Gate::new();
        let passing = gate.clone();
        let pool = Arc::new(
            Builder::new()
                .workers(3)
                .on_thread_stop(move || block_on(passing.pass()))
                .build(),
        );
        pool.set_workers(1).expect("it shrinks");
        let own = Arc::downgrade(&pool);
        let task = pool.spawn(async move {
            let own = own.upgrade().expect("the model waits");
            block_on(own.spawn(async { 1 }))
        });
        assert_eq!(block_on(task), 1);
        gate.open();
    });
}

/// Destructors of pinned tasks wait, with scopes, for tasks of their own pool.
#[test]
fn pinned_destructors_wait() {
    struct Waits(Arc<Executor<'static>>);
    impl Drop for Waits {
        fn drop(&mut self) {
            let mut ran = 0;
            scope(&self.0, |scope| scope.spawn(async { ran += 1 }));
            assert_eq!(ran, 1);
        }
    }
    explore(|| {
        let pool = Arc::new(Builder::new().workers(2).build());
        let tasks: Vec<_> = (0..2)
            .map(|_| {
                let own = Arc::clone(&pool);
                pool.spawn(async move {
                    assert!(current().is_some());
                    let value = Waits(own);
                    terrace_thread::spawn_local(async move {
                        let _value = value;
                        std::future::pending::<()>().await;
                    })
                    .detach();
                })
            })
            .collect();
        tasks.into_iter().for_each(block_on);
        pool.set_workers(0).expect("it shrinks");
    });
}
