//! A program with two versions of the layers: each runs tasks, waits, joins and scopes of its own inside those of the other.

use std::sync::Mutex;

fn main() {
    let first = one::executor::Builder::new().workers(2).build();
    let second = two::executor::Builder::new().workers(2).build();

    // A task of one version awaits a task of the other, which spawns a third.
    let inner = second.spawn(async { two::executor::Current::spawn(async { 20 }).await + 1 });
    let outer = first.spawn(async move { inner.await * 2 });
    assert_eq!(one::executor::block_on(outer), 42);

    // A worker of one version waits by the other's `block_on` for a task of its own pool.
    let nested = first.spawn(async {
        let seven = one::executor::Current::spawn(async { 7 });
        two::executor::block_on(seven)
    });
    assert_eq!(two::executor::block_on(nested), 7);

    // Children of one version's scope join on the other's pool.
    let total = Mutex::new(0);
    one::fork::scope(&first, |scope| {
        for _ in 0..8 {
            scope.spawn(|_: &one::executor::Worker| {
                let (a, b) = second.join(|_| 1, |_| 2);
                *total.lock().expect("no child panics") += a + b;
            });
        }
    });
    assert_eq!(total.into_inner().expect("no child panics"), 24);

    // Tasks of one thread: each version has its own on it, and its own waits run them.
    let mine = one::thread::spawn_local(async { 5 });
    let yours = two::thread::spawn_local(async { 6 });
    assert_eq!(two::executor::block_on(yours), 6);
    assert_eq!(one::executor::block_on(mine), 5);

    first
        .shutdown(one::executor::Shutdown::FinishAll, None)
        .expect("all tasks have ended");
    second
        .shutdown(two::executor::Shutdown::FinishAll, None)
        .expect("all tasks have ended");
}
