//! How waiting threads are told that there is one more pool to drive.

use terrace_executor::bulletin::Bulletin;
use terrace_park::{Parker, Unparker};
use terrace_sync::atomic::AtomicUsize;
use terrace_sync::atomic::Ordering::Relaxed;
use terrace_sync::{Arc, model, thread};

/// A thread that waits, whenever it began to, reads what is announced.
///
/// Seen to sleep for ever if the number is raised after the notifications (`executor-bulletin-late`), and to read what was
/// there before if it is loaded relaxed (`executor-bulletin-number`).
#[test]
fn executor_bulletin_reaches_who_waits() {
    model(|| {
        let bulletin = Arc::new(Bulletin::<Unparker>::new());
        let news = Arc::new(AtomicUsize::new(0));
        let waiter = {
            let (bulletin, news) = (bulletin.clone(), news.clone());
            thread::spawn(move || {
                let parker = Parker::new();
                let before = 0;
                bulletin.subscribe(parker.unparker(), |_| false);
                while bulletin.number() == before {
                    parker.park();
                }
                assert_eq!(news.load(Relaxed), 1);
            })
        };
        news.store(1, Relaxed);
        bulletin.announce(|thread| Some(thread.clone()), |thread| thread.unpark());
        waiter.join().unwrap();
    });
}

/// Of two announcements at once none is lost on a reader that has heeded the first it saw.
#[test]
fn executor_bulletin_of_two_announcements() {
    model(|| {
        let bulletin = Arc::new(Bulletin::<Unparker>::new());
        let news = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
        let announcers = [0, 1].map(|i| {
            let (bulletin, news) = (bulletin.clone(), news.clone());
            thread::spawn(move || {
                news[i].store(1, Relaxed);
                bulletin.announce(|thread| Some(thread.clone()), |thread| thread.unpark());
            })
        });
        let parker = Parker::new();
        bulletin.subscribe(parker.unparker(), |_| false);
        loop {
            let number = bulletin.number();
            if news.iter().all(|news| news.load(Relaxed) == 1) {
                break;
            }
            while bulletin.number() == number {
                parker.park();
            }
        }
        for announcer in announcers {
            announcer.join().unwrap();
        }
    });
}
