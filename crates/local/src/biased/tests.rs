//! The counts, step by step, on one thread that plays both sides.

use super::{Arrival, LIMIT, Pended, State, Step, count};

/// The plain count and the atomic one.
fn counts(state: &State) -> (u32, isize) {
    // SAFETY: this thread is the only one.
    let home = unsafe { state.with_home(|home| home.references) };
    (
        home,
        count(state.abroad.load(terrace_sync::atomic::Ordering::Relaxed)),
    )
}

/// A pending task with its handle, polled once.
fn pending() -> State {
    let state = State::at_home();
    poll(&state, || ());
    state
}

/// A turn that ends in `Pending`.
fn poll(state: &State, during: impl FnOnce()) {
    // SAFETY: at home, with the item's reference.
    assert!(unsafe { state.start() });
    during();
    // SAFETY: as above.
    assert_eq!(unsafe { state.pend() }, Pended::Wait);
}

fn clone_at_home(state: &State) {
    // SAFETY: at home, with a reference.
    unsafe { state.clone_at_home() };
}

/// A task whose waker is cloned at home and used up elsewhere, again and again: neither count grows.
#[test]
fn wakers_that_are_used_up_elsewhere_do_not_add_up() {
    let state = pending();
    clone_at_home(&state);
    for _ in 0..1_000 {
        assert_eq!(state.wake_elsewhere(true), Step::Queue);
        // SAFETY: at home, with the item's reference.
        assert_eq!(unsafe { state.arrive() }, Arrival::Queue);
        poll(&state, || clone_at_home(&state));
        let (home, elsewhere) = counts(&state);
        assert_eq!((home, elsewhere), (2, 0), "the handle and a waker");
    }
}

/// The same where they are dropped elsewhere, and a registry has a reference, so that no item ever comes: they are settled when
/// there are many.
#[test]
fn wakers_that_are_dropped_elsewhere_do_not_add_up() {
    let state = pending();
    state.set_registered();
    for _ in 0..10 * LIMIT {
        clone_at_home(&state);
        assert_eq!(state.release_elsewhere(), Step::Nothing);
        let (home, elsewhere) = counts(&state);
        assert_eq!(home as isize + elsewhere, 1, "the handle");
        assert!(home as isize <= LIMIT + 1);
    }
}

/// A task all of whose references are counted elsewhere ends at home.
#[test]
fn the_end_of_a_task_that_is_counted_elsewhere() {
    let state = State::elsewhere();
    // SAFETY: at home, with the item's reference; so below, with those that the comments tell.
    assert_eq!(unsafe { state.arrive() }, Arrival::Queue);
    // A waker that home keeps, and another thread clones.
    poll(&state, || clone_at_home(&state));
    state.clone_elsewhere();
    // SAFETY: the first one.
    assert_eq!(unsafe { state.release_at_home() }, Step::Nothing);
    assert_eq!(counts(&state), (0, 2), "the handle and the clone");
    // SAFETY: the handle, which has come home.
    assert_eq!(unsafe { state.drop_handle_at_home(false) }, Step::Queue);
    // SAFETY: the item.
    assert!(!unsafe { state.start() }, "it was cancelled");
    // SAFETY: as above.
    let finished = unsafe { state.finish(false) };
    assert!(!finished.alone && !finished.held && !finished.pushing);
    assert_eq!(state.release_elsewhere(), Step::Free, "the clone");
}

/// A task that is queued at home and woken elsewhere is cancelled elsewhere, before the item of the wake has come: it is not
/// polled any more.
#[test]
fn a_cancellation_behind_a_wake_counts_at_once() {
    let state = State::at_home();
    clone_at_home(&state);
    assert_eq!(state.wake_elsewhere(true), Step::Queue);
    assert_eq!(state.drop_handle_elsewhere(false), Step::Nothing);
    // SAFETY: at home, with the reference of the run queue's item.
    assert!(!unsafe { state.start() });
    // SAFETY: as above.
    let finished = unsafe { state.finish(false) };
    assert!(finished.pushing, "the wake's item is to come");
    // SAFETY: at home, with its reference.
    assert_eq!(unsafe { state.arrive() }, Arrival::Ended(true));
}
