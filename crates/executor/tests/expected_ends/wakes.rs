//! Wakes in a first poll, and wakers that outlive it.

use std::future::{Future, poll_fn};
use std::task::{Poll, Waker};
use std::thread;

use terrace_executor::block_on;
use terrace_testing::{WakerSlot, watchdog};

use super::{on_worker, pool};

/// How a first poll's waker is used, before that poll ends.
#[derive(Clone, Copy, Debug)]
enum Use {
    ByRef,
    Clone,
    CloneElsewhere,
    SharedElsewhere,
    Nothing,
}

const USES: [Use; 5] = [
    Use::ByRef,
    Use::Clone,
    Use::CloneElsewhere,
    Use::SharedElsewhere,
    Use::Nothing,
];

impl Use {
    /// Wakes once, and returns whether it did.
    fn wake(self, waker: &Waker) -> bool {
        match self {
            Self::ByRef => waker.wake_by_ref(),
            Self::Clone => [waker.clone(), waker.clone()]
                .map(Waker::wake)
                .into_iter()
                .collect(),
            Self::CloneElsewhere => {
                let waker = waker.clone();
                thread::spawn(|| waker.wake()).join().expect("it wakes");
            }
            Self::SharedElsewhere => thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|| waker.clone().wake_by_ref());
                }
            }),
            Self::Nothing => return false,
        }
        true
    }
}

/// Polls once and uses the waker, which it also leaves in the slot; done with the number of polls at the `ends`-th.
fn counted(how: Use, slot: WakerSlot, ends: u32) -> impl Future<Output = u32> + Send + 'static {
    let mut polls = 0;
    poll_fn(move |context| {
        polls += 1;
        slot.leave(context);
        if polls == 1 {
            how.wake(context.waker());
        }
        if polls == ends {
            return Poll::Ready(polls);
        }
        Poll::Pending
    })
}

/// A wake in the first poll leads to one more poll, however many wakes there are.
#[test]
fn wakes_of_the_first_poll_count_once() {
    let _watchdog = watchdog();
    for workers in [1, 2] {
        let executor = pool(workers);
        for how in USES {
            let slot = WakerSlot::default();
            let child = {
                let slot = slot.clone();
                on_worker(executor, move || {
                    executor.spawn_eager(counted(how, slot, 3))
                })
            };
            if !matches!(how, Use::Nothing) {
                // The first poll's waker woke it, and its second poll left another one.
                block_on(executor.spawn(async {}));
            }
            let mut wakes = 0;
            while !child.is_finished() {
                if let Some(waker) = slot.take() {
                    waker.wake();
                    wakes += 1;
                }
                thread::yield_now();
            }
            assert!(wakes <= 3, "{how:?}");
            assert_eq!(block_on(child), 3, "{how:?}");
            assert!(executor.is_empty());
        }
    }
}

/// A waker of the first poll that is used after the child has ended, or much later, from anywhere.
#[test]
fn wakers_of_the_first_poll_outlive_the_child() {
    let _watchdog = watchdog();
    let executor = pool(2);
    for how in USES {
        for ends in [1, 2] {
            let (first, later) = (WakerSlot::default(), WakerSlot::default());
            let child = {
                let (first, later) = (first.clone(), later.clone());
                let mut polls = 0;
                let child = poll_fn(move |context| {
                    polls += 1;
                    if polls == 1 {
                        first.leave(context);
                        how.wake(context.waker());
                    } else {
                        later.leave(context);
                    }
                    if polls == ends {
                        Poll::Ready(polls)
                    } else {
                        Poll::Pending
                    }
                });
                on_worker(executor, move || executor.spawn_eager(child))
            };
            let waker = first.waker();
            waker.wake_by_ref();
            assert_eq!(block_on(child), ends, "{how:?}");
            assert!(executor.is_empty());
            // The child is gone.
            waker.wake_by_ref();
            thread::spawn(move || [waker.clone(), waker].map(Waker::wake))
                .join()
                .expect("it wakes");
            drop(later.take());
        }
    }
}
