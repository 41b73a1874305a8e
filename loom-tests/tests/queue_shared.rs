//! Models of `Injector` and `Inbox`: each item once, and a look that does not miss it.

use terrace_loom_tests::assert_each_once;
use terrace_queue::{Boxed, Inbox, Injector, Node, Owner, Ring};
use terrace_sync::atomic::{AtomicBool, Ordering};
use terrace_sync::{Arc, heavy, light, model, thread};

fn owner<T>(ring: &Ring<T>) -> Owner<'_, T> {
    // SAFETY: each model makes one handle for a ring.
    unsafe { ring.owner() }
}

/// A look sees an item whose push has returned until a thread takes it, for every step of other
/// pushers.
///
/// Fails under: `queue-tail-after-item`.
#[test]
fn injector_tail_before_item() {
    model(|| {
        let injector = Arc::new(Injector::new());
        let pusher = {
            let injector = injector.clone();
            thread::spawn(move || injector.push(1))
        };
        injector.push(0);
        let taken = injector.pop();
        if taken != Some(0) {
            assert!(!injector.is_empty(), "item 0 is there and not announced");
        }
        assert!(
            injector.len_hint() <= 2,
            "more are announced than were pushed"
        );
        pusher.join().unwrap();
        let rest = std::iter::from_fn(|| injector.pop());
        assert_each_once(taken.into_iter().chain(rest), 2);
        assert!(injector.is_empty());
    });
}

/// A batch pushed while two threads take, one of them in batches into its ring.
#[test]
fn injector_batches() {
    model(|| {
        let injector = Arc::new(Injector::new());
        let single = {
            let injector = injector.clone();
            thread::spawn(move || injector.pop())
        };
        let batch = {
            let injector = injector.clone();
            thread::spawn(move || {
                let ring = Ring::new();
                let me = owner(&ring);
                let first = injector.pop_batch_into(&me, 2);
                first
                    .into_iter()
                    .chain(std::iter::from_fn(|| me.pop()))
                    .collect::<Vec<_>>()
            })
        };
        injector.push_batch(0..3);
        let mut taken = batch.join().unwrap();
        taken.extend(single.join().unwrap());
        taken.extend(std::iter::from_fn(|| injector.pop()));
        assert_each_once(taken, 3);
        assert!(injector.is_empty());
    });
}

/// The present items of an inbox.
fn take(inbox: &Inbox<Boxed<u32>>) -> impl Iterator<Item = u32> {
    inbox.take().map(|node| node.value)
}

/// Two producers, each in its order, while the owner takes.
///
/// Fails under: `queue-inbox-push-relaxed`, `queue-inbox-take-relaxed`, `queue-inbox-push-unchecked`.
#[test]
fn inbox_two_producers() {
    model(|| {
        let inbox = Arc::new(Inbox::<Boxed<u32>>::new());
        let producer = |ids: [u32; 2]| {
            let inbox = inbox.clone();
            thread::spawn(move || ids.into_iter().for_each(|id| inbox.push(Node::boxed(id))))
        };
        let (first, second) = (producer([0, 1]), producer([2, 3]));
        let mut taken: Vec<u32> = take(&inbox).collect();
        first.join().unwrap();
        second.join().unwrap();
        taken.extend(take(&inbox));
        let order = |id| taken.iter().position(|&seen| seen == id);
        assert!(
            order(0) < order(1) && order(2) < order(3),
            "taken {taken:?}"
        );
        assert_each_once(taken, 4);
        assert!(inbox.is_empty());
    });
}

/// One load is enough for going to sleep: announce, fence, look, sleep, against push, fence, look, wake.
///
/// Fails under: `sync-light-removed`, `sync-heavy-removed`.
#[test]
fn inbox_wakes_its_owner() {
    model(|| {
        let (inbox, asleep) = (
            Arc::new(Inbox::<Boxed<u32>>::new()),
            Arc::new(AtomicBool::new(false)),
        );
        let me = thread::current();
        let producer = {
            let (inbox, asleep) = (inbox.clone(), asleep.clone());
            thread::spawn(move || {
                inbox.push(Node::boxed(0));
                light();
                if asleep.load(Ordering::Relaxed) {
                    me.unpark();
                }
            })
        };
        let item = loop {
            if let Some(item) = take(&inbox).next() {
                break item;
            }
            asleep.store(true, Ordering::Relaxed);
            heavy();
            if inbox.is_empty() {
                thread::park();
            }
        };
        assert_eq!(item, 0);
        producer.join().unwrap();
    });
}
