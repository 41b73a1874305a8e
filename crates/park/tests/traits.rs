//! Which threads the public types may go to.

use std::panic::{RefUnwindSafe, UnwindSafe};

use static_assertions::{assert_impl_all, assert_not_impl_any};
use terrace_park::{Idle, Parker, Restricted, Token, Unparker, Wake, Woken};

assert_impl_all!(Token: Send, Sync, Unpin, UnwindSafe, RefUnwindSafe);
assert_impl_all!(Woken: Send, Sync, Unpin, UnwindSafe, RefUnwindSafe);
assert_impl_all!(Unparker: Send, Sync, Unpin, Clone);
assert_impl_all!(Wake: Send, Sync, Copy, Eq);
assert_impl_all!(Restricted: Send, Sync, Copy, Eq);
assert_impl_all!(Idle: Send, Sync, Unpin);
assert_not_impl_any!(Token: Copy, Clone);
assert_not_impl_any!(Parker: Send, Sync, Clone);

/// A token is one word, so that passing it about costs nothing.
#[test]
fn a_token_is_one_word() {
    assert_eq!(size_of::<Token>(), size_of::<usize>());
    assert_eq!(size_of::<Option<Parker>>(), size_of::<usize>());
}

/// Both ends name the thread, and say whether it sleeps and whether a token is there.
#[test]
fn a_parker_shows_its_thread_and_its_token() {
    let thread = std::thread::Builder::new().name("sleeper".into());
    let thread = thread.spawn(|| {
        let parker = Parker::new();
        let unparker = parker.unparker();
        let before = format!("{parker:?}");
        unparker.unpark();
        (before, format!("{unparker:?}"))
    });
    let (before, after) = thread.unwrap().join().unwrap();
    let thread = "thread: Some(\"sleeper\"), parked: false";
    assert_eq!(before, format!("Parker {{ {thread}, token: false }}"));
    assert_eq!(after, format!("Unparker {{ {thread}, token: true }}"));
}
