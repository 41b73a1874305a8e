//! Models of a group of tasks: children that end on other threads, and the poll or the drop of the group.
//!
//! A child writes its outcome and uses its waker up, as the end of a task does with its awaiter. The group polls the children that
//! its blocks name.

use std::sync::Arc as Plain;
use std::task::{Wake, Waker};

use terrace_local::group::block::Block;
use terrace_park::{Parker, Unparker};
use terrace_sync::cell::UnsafeCell;
use terrace_sync::{Arc, model, thread};

/// Wakes the thread of the group.
struct Bell(Unparker);

impl Wake for Bell {
    fn wake(self: Plain<Self>) {
        self.0.unpark();
    }
}

/// The outcome of a child.
struct Outcome(UnsafeCell<u32>);

// SAFETY: loom fails the model if two threads use the memory in a way that they must not.
unsafe impl Send for Outcome {}
// SAFETY: see `Send`: loom watches shared uses of the memory, too.
unsafe impl Sync for Outcome {}

/// A child, which ends on another thread: it uses `waker` up.
fn child(outcome: &Arc<Outcome>, waker: Waker) -> thread::JoinHandle<()> {
    let outcome = outcome.clone();
    thread::spawn(move || {
        outcome.0.with_mut(|outcome| {
            // SAFETY: the child alone touches its outcome before its wake.
            unsafe { *outcome = 1 };
        });
        waker.wake();
    })
}

/// Two children end, the second one in block `second` of `blocks`, while the group polls: it sees both outcomes, and is not left asleep.
fn two_children_end(second: usize, blocks: impl Fn(Waker) -> Vec<Arc<Block>>) {
    let parker = Parker::new();
    let blocks = blocks(Waker::from(Plain::new(Bell(parker.unparker()))));
    let outcomes = [(); 2].map(|()| Arc::new(Outcome(UnsafeCell::new(0))));
    let children = [(0, 0), (1, second)].map(|(n, block)| {
        let waker = Waker::clone(&Block::lend(&blocks[block], n));
        child(&outcomes[n], waker)
    });
    let mut left = 0b11;
    loop {
        let named = blocks[0].take_blocks();
        for (number, block) in blocks.iter().enumerate() {
            let ended = if named & (1 << number) == 0 {
                0
            } else {
                block.take()
            };
            for (n, outcome) in outcomes.iter().enumerate() {
                if ended & (1 << n) != 0 {
                    let value = outcome.0.with(|outcome| {
                        // SAFETY: the child has ended.
                        unsafe { *outcome }
                    });
                    assert_eq!(value, 1);
                }
            }
            left &= !ended;
        }
        if left == 0 {
            break;
        }
        parker.park();
    }
    for child in children {
        child.join().unwrap();
    }
}

/// Two children of one block end while the group polls: it sees both outcomes, and is not left asleep.
///
/// Fails under: `group-wake-early`, `group-set-release`, `group-take-acquire`, `group-block-release`, `group-blocks-acquire`,
/// `group-wake-keeps` (the block leaks).
#[test]
fn group_end_against_last_child() {
    model(|| two_children_end(0, |waker| vec![Block::front(waker)]));
}

/// The same, where the second child is in a block behind the front.
///
/// Fails under: `group-wake-early`, `group-set-release`, `group-take-acquire`.
#[test]
fn group_end_in_two_blocks() {
    model(|| {
        two_children_end(1, |waker| {
            let front = Block::front(waker);
            let behind = Block::behind(&front, 1);
            vec![front, behind]
        });
    });
}

/// The group is dropped while a child wakes it, and another one drops its waker. The last of the three frees the block.
///
/// Fails under: `group-wake-keeps`.
#[test]
fn group_drop_against_wake() {
    model(|| {
        let parker = Parker::new();
        let bell = Plain::new(Bell(parker.unparker()));
        let block = Block::front(Waker::from(bell.clone()));
        let outcome = Arc::new(Outcome(UnsafeCell::new(0)));
        let ended = child(&outcome, Waker::clone(&Block::lend(&block, 0)));
        let waker = Waker::clone(&Block::lend(&block, 15));
        let dropped = thread::spawn(move || drop(waker));
        drop(block);
        ended.join().unwrap();
        dropped.join().unwrap();
        assert_eq!(
            Plain::strong_count(&bell),
            1,
            "the block is gone, and its waker"
        );
    });
}
