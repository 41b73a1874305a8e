//! The same executors, driven by their asynchronous drivers instead of by `try_tick`.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use terrace_local::{Task, task};

use crate::kind::{Caps, Drivable, Kind, LocalKind, poll_once};
use crate::tools::{Limit, wait_here};

/// Driven by `tick`: each is polled once, and dropped where it found nothing.
pub struct Ticked<K>(K);

impl<K: Drivable> Kind for Ticked<K> {
    type Handle = K::Handle;

    const CAPS: Caps = K::CAPS;

    fn name() -> String {
        format!("{} by tick", K::name())
    }

    fn make() -> Self {
        Self(K::make())
    }

    fn handle(&self) -> K::Handle {
        self.0.handle()
    }

    fn spawn_exact<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Task<T> {
        // One more function that passes the future on: asked here, too, see `task::is_large`.
        if task::is_large(&future) {
            return self.0.spawn_exact(task::boxed(future));
        }
        self.0.spawn_exact(future)
    }

    fn tick(&self) -> bool {
        poll_once(&mut pin!(self.0.tick_async())).is_ready()
    }
}

impl<K: Drivable + LocalKind> LocalKind for Ticked<K> {
    fn spawn_local<T: 'static>(&self, future: impl Future<Output = T> + 'static) -> Task<T> {
        self.0.spawn_local(future)
    }
}

/// Driven by `run`, one for each wait, dropped when that ends.
pub struct Running<K>(K);

impl<K: Drivable> Kind for Running<K> {
    type Handle = K::Handle;

    /// How many tasks a poll of `run` polls is its own matter.
    const CAPS: Caps = K::CAPS.without(Caps::MANUAL);

    fn name() -> String {
        format!("{} by run", K::name())
    }

    fn make() -> Self {
        Self(K::make())
    }

    fn handle(&self) -> K::Handle {
        self.0.handle()
    }

    fn spawn_exact<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Task<T> {
        // One more function that passes the future on: asked here, too, see `task::is_large`.
        if task::is_large(&future) {
            return self.0.spawn_exact(task::boxed(future));
        }
        self.0.spawn_exact(future)
    }

    fn tick(&self) -> bool {
        poll_once(&mut pin!(self.0.run(std::future::pending::<()>()))).is_ready()
    }

    fn drive(&self, condition: &mut dyn FnMut() -> bool, limit: &mut Limit) -> bool {
        /// Looks without a limit of time: what is ready runs in between.
        const LOOKS: u32 = 1_000;
        let mut looks = 0;
        let end = poll_fn(|context| {
            looks += 1;
            let end = match condition() {
                true => Poll::Ready(true),
                false if looks > LOOKS && !limit.idle() => Poll::Ready(false),
                false => Poll::Pending,
            };
            // Conditions wake nobody.
            context.waker().wake_by_ref();
            end
        });
        wait_here(self.0.run(end))
    }
}
