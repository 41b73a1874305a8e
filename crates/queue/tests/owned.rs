//! Random operations on the queues of one owner against `VecDeque`s that hold the expected items. Destructors of items
//! use the queue, too.

#![cfg(not(any(terrace_loom, terrace_shuttle)))]

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use terrace_queue::{Boxed, Inbox, Node, RunQueue};
use terrace_testing::Random;

fn seeds() -> impl Iterator<Item = Random> {
    (1..=20u64).map(Random::new)
}

/// Steps of a program.
const STEPS: u64 = 5_000;

/// An item whose destructor queues another one, a few times.
struct Seed {
    number: u64,
    left: u32,
    world: Rc<World>,
}

#[derive(Default)]
struct World {
    queue: RunQueue<Seed>,
    /// The content of the queue: an item's number, and how many it still queues.
    expected: RefCell<VecDeque<(u64, u32)>>,
}

impl World {
    fn seed(self: &Rc<Self>, number: u64, left: u32) -> Seed {
        let world = Rc::clone(self);
        Seed {
            number,
            left,
            world,
        }
    }

    fn agrees(&self) {
        assert_eq!(self.queue.len(), self.expected.borrow().len());
        assert_eq!(self.queue.is_empty(), self.expected.borrow().is_empty());
    }
}

impl Drop for Seed {
    fn drop(&mut self) {
        if self.left == 0 {
            return;
        }
        let (number, left) = (self.number, self.left - 1);
        self.world.expected.borrow_mut().push_back((number, left));
        self.world.queue.push_back(self.world.seed(number, left));
    }
}

#[test]
fn a_run_queue_does_as_its_model() {
    for mut random in seeds() {
        let world = Rc::<World>::default();
        for step in 0..STEPS {
            let left = u32::try_from(random.below(3)).expect("small");
            match random.below(10) {
                0..4 => {
                    world.expected.borrow_mut().push_back((step, left));
                    world.queue.push_back(world.seed(step, left));
                }
                4 => {
                    world.expected.borrow_mut().push_front((step, left));
                    world.queue.push_front(world.seed(step, left));
                }
                5..9 => {
                    let expected = world.expected.borrow_mut().pop_front();
                    let item = world.queue.pop_front();
                    assert_eq!(item.as_ref().map(|i| (i.number, i.left)), expected);
                    drop(item);
                }
                _ => {
                    let expected = std::mem::take(&mut *world.expected.borrow_mut());
                    let taken = world.queue.take();
                    assert!(taken.iter().map(|i| (i.number, i.left)).eq(expected));
                    drop(taken);
                }
            }
            world.agrees();
        }
        while world.queue.pop_front().is_some() {}
    }
}

#[test]
fn an_inbox_does_as_its_model() {
    for mut random in seeds() {
        let inbox = Inbox::<Boxed<u64>>::new();
        let mut expected = VecDeque::new();
        for step in 0..STEPS {
            match random.below(8) {
                0..6 => {
                    inbox.push(Node::boxed(step));
                    expected.push_back(step);
                }
                6 => {
                    let taken: VecDeque<_> = inbox.take().map(|node| node.value).collect();
                    assert_eq!(taken, std::mem::take(&mut expected));
                }
                // The test drops half of the taken items unseen. Items that come during a batch are the next batch.
                _ => {
                    let mut taken = inbox.take();
                    let half = expected.len() / 2;
                    for number in expected.drain(..half) {
                        assert_eq!(taken.next().map(|node| node.value), Some(number));
                    }
                    inbox.push(Node::boxed(step));
                    drop(taken);
                    expected = VecDeque::from([step]);
                }
            }
            assert_eq!(inbox.is_empty(), expected.is_empty());
        }
    }
}
