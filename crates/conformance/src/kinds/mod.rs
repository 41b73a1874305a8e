//! The kinds of this workspace.

/// The executor inside the kind spawns batches and has asynchronous drivers.
macro_rules! spawns_batches_and_is_driven {
    ($(for [$($generic:tt)+])? impl $kind:ty) => {
        impl$(<$($generic)+>)? crate::kind::Batch for $kind {
            fn spawn_many<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
                &self,
                futures: impl IntoIterator<Item = F>,
                handles: &mut impl Extend<Task<T>>,
            ) {
                self.0.spawn_many(futures, handles);
            }
        }

        impl$(<$($generic)+>)? crate::kind::Drivable for $kind {
            fn run<T>(&self, future: impl Future<Output = T>) -> impl Future<Output = T> {
                self.0.run(future)
            }

            fn tick_async(&self) -> impl Future<Output = ()> {
                self.0.tick()
            }
        }
    };
}

mod driven;
mod executor;
mod here;
mod local;
mod pool;
mod thread;

#[cfg(not(target_arch = "wasm32"))]
pub use driven::Waited;
pub use driven::{Running, Ticked};
pub use executor::{Pool, StaticPool};
pub use local::{Local, StaticLocal};
pub use pool::Tasks;
#[cfg(not(target_arch = "wasm32"))]
pub use thread::RemoteThread;
pub use thread::Thread;

use crate::suite::{Case, all_behaviours, behaviours, cases, pool_behaviours};

/// Every behaviour of every kind that this environment has.
#[must_use]
pub fn all() -> Vec<Case> {
    let mut all = Vec::new();
    all.extend(cases(all_behaviours::<Local>()));
    all.extend(cases(all_behaviours::<StaticLocal>()));
    all.extend(cases(all_behaviours::<Pool<0>>()));
    all.extend(cases(pool_behaviours::<Pool<0>>()));
    all.extend(cases(all_behaviours::<StaticPool<0>>()));
    all.extend(cases(behaviours::<Ticked<Local>>()));
    all.extend(cases(behaviours::<Running<Local>>()));
    all.extend(cases(behaviours::<Ticked<Pool<0>>>()));
    all.extend(cases(behaviours::<Running<Pool<0>>>()));
    all.extend(cases(behaviours::<Thread>()));
    #[cfg(not(target_arch = "wasm32"))]
    {
        all.extend(cases(all_behaviours::<Pool<1>>()));
        all.extend(cases(pool_behaviours::<Pool<1>>()));
        all.extend(cases(all_behaviours::<Pool<2>>()));
        all.extend(cases(pool_behaviours::<Pool<2>>()));
        all.extend(cases(all_behaviours::<StaticPool<1>>()));
        all.extend(cases(all_behaviours::<StaticPool<2>>()));
        all.extend(cases(behaviours::<Running<Pool<1>>>()));
        all.extend(cases(behaviours::<RemoteThread>()));
        all.extend(cases(behaviours::<Waited>()));
    }
    all.extend(cases(behaviours::<Tasks<2>>()));
    if cfg!(feature = "multi_threaded") {
        all.extend(cases(behaviours::<Tasks<0>>()));
        all.extend(cases(behaviours::<Tasks<1>>()));
    }
    all
}
