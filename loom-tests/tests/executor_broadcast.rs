//! How waiting threads are told that there is one more pool to drive.

use terrace_executor::protocol::broadcast::Broadcast;
use terrace_park::{Parker, Unparker};
use terrace_sync::atomic::AtomicUsize;
use terrace_sync::atomic::Ordering::Relaxed;
use terrace_sync::{Arc, model, thread};

/// A thread that waits, whenever it began to, reads what is announced.
///
/// Seen to sleep without end if the number is raised after the notifications (`executor-broadcast-late`), and to read what was
/// there before if it is loaded relaxed (`executor-broadcast-number`).
#[test]
fn executor_broadcast_reaches_who_waits() {
    model(|| {
        let broadcast = Arc::new(Broadcast::<Unparker>::new());
        let news = Arc::new(AtomicUsize::new(0));
        let waiter = {
            let (broadcast, news) = (broadcast.clone(), news.clone());
            thread::spawn(move || {
                let parker = Parker::new();
                let before = 0;
                broadcast.subscribe(parker.unparker(), |_| false);
                while broadcast.number() == before {
                    parker.park();
                }
                assert_eq!(news.load(Relaxed), 1);
            })
        };
        news.store(1, Relaxed);
        broadcast.announce(|thread| Some(thread.clone()), |thread| thread.unpark());
        waiter.join().unwrap();
    });
}

/// Of two announcements at once none is lost on a reader that has heeded the first it saw.
#[test]
fn executor_broadcast_of_two_announcements() {
    model(|| {
        let broadcast = Arc::new(Broadcast::<Unparker>::new());
        let news = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
        let announcers = [0, 1].map(|i| {
            let (broadcast, news) = (broadcast.clone(), news.clone());
            thread::spawn(move || {
                news[i].store(1, Relaxed);
                broadcast.announce(|thread| Some(thread.clone()), |thread| thread.unpark());
            })
        });
        let parker = Parker::new();
        broadcast.subscribe(parker.unparker(), |_| false);
        loop {
            let number = broadcast.number();
            if news.iter().all(|news| news.load(Relaxed) == 1) {
                break;
            }
            while broadcast.number() == number {
                parker.park();
            }
        }
        for announcer in announcers {
            announcer.join().unwrap();
        }
    });
}
