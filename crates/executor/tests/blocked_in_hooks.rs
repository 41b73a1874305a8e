//! Spares whose start hooks wait run tasks there, which may block them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;

use terrace_executor::scope::{OpenScope, ScopeKind};
use terrace_executor::{Builder, Executor, block_on};
use terrace_testing::{on_own_thread, signal};

/// Runs `future` as the only child of a scope that is open on `executor`.
fn in_scope(executor: &Executor<'static>, child: impl Future<Output = ()> + Send) {
    let scope = OpenScope::open(executor, ScopeKind::of::<()>());
    // SAFETY: the scope is waited for below, before anything that the child borrows ends.
    unsafe { scope.handle().spawn(child) };
    assert!(scope.wait(&[]).is_none());
}

/// The hook of the first spare waits until the whole test is over. As the last resort it runs a task, which blocks on a
/// task that it has queued. That needs one more spare.
#[test]
fn a_spare_is_blocked_by_what_it_runs_in_its_start_hook() {
    on_own_thread(|| {
        let (over, end) = signal();
        let (started, over) = (
            Arc::new(AtomicUsize::new(0)),
            std::sync::Mutex::new(Some(over)),
        );
        let counter = Arc::clone(&started);
        let executor = Arc::new(
            Builder::new()
                .workers(1)
                .on_thread_start(move || {
                    if counter.fetch_add(1, Ordering::Relaxed) == 1 {
                        let over = over.lock().unwrap().take();
                        block_on(over.expect("one thread takes it"));
                    }
                })
                .build(),
        );
        let inner = Arc::clone(&executor);
        let task = executor.spawn(async move {
            let own = Arc::clone(&inner);
            block_on(inner.spawn(async move {
                let (sends, receives) = channel();
                own.spawn(async move { sends.send(1).unwrap() }).detach();
                receives.recv().unwrap()
            }))
        });
        let mut result = 0;
        in_scope(&executor, async { result = task.await });
        assert_eq!(result, 1);
        assert!(started.load(Ordering::Relaxed) >= 3);
        end.set();
    });
}
