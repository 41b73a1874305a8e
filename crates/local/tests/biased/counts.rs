//! The counts, step by step, on one thread that plays both sides.

use crate::biased::state::{LIMIT, count, local, remote};
use crate::biased::{Arrival, HandleEnd, Left, Pended, Reference, Side, State, Step};
use crate::on_owner::OnOwner;

/// The owner's proof.
fn owned(state: &State) -> OnOwner<'_, State> {
    // SAFETY: one thread plays all sides, so no other one has the state.
    unsafe { OnOwner::assume(state) }
}

/// The local count and the remote one.
fn counts(state: &State) -> (u32, isize) {
    let local = owned(state).with_word(|word| word.references);
    let remote = state.remote.load(terrace_sync::atomic::Ordering::Relaxed);
    (local, count(remote))
}

/// A pending task with its handle, polled once.
fn pending() -> State {
    let state = State::spawned(Side::Local);
    poll(&state, || ());
    state
}

/// A turn that ends in `Pending`.
fn poll(state: &State, during: impl FnOnce()) {
    assert!(owned(state).start());
    during();
    assert_eq!(owned(state).pend(), Pended::Wait);
}

/// The owner clones a waker and another thread uses it up, again and again: neither count grows.
#[test]
fn wakers_used_up_by_remote_threads_do_not_add_up() {
    let state = pending();
    owned(&state).clone_local();
    for _ in 0..1_000 {
        assert_eq!(state.wake_remote(Reference::UsedUp), Step::Queue);
        assert_eq!(owned(&state).arrive(), Arrival::Queue);
        poll(&state, || owned(&state).clone_local());
        let (local, remote) = counts(&state);
        assert_eq!((local, remote), (2, 0), "the handle and a waker");
    }
}

/// Another thread drops them, and a registry has a reference, so that no item ever comes: the owner balances the counts when
/// there are many.
#[test]
fn wakers_dropped_by_remote_threads_do_not_add_up() {
    let state = pending();
    state.set_registered();
    for _ in 0..10 * LIMIT {
        owned(&state).clone_local();
        assert_eq!(state.release_remote(), Step::Nothing);
        let (local, remote) = counts(&state);
        assert_eq!(local as isize + remote, 1, "the handle");
        assert!(local as isize <= LIMIT + 1);
    }
}

/// The owner ends a task whose references the remote word counts.
#[test]
fn the_end_of_a_task_with_remote_references() {
    let state = State::spawned(Side::Remote);
    assert_eq!(owned(&state).arrive(), Arrival::Queue);
    // A waker that the owner keeps, and another thread clones.
    poll(&state, || owned(&state).clone_local());
    state.clone_remote();
    // The owner's own waker.
    assert_eq!(owned(&state).release_local(), Step::Nothing);
    assert_eq!(counts(&state), (0, 2), "the handle and the clone");
    // The handle, back on the owner's thread.
    assert_eq!(
        owned(&state).drop_handle_local(HandleEnd::Cancel),
        Step::Queue
    );
    assert!(!owned(&state).start(), "it was cancelled");
    let finished = owned(&state).finish(Left::Nothing);
    assert!(!finished.alone && !finished.held && !finished.pushing);
    assert_eq!(state.release_remote(), Step::Free, "the clone");
}

/// Another thread wakes a queued task, and cancels it before the item of the wake has come: the owner polls it no more.
#[test]
fn a_cancellation_behind_a_wake_counts_at_once() {
    let state = State::spawned(Side::Local);
    owned(&state).clone_local();
    assert_eq!(state.wake_remote(Reference::UsedUp), Step::Queue);
    assert_eq!(state.drop_handle_remote(HandleEnd::Cancel), Step::Nothing);
    assert!(!owned(&state).start());
    let finished = owned(&state).finish(Left::Nothing);
    assert!(finished.pushing, "the wake's item is to come");
    assert_eq!(owned(&state).arrive(), Arrival::Ended(Step::Free));
}

/// Each flag has a bit of its own, below the count.
#[test]
fn flags_do_not_overlap() {
    let flags = [
        local::QUEUED,
        local::RUNNING,
        local::WOKEN,
        local::CANCELLED,
        local::DETACHED,
        local::ENDED,
    ];
    assert_eq!(flags.into_iter().map(u32::from).sum::<u32>(), (1 << 6) - 1);
    let flags = [
        remote::NOTIFIED,
        remote::WOKEN,
        remote::CANCELLED,
        remote::DETACHED,
        remote::ENDED,
        remote::OUTCOME,
        remote::JOIN,
        remote::FRESH,
    ];
    assert_eq!(flags.into_iter().sum::<usize>(), remote::ONE - 1);
    assert_eq!(count(remote::ONE - 1), 0);
    assert_eq!(count(0_usize.wrapping_sub(remote::ONE)), -1);
}
