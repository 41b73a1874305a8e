//! The same executors, driven by their asynchronous drivers instead of by `try_tick`.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use terrace_local::{Task, task};

#[cfg(not(target_arch = "wasm32"))]
use super::executor::Pool;
use crate::kind::{Caps, Drivable, Kind, LocalKind, Make, poll_once};
use crate::tools::{Limit, wait_here};

/// The parts that are as in the kind inside.
macro_rules! passed_on {
    () => {
        fn handle(&self) -> Self::Handle {
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

        fn spawn_eager<T: Send + 'static>(
            &self,
            future: impl Future<Output = T> + Send + 'static,
        ) -> Task<T> {
            self.0.spawn_eager(future)
        }
    };
}

/// Driven by `tick`: each is polled once, and dropped where it found nothing.
pub struct Ticked<K>(K);

impl<K: Drivable + Make> Make for Ticked<K> {
    const CAPS: Caps = K::CAPS;

    fn name() -> String {
        format!("{} by tick", K::name())
    }

    fn make() -> Self {
        Self(K::make())
    }
}

impl<K: Drivable + Make> Kind for Ticked<K> {
    type Handle = K::Handle;

    as_its_type_says!();

    passed_on!();

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

impl<K: Drivable + Make> Make for Running<K> {
    /// How many tasks a poll of `run` polls is its own matter.
    const CAPS: Caps = K::CAPS.without(Caps::MANUAL);

    fn name() -> String {
        format!("{} by run", K::name())
    }

    fn make() -> Self {
        Self(K::make())
    }
}

impl<K: Drivable + Make> Kind for Running<K> {
    type Handle = K::Handle;

    as_its_type_says!();

    passed_on!();

    fn tick(&self) -> bool {
        poll_once(&mut pin!(self.0.run(std::future::pending::<()>()))).is_ready()
    }

    fn drive(&self, condition: &mut dyn FnMut() -> bool, limit: &mut Limit) -> bool {
        wait_here(self.0.run(holds(condition, limit)))
    }
}

/// An executor without workers, driven by a thread that waits in `block_on`. Other threads of the process that wait drive it,
/// too.
#[cfg(not(target_arch = "wasm32"))]
pub struct Waited(Pool<0>);

#[cfg(not(target_arch = "wasm32"))]
impl Make for Waited {
    const CAPS: Caps = Caps::CLOSES;

    fn name() -> String {
        "Executor with 0 workers by waiting".to_owned()
    }

    fn make() -> Self {
        Self(Pool::built())
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl Kind for Waited {
    type Handle = <Pool<0> as Kind>::Handle;

    as_its_type_says!();

    passed_on!();

    fn tick(&self) -> bool {
        false
    }

    fn drive(&self, condition: &mut dyn FnMut() -> bool, limit: &mut Limit) -> bool {
        terrace_executor::block_on(holds(condition, limit))
    }
}

/// Ready with true when the condition holds, with false when the limit was reached before.
pub(super) fn holds(
    condition: &mut dyn FnMut() -> bool,
    limit: &mut Limit,
) -> impl Future<Output = bool> {
    /// After so many looks, other threads get time: ready tasks run in between.
    const LOOKS: u32 = 1_000;
    let mut looks: u32 = 0;
    poll_fn(move |context| {
        looks += 1;
        let goes_on = if looks % LOOKS == 0 {
            limit.idle()
        } else {
            limit.busy()
        };
        let end = match condition() {
            true => Poll::Ready(true),
            false if !goes_on => Poll::Ready(false),
            false => Poll::Pending,
        };
        // A condition wakes no waker, so the future wakes itself.
        context.waker().wake_by_ref();
        end
    })
}
