//! Models of a spawn onto a thread that is about to sleep, with tokens for runnables.

use terrace_local::OnOwner;
use terrace_local::mailbox::{Mailbox, Queueable};
use terrace_park::Parker;
use terrace_queue::Node;
use terrace_sync::atomic::{AtomicBool, Ordering};
use terrace_sync::{Arc, heavy, model, thread};

/// The owner's side of a mailbox. The first thread of each model calls this.
fn owned<R: Queueable>(mailbox: &Mailbox<R>) -> OnOwner<'_, Mailbox<R>> {
    // SAFETY: the thread that calls this is the owner in its model.
    unsafe { OnOwner::assume(mailbox) }
}

/// A `ThreadSpawner` spawns onto a thread that sleeps on its parker: push, then token.
///
/// Fails under: `local-is-empty-inbox`.
#[test]
fn thread_spawn_onto_parker() {
    model(|| {
        let mailbox = Arc::new(Mailbox::default());
        let parker = Parker::new();
        let spawner = {
            let (mailbox, unparker) = (mailbox.clone(), parker.unparker());
            thread::spawn(move || {
                assert!(
                    mailbox.spawn_remote(Node::boxed(7)).is_ok(),
                    "the thread is open"
                );
                unparker.unpark();
            })
        };
        while owned(&mailbox).is_empty() {
            parker.park();
        }
        spawner.join().unwrap();
        let task = owned(&mailbox).pop();
        assert_eq!(task.map(|task| task.value), Some(7));
    });
}

/// The same onto a thread that announces its sleep by a flag and looks again, as a wait does. The push fences before it
/// looks at the flag.
///
/// Fails under: `local-push-fence` (whose row names another model).
#[test]
fn thread_spawn_onto_announced_sleep() {
    model(|| {
        let mailbox = Arc::new(Mailbox::default());
        let asleep = Arc::new(AtomicBool::new(false));
        let parker = Parker::new();
        let spawner = {
            let (mailbox, asleep) = (mailbox.clone(), asleep.clone());
            let unparker = parker.unparker();
            thread::spawn(move || {
                assert!(
                    mailbox.spawn_remote(Node::boxed(7)).is_ok(),
                    "the thread is open"
                );
                if asleep.load(Ordering::Relaxed) {
                    unparker.unpark();
                }
            })
        };
        asleep.store(true, Ordering::Relaxed);
        heavy();
        if owned(&mailbox).is_empty() {
            parker.park();
        }
        spawner.join().unwrap();
        let task = owned(&mailbox).pop();
        assert_eq!(task.map(|task| task.value), Some(7));
    });
}
