//! The futures of the tasks: they yield, wait for a remote wake, wait without end, or panic in one
//! place or another.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use terrace_testing::{Random, Yields};

use crate::account::{Account, panic_as_planned};
use crate::wakery::Counter;

/// Pending that many times, woken by itself.
pub(crate) fn yields(times: usize) -> Yields {
    Yields(u32::try_from(times).expect("a task yields seldom"))
}

/// Pending that many times, woken by another thread.
pub(crate) async fn naps(counter: Counter, mut times: usize) {
    poll_fn(move |context| {
        if times == 0 {
            return Poll::Ready(());
        }
        times -= 1;
        counter.hand_in(context.waker().clone());
        Poll::Pending
    })
    .await;
}

/// Never ends; its wakers go to other threads all the same.
pub(crate) async fn never(counter: Counter) {
    poll_fn(move |context| {
        counter.hand_in(context.waker().clone());
        Poll::<()>::Pending
    })
    .await;
}

/// Computes for a while: up to tens of microseconds.
pub(crate) fn spin(random: &mut Random) {
    for _ in 0..random.below(2_000) {
        std::hint::spin_loop();
    }
}

/// Panics when it is dropped, unless a panic is under way.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic_as_planned();
        }
    }
}

/// A future that panics when it is dropped, after its account.
struct Armed<F> {
    future: Pin<Box<F>>,
    _bomb: Bomb,
}

impl<F: Future> Future for Armed<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        self.future.as_mut().poll(context)
    }
}

/// The behaviour of a task.
pub(crate) async fn life(account: Account, counter: Counter, mut random: Random) -> u32 {
    match random.below(10) {
        0..=3 => {}
        4..=5 => yields(random.below(6)).await,
        6..=8 => naps(counter.clone(), 1 + random.below(3)).await,
        _ => {
            let large = [random.below(7) as u8; 3_000];
            yields(1 + usize::from(large[2_999])).await;
        }
    }
    spin(&mut random);
    account.finish();
    1
}

/// As `life`, and panics in the end: in the poll, or where the future is dropped.
pub(crate) async fn panicking_life(account: Account, counter: Counter, mut random: Random) -> u32 {
    if random.once_in(2) {
        naps(counter, random.below(3)).await;
    } else {
        yields(random.below(3)).await;
    }
    if random.once_in(2) {
        let _accounted = account;
        panic_as_planned();
    }
    let _bomb = Bomb;
    account.finish();
    1
}

/// A life whose future panics when it is dropped, done or not.
pub(crate) fn armed_life(
    account: Account,
    counter: Counter,
    random: Random,
) -> impl Future<Output = u32> + Send {
    Armed {
        future: Box::pin(life(account, counter, random)),
        _bomb: Bomb,
    }
}
