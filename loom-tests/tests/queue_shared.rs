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
/// Fails under: `queue-store-look-at-slot`.
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

/// A batch is pushed while another thread takes a batch into its ring.
#[test]
fn injector_batches() {
    model(|| {
        let injector = Arc::new(Injector::new());
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
        injector.push_batch(0..2);
        let single = injector.pop();
        let mut taken = batch.join().unwrap();
        taken.extend(single);
        taken.extend(rest(&injector));
        assert_each_once(taken, 2);
        assert!(injector.is_empty());
    });
}

/// A popper takes what is filled by one claim, while another thread fills a slot again that this popper has freed, and takes one item.
/// Each item comes once, and those of one popper in their order.
///
/// Fails under: `queue-store-pop-unfilled`.
#[test]
fn injector_batch_of_one_claim() {
    model(|| {
        let injector = Arc::new(Injector::new());
        (0..2).for_each(|item| injector.push(item));
        let other = {
            let injector = injector.clone();
            thread::spawn(move || {
                injector.push(2);
                injector.pop()
            })
        };
        let ring = Ring::new();
        let me = owner(&ring);
        let mut taken: Vec<u32> = injector.pop_batch_into(&me, 3).into_iter().collect();
        taken.extend(std::iter::from_fn(|| me.pop()));
        assert!(taken.is_sorted(), "{taken:?}");
        taken.extend(other.join().unwrap());
        taken.extend(rest(&injector));
        assert_each_once(taken, 3);
    });
}

/// What is left in an injector.
fn rest(injector: &Injector<u32>) -> impl Iterator<Item = u32> {
    std::iter::from_fn(|| injector.pop())
}

/// A pusher fills a segment, and either uses a slot again or appends a segment. The items come in its order.
///
/// Fails under: `queue-store-push-relaxed`, `queue-store-pop-relaxed`, `queue-store-free-relaxed`, `queue-store-room-relaxed`,
/// `queue-store-full-unclosed`.
#[test]
fn injector_uses_slots_again_in_order() {
    model(|| {
        let injector = Arc::new(Injector::new());
        let pusher = {
            let injector = injector.clone();
            thread::spawn(move || (0..4).for_each(|item| injector.push(item)))
        };
        let mut taken: Vec<u32> = (0..2).filter_map(|_| injector.pop()).collect();
        pusher.join().unwrap();
        taken.extend(rest(&injector));
        assert_eq!(taken, [0, 1, 2, 3]);
        assert!(injector.is_empty());
    });
}

/// Two pushers find a segment full at the same time, and one of them takes. The items of each come in its order.
///
/// Fails under: `queue-store-push-unchecked`.
#[test]
fn injector_grows_once_for_two_pushers() {
    model(|| {
        let injector = Arc::new(Injector::new());
        injector.push(0);
        let other = {
            let injector = injector.clone();
            thread::spawn(move || (11..13).for_each(|item| injector.push(item)))
        };
        (1..3).for_each(|item| injector.push(item));
        let mut taken: Vec<u32> = injector.pop().into_iter().collect();
        other.join().unwrap();
        taken.extend(rest(&injector));
        assert_eq!(taken.first(), Some(&0));
        let of = |tens: u32| taken.iter().copied().filter(move |item| item / 10 == tens);
        assert!(of(0).eq([0, 1, 2]) && of(1).eq([11, 12]), "taken {taken:?}");
        assert!(injector.is_empty());
    });
}

/// One look at an injector is enough for going to sleep, also if the items lie in a later segment than the sleeper has seen: announce,
/// fence, look, sleep, against push, fence, look, wake.
///
/// Fails under: `sync-light-removed`, `sync-heavy-removed`.
#[test]
fn injector_wakes_a_sleeper_behind_a_full_segment() {
    model(|| {
        let (injector, asleep) = (Arc::new(Injector::new()), Arc::new(AtomicBool::new(false)));
        injector.push_batch(0..2);
        let me = thread::current();
        let pusher = {
            let (injector, asleep) = (injector.clone(), asleep.clone());
            thread::spawn(move || {
                injector.push(2);
                light();
                if asleep.load(Ordering::Relaxed) {
                    me.unpark();
                }
            })
        };
        let mut next = 0;
        while next < 3 {
            if let Some(item) = injector.pop() {
                assert_eq!(item, next);
                next += 1;
                continue;
            }
            asleep.store(true, Ordering::Relaxed);
            heavy();
            if injector.is_empty() {
                thread::park();
            }
        }
        pusher.join().unwrap();
        assert!(injector.is_empty());
    });
}

/// Two poppers use a segment up, and both go on to the next.
///
/// Fails under: `queue-store-pop-unchecked`.
#[test]
fn injector_is_used_up_by_two_poppers() {
    model(|| {
        let injector = Arc::new(Injector::new());
        (0..3).for_each(|item| injector.push(item));
        let other = {
            let injector = injector.clone();
            thread::spawn(move || [injector.pop(), injector.pop()])
        };
        let mine = [injector.pop(), injector.pop()];
        let other = other.join().unwrap();
        for two in [mine, other] {
            assert!(two[0].is_some() && two[1].is_none_or(|second| two[0] < Some(second)));
        }
        let taken = mine.into_iter().chain(other).flatten();
        assert_each_once(taken.collect::<Vec<_>>(), 3);
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
