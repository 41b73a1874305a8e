//! The events of `event-listener`, with a lock that the checker of schedules knows.
//!
//! An event calls wakers under its own lock, which is one of `std`. Under `terrace_shuttle` all threads of a model share one
//! thread of the system, and a wake may switch to another of them. That one would block the system's thread at the event's
//! lock, and the model would stand still. So each operation there first takes a lock of the checker.

#[cfg(not(terrace_shuttle))]
pub(crate) use event_listener::{Event, EventListener, Listener};
#[cfg(terrace_shuttle)]
pub(crate) use modelled::{Event, EventListener, Listener};

#[cfg(terrace_shuttle)]
mod modelled {
    use std::future::Future;
    use std::pin::Pin;
    use std::task::{Context, Poll, Wake, Waker};
    use std::time::Instant;

    use terrace_sync::thread::{self, Thread};
    use terrace_sync::{Arc, Mutex};

    /// An event and the checker's lock around it.
    #[derive(Default)]
    pub(crate) struct Event {
        lock: Arc<Mutex<()>>,
        event: event_listener::Event,
    }

    impl Event {
        pub(crate) fn listen(&self) -> EventListener {
            let _locked = self.lock.lock();
            EventListener {
                lock: Arc::clone(&self.lock),
                listener: Some(self.event.listen()),
            }
        }

        pub(crate) fn notify(&self, count: usize) {
            let _locked = self.lock.lock();
            self.event.notify(count);
        }

        pub(crate) fn notify_additional(&self, count: usize) {
            let _locked = self.lock.lock();
            self.event.notify_additional(count);
        }
    }

    /// A listener of an [`Event`].
    pub(crate) struct EventListener {
        lock: Arc<Mutex<()>>,
        /// Taken by its end.
        listener: Option<event_listener::EventListener>,
    }

    /// As in `event-listener`.
    pub(crate) trait Listener {
        fn discard(self) -> bool;
        fn wait(self);
        fn wait_deadline(self, deadline: Instant) -> Option<()>;
    }

    struct Unparks(Thread);

    impl Wake for Unparks {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    impl Listener for EventListener {
        fn discard(mut self) -> bool {
            let _locked = self.lock.lock();
            let listener = self.listener.take();
            listener.is_some_and(event_listener::Listener::discard)
        }

        fn wait(mut self) {
            let waker = Waker::from(Arc::new(Unparks(thread::current())));
            let mut context = Context::from_waker(&waker);
            while Pin::new(&mut self).poll(&mut context).is_pending() {
                thread::park();
            }
        }

        fn wait_deadline(mut self, deadline: Instant) -> Option<()> {
            let waker = Waker::from(Arc::new(Unparks(thread::current())));
            let mut context = Context::from_waker(&waker);
            while Pin::new(&mut self).poll(&mut context).is_pending() {
                thread::park_timeout(deadline.checked_duration_since(Instant::now())?);
            }
            Some(())
        }
    }

    impl Future for EventListener {
        type Output = ();

        fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
            let lock = Arc::clone(&self.lock);
            let _locked = lock.lock();
            let listener = self.listener.as_mut().expect("it has not ended");
            Pin::new(listener).poll(context)
        }
    }

    impl Drop for EventListener {
        fn drop(&mut self) {
            // Dropped by `discard` already, under the same lock.
            if self.listener.is_some() {
                let _locked = self.lock.lock();
                self.listener = None;
            }
        }
    }
}
