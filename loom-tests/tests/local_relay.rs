//! Models of the waker of a first poll: wakes by other threads, while the poll goes on and after it.
//!
//! Each model wakes a bell in place of a task, and counts how often it rings.

use std::sync::Arc as Plain;
use std::sync::atomic::{AtomicUsize as PlainCount, Ordering::Relaxed as Uncounted};
use std::task::{Wake, Waker};

use terrace_local::relay::Lender;
use terrace_sync::cell::UnsafeCell;
use terrace_sync::{Arc, model, thread};

/// A value that a thread writes before its wake.
struct Message(UnsafeCell<u32>);

// SAFETY: loom fails the model if two threads use the memory in a way that they must not.
unsafe impl Send for Message {}
// SAFETY: see `Send`: loom watches shared uses of the memory, too.
unsafe impl Sync for Message {}

impl Message {
    fn new() -> Arc<Self> {
        Arc::new(Self(UnsafeCell::new(0)))
    }

    fn write(&self) {
        self.0.with_mut(|value| {
            // SAFETY: one thread writes, before its wake. The others read after it.
            unsafe { *value = 1 };
        });
    }

    fn read(&self) -> u32 {
        self.0.with(|value| {
            // SAFETY: a wake came before.
            unsafe { *value }
        })
    }
}

/// The task: each wake of it sees the message, as its poll would.
struct Bell {
    rings: PlainCount,
    message: Arc<Message>,
}

impl Wake for Bell {
    fn wake(self: Plain<Self>) {
        assert_eq!(self.message.read(), 1);
        self.rings.fetch_add(1, Uncounted);
    }
}

fn bell(message: &Arc<Message>) -> Plain<Bell> {
    Plain::new(Bell {
        rings: PlainCount::new(0),
        message: message.clone(),
    })
}

/// A clone wakes while the poll ends and the relay is settled: the task is woken once, after what came before the wake.
///
/// Fails under: `relay-wake-lost`, `relay-wake-twice`, `relay-wake-acquire`, `relay-wake-order`, `relay-settle-order`,
/// `relay-wake-keeps` (the relay leaks).
#[test]
fn relay_wake_against_settle() {
    model(|| {
        let message = Message::new();
        let bell = bell(&message);
        let mut lender = Lender::default();
        let waker = Waker::clone(&lender.lend());
        let woken = thread::spawn(move || {
            message.write();
            waker.wake();
        });
        lender.settle(&Waker::from(bell.clone()));
        drop(lender);
        woken.join().unwrap();
        assert_eq!(bell.rings.load(Uncounted), 1);
        assert_eq!(Plain::strong_count(&bell), 1, "the relay is gone");
    });
}

/// A clone wakes while the poll ends the task: nothing is woken, and the last of both frees the relay.
///
/// Fails under: `relay-wake-keeps`.
#[test]
fn relay_wake_against_end() {
    model(|| {
        let lender = Lender::default();
        let waker = Waker::clone(&lender.lend());
        let woken = thread::spawn(move || waker.wake());
        drop(lender);
        woken.join().unwrap();
    });
}

/// Another thread wakes by the lent waker itself, and the poll clones it at the same time. Whichever makes the relay: the task is
/// woken once, and later by the clone.
///
/// Fails under: `relay-lent-wake-lost`.
#[test]
fn relay_lent_wake_against_clone() {
    model(|| {
        let message = Message::new();
        let bell = bell(&message);
        let lender = Arc::new(Lender::default());
        let other = thread::spawn({
            let (lender, message) = (lender.clone(), message.clone());
            move || {
                message.write();
                lender.lend().wake_by_ref();
            }
        });
        let clone = Waker::clone(&lender.lend());
        other.join().unwrap();
        let mut lender = Arc::try_unwrap(lender)
            .ok()
            .expect("the other thread has ended");
        lender.settle(&Waker::from(bell.clone()));
        drop(lender);
        assert_eq!(bell.rings.load(Uncounted), 1);
        clone.wake();
        assert_eq!(bell.rings.load(Uncounted), 2);
        assert_eq!(Plain::strong_count(&bell), 1, "the relay is gone");
    });
}

/// Another thread wakes by the lent waker of a poll that ends the task, and no other has a clone: the relay goes with its lender.
#[test]
fn relay_lent_wake_against_end() {
    model(|| {
        let lender = Arc::new(Lender::default());
        let other = thread::spawn({
            let lender = lender.clone();
            move || lender.lend().wake_by_ref()
        });
        lender.lend().wake_by_ref();
        other.join().unwrap();
    });
}
