//! The threads and futures that wait for something of a pool: its quiet, a thread's end, work.

use std::future::Future;
#[cfg(terrace_shuttle)]
use std::pin::Pin;
use std::pin::pin;
#[cfg(terrace_shuttle)]
use std::task::Poll;
use std::task::{Context, Wake, Waker};
use std::time::Instant;

use terrace_sync::thread::Thread;
use terrace_sync::{Arc, Mutex, thread};

use super::Level;
use super::seat::Seats;
use crate::protocol::end::Quiet;

#[cfg(terrace_shuttle)]
pub(crate) use self::Event as Ends;
/// Threads wait by it for the end of a thread, or of all tasks. A notifier of `event-listener` calls wakers under a lock of `std`. There the
/// checker of schedules would block its one thread, so a model gets [`Event`].
#[cfg(not(terrace_shuttle))]
pub(crate) use event_listener::Event as Ends;

/// The threads that wait until every task of a pool has ended: the handshake [`Quiet`], and the event that it notifies.
#[derive(Default)]
pub(crate) struct QuietWaiters {
    pub(crate) handshake: Quiet,
    pub(crate) event: Ends,
}

impl QuietWaiters {
    /// The calling thread has counted a task's end at one of `seats`.
    #[inline]
    pub(crate) fn ended(&self, seats: &Seats) {
        if self.handshake.ended(|| seats.active() == 0) {
            self.notify();
        }
    }

    /// All waiters look again.
    #[cold]
    pub(crate) fn notify(&self) {
        self.event.notify(usize::MAX);
    }
}

/// The threads and futures that listen. A listener stands in the list until it is told, or gone.
///
/// A listener looks after it has entered the list, and a notifier has made visible before what it tells of. Both take the lock. So the
/// notifier finds the listener, or the listener sees what the notifier wrote.
#[derive(Default)]
pub(crate) struct Event {
    /// How many listeners there are, told or not. Raised before a listener enters the list.
    count: Level,
    list: Mutex<List>,
}

#[derive(Default)]
struct List {
    /// How many listeners there have been; the number of the last one.
    made: u64,
    /// Those that were not told yet, oldest first.
    listening: Vec<(u64, Waker)>,
}

impl Event {
    /// A listener for one notification, which gets its waker when it is polled.
    #[cfg(terrace_shuttle)]
    pub(crate) fn listen(&self) -> Listener<'_> {
        self.listen_by(Waker::noop().clone())
    }

    /// A listener for one notification.
    pub(crate) fn listen_by(&self, waker: Waker) -> Listener<'_> {
        self.count.rise();
        let mut list = self.list.lock();
        list.made += 1;
        let number = list.made;
        list.listening.push((number, waker));
        Listener {
            event: self,
            number,
        }
    }

    /// Whether there is a listener. A caller that leaves the notification out where there is none has fenced after it made visible what it
    /// tells of, and its listeners fence before they look.
    #[inline]
    pub(crate) fn any(&self) -> bool {
        self.count.get() != 0
    }

    /// Tells up to `count` listeners. Their wakers are called without the lock.
    pub(crate) fn notify(&self, count: usize) {
        let told: Vec<_> = {
            let listening = &mut self.list.lock().listening;
            let count = count.min(listening.len());
            listening.drain(..count).collect()
        };
        told.into_iter().for_each(|(_, waker)| waker.wake());
    }
}

/// One that listens to an [`Event`], until it is dropped.
pub(crate) struct Listener<'e> {
    event: &'e Event,
    number: u64,
}

impl Listener<'_> {
    /// Takes it out of the list. False if it is not there any more: it was told.
    fn leave(&self) -> bool {
        let left = {
            let listening = &mut self.event.list.lock().listening;
            let at = listening.iter().position(|entry| entry.0 == self.number);
            at.map(|at| listening.remove(at))
        };
        left.is_some()
    }

    /// Whether it was told. The listener may have been awake then, and its waker without effect.
    pub(crate) fn is_told(&self) -> bool {
        let list = self.event.list.lock();
        !list.listening.iter().any(|entry| entry.0 == self.number)
    }

    /// Ends it. Whether it was told: no notification comes between the answer and the end.
    pub(crate) fn discard(self) -> bool {
        !self.leave()
    }
}

#[cfg(terrace_shuttle)]
impl Future for Listener<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let waker = context.waker().clone();
        let mut list = self.event.list.lock();
        let mut listening = list.listening.iter_mut();
        match listening.find(|entry| entry.0 == self.number) {
            Some((_, kept)) => *kept = waker,
            None => return Poll::Ready(()),
        }
        Poll::Pending
    }
}

impl Drop for Listener<'_> {
    fn drop(&mut self) {
        self.leave();
        self.event.count.fall();
    }
}

/// Blocks the thread until `future` ends; false if the deadline came first. Where a thread cannot sleep it polls again only while `has_work`.
pub(crate) fn block(
    future: impl Future<Output = ()>,
    deadline: Option<Instant>,
    has_work: impl Fn() -> bool,
) -> bool {
    let waker = Waker::from(Arc::new(Unparks(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    while future.as_mut().poll(&mut context).is_pending() {
        let left = deadline.map(|deadline| deadline.checked_duration_since(Instant::now()));
        match left {
            Some(None) => return false,
            _ if cfg!(target_family = "wasm") && has_work() => {}
            _ if cfg!(target_family = "wasm") => return false,
            Some(Some(left)) => thread::park_timeout(left),
            None => thread::park(),
        }
    }
    true
}

/// Wakes a thread that blocks.
struct Unparks(Thread);

impl Wake for Unparks {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[cfg(all(test, not(any(terrace_loom, terrace_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_notification_is_for_the_oldest_listener_and_no_other() {
        let event = Event::default();
        let [first, second, third] = [(); 3].map(|()| event.listen_by(Waker::noop().clone()));
        drop(first);
        event.notify(1);
        assert!(second.discard() && !third.discard());
        assert!(!event.any());
        event.notify(usize::MAX);
        let late = event.listen_by(Waker::noop().clone());
        assert!(event.any() && !late.discard());
    }
}
