//! Waiting for a future on a machine that sleeps until an interrupt.

use core::future::Future;
use core::pin::pin;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use core::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};

use crate::Board;

/// Raised by the only waker there is.
static WOKEN: AtomicBool = AtomicBool::new(false);

static VTABLE: RawWakerVTable = RawWakerVTable::new(
    |_| RawWaker::new(ptr::null(), &VTABLE),
    |_| WOKEN.store(true, Ordering::Release),
    |_| WOKEN.store(true, Ordering::Release),
    |_| {},
);

/// How often the machine slept.
pub(crate) static SLEPT: AtomicU32 = AtomicU32::new(0);

/// Polls `future` until it is done, and sleeps until a waker wakes it.
pub(crate) fn block_on<B: Board, F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    // SAFETY: the functions use nothing but a static, so any context may call them.
    let waker = unsafe { Waker::from_raw(RawWaker::new(ptr::null(), &VTABLE)) };
    let mut context = Context::from_waker(&waker);
    loop {
        WOKEN.store(false, Ordering::Relaxed);
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        while !WOKEN.load(Ordering::Acquire) {
            if B::sleep_unless(|| WOKEN.load(Ordering::Acquire)) {
                SLEPT.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}
