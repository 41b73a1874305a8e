//! The pair of fences between owners of deques and thieves orders two threads of which each writes one word and reads the
//! other. Under loom both halves are full fences, so this is about where they stand, not about the system's barrier.

use terrace_sync::atomic::{AtomicU32, Ordering};
use terrace_sync::{Arc, model, steal, thread};

fn one_of_two_sees_the_other(light: fn()) {
    model(move || {
        let words = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
        let theirs = Arc::clone(&words);
        let thief = thread::spawn(move || {
            theirs[1].store(1, Ordering::Relaxed);
            steal::heavy();
            theirs[0].load(Ordering::Relaxed)
        });
        words[0].store(1, Ordering::Relaxed);
        light();
        let seen = words[1].load(Ordering::Relaxed);
        assert_eq!(
            (seen | thief.join().expect("ends")),
            1,
            "neither saw the other"
        );
    });
}

/// Of an owner and a thief that each write, fence and read, one sees the other's write.
///
/// Fails under `sync-steal-light-removed` and `sync-steal-heavy-removed`.
#[test]
fn sync_steal_fences_order() {
    one_of_two_sees_the_other(steal::light);
}

/// The same with the owner's fence that does not look at the form of fences.
///
/// Fails under `sync-steal-light-removed` and `sync-steal-heavy-removed`.
#[test]
fn sync_steal_fences_order_without_a_look() {
    one_of_two_sees_the_other(steal::light_asymmetric);
}
