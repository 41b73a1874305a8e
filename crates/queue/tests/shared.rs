//! `Injector`, `Inbox` and `RunQueue` on one thread: order, lengths, and iterators that misbehave.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use terrace_queue::{Boxed, Inbox, Injector, Node, RunQueue};
use terrace_testing::Random;

#[test]
fn injector_is_first_in_first_out_with_an_exact_length_at_rest() {
    let injector = Injector::new();
    assert!(injector.is_empty());
    injector.push(0);
    injector.push_batch([1, 2, 3].into_iter());
    assert_eq!(injector.len_hint(), 4);
    for expected in 0..4 {
        assert_eq!(injector.pop(), Some(expected));
    }
    assert_eq!(injector.pop(), None);
    assert_eq!(injector.len_hint(), 0);
}

#[test]
fn injector_keeps_its_order_while_it_grows() {
    let injector = Injector::new();
    let (mut pushed, mut popped) = (0, 0);
    let mut random = Random::new(7);
    // Longer and longer, and empty in between.
    for length in [1, 31, 32, 33, 100, 64, 1_000, 5_000, 1] {
        while pushed - popped < length {
            injector.push(pushed);
            pushed += 1;
            if random.below(3) == 0 {
                assert_eq!(injector.pop(), Some(popped));
                popped += 1;
            }
        }
        assert_eq!(injector.len_hint(), length);
        while popped < pushed {
            assert!(!injector.is_empty());
            assert_eq!(injector.pop(), Some(popped));
            popped += 1;
        }
        assert!(injector.is_empty());
        assert_eq!(injector.len_hint(), 0);
        assert_eq!(injector.pop(), None);
    }
}

/// Claims one length and yields another, or panics on the way.
struct Misbehaving {
    claimed: usize,
    yields: usize,
    panics: bool,
    given: usize,
}

impl Iterator for Misbehaving {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if self.given == self.yields {
            assert!(!self.panics, "as asked");
            return None;
        }
        self.given += 1;
        Some(self.given)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.claimed, Some(self.claimed))
    }
}

impl ExactSizeIterator for Misbehaving {}

#[test]
fn a_batch_leaves_the_length_exact_whatever_the_iterator_does() {
    for claimed in 0..4 {
        for yields in 0..4 {
            for panics in [false, true] {
                let injector = Injector::new();
                let items = Misbehaving {
                    claimed,
                    yields,
                    panics,
                    given: 0,
                };
                let pushed = catch_unwind(AssertUnwindSafe(|| injector.push_batch(items)));
                assert_eq!(pushed.is_err(), panics);
                assert_eq!(
                    injector.len_hint(),
                    yields,
                    "claimed {claimed}, panics: {panics}"
                );
                let taken: Vec<_> = std::iter::from_fn(|| injector.pop()).collect();
                assert_eq!(taken, (1..=yields).collect::<Vec<_>>());
                assert!(injector.is_empty());
            }
        }
    }
}

#[test]
fn inbox_is_first_in_first_out() {
    let inbox = Inbox::<Boxed<u32>>::new();
    for round in 0..10 {
        for item in 0..round * 100 {
            inbox.push(Node::boxed(item));
        }
        assert_eq!(inbox.is_empty(), round == 0);
        let mut taken = inbox.take();
        assert!(inbox.is_empty());
        // An item that is pushed during it belongs to the next one.
        inbox.push(Node::boxed(u32::MAX));
        assert!((&mut taken).map(|node| node.value).eq(0..round * 100));
        assert!(taken.next().is_none());
        assert!(inbox.take().map(|node| node.value).eq([u32::MAX]));
    }
}

#[test]
fn what_an_inbox_gave_is_dropped_with_the_iterator() {
    let token = Rc::new(());
    let inbox = Inbox::<Boxed<Rc<()>>>::new();
    for _ in 0..10 {
        inbox.push(Node::boxed(token.clone()));
    }
    let mut taken = inbox.take();
    assert!(taken.next().is_some());
    assert_eq!(Rc::strong_count(&token), 10);
    drop(taken);
    assert_eq!(Rc::strong_count(&token), 1);
}

#[test]
fn queues_drop_what_is_left() {
    let token = Rc::new(());
    let (injector, inbox, queue) = (
        Injector::new(),
        Inbox::<Boxed<Rc<()>>>::new(),
        RunQueue::new(),
    );
    for _ in 0..100 {
        injector.push(token.clone());
        inbox.push(Node::boxed(token.clone()));
        queue.push_back(token.clone());
    }
    assert_eq!(Rc::strong_count(&token), 301);
    drop((injector, inbox, queue));
    assert_eq!(Rc::strong_count(&token), 1);
}

/// The items behind one whose destructor panics are leaked, as the memory of the queue is not.
#[test]
fn a_panic_of_an_items_destructor_leaves_the_injectors_drop() {
    struct Item {
        number: u32,
        _token: Rc<()>,
    }
    impl Drop for Item {
        fn drop(&mut self) {
            assert!(self.number != 40, "as asked");
        }
    }
    let token = Rc::new(());
    let injector = Injector::new();
    for number in 0..100 {
        injector.push(Item {
            number,
            _token: token.clone(),
        });
    }
    let dropped = catch_unwind(AssertUnwindSafe(|| drop(injector)));
    assert!(dropped.is_err());
    // The one whose destructor panics drops its fields all the same.
    assert_eq!(Rc::strong_count(&token), 100 - 41 + 1);
}

#[test]
fn run_queue_keeps_both_ends() {
    let queue = RunQueue::new();
    queue.push_back(2);
    queue.push_back(3);
    queue.push_front(1);
    assert_eq!(queue.len(), 3);
    assert_eq!(queue.pop_front(), Some(1));
    assert_eq!(queue.take(), [2, 3]);
    assert!(queue.is_empty());
    assert_eq!(queue.pop_front(), None);
}

/// Dropping what `take` returned may use the queue again: no borrow is alive then.
#[test]
fn run_queue_may_be_used_while_its_items_are_dropped() {
    struct Pusher(Rc<RunQueue<Option<Pusher>>>);
    impl Drop for Pusher {
        fn drop(&mut self) {
            self.0.push_back(None);
        }
    }
    let queue = Rc::new(RunQueue::new());
    queue.push_back(Some(Pusher(queue.clone())));
    drop(queue.take());
    assert_eq!(queue.len(), 1);
    drop(queue.take());
}
