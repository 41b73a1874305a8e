//! How an announcer tells waiting threads that there is one more pool to drive.

use terrace_executor::protocol::publish::Broadcast;
use terrace_park::{Parker, Unparker};
use terrace_sync::atomic::AtomicUsize;
use terrace_sync::atomic::Ordering::Relaxed;
use terrace_sync::{Arc, model, thread};

/// A waiting thread reads the announcement, whenever its wait began.
///
/// Seen to sleep without end if the announcer raises the number after the notifications (`executor-broadcast-late`).
/// Seen to read the old news if the load of the number is relaxed (`executor-broadcast-number`).
#[test]
fn executor_broadcast_reaches_each_waiter() {
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

/// A reader that has heeded the first of two announcements at once does not miss the second.
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
