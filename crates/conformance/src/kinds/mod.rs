//! The kinds of this workspace.

/// What a value of a concrete kind knows by its type.
macro_rules! as_its_type_says {
    () => {
        fn caps(&self) -> Caps {
            Self::CAPS
        }

        fn maker(&self) -> fn() -> Self {
            Self::make
        }
    };
}

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

mod any;
mod driven;
mod executor;
mod here;
mod local;
mod pool;
mod thread;

pub use any::Any;
#[cfg(not(target_arch = "wasm32"))]
pub use driven::Waited;
pub use driven::{Running, Ticked};
pub use executor::{Pool, StaticPool};
pub use local::{Local, StaticLocal};
pub use pool::Tasks;
#[cfg(not(target_arch = "wasm32"))]
pub use thread::RemoteThread;
pub use thread::Thread;

use crate::kind::{Batch, Drivable, Make, Maker, Pooled};
use crate::suite::{Case, behaviours, cases, driven_behaviours, pool_behaviours};

/// Every behaviour of every kind that this environment has.
#[must_use]
pub fn all() -> Vec<Case> {
    let kinds = Any::kinds();
    let mut all: Vec<Case> = kinds
        .iter()
        .flat_map(|kind| cases(kind, behaviours()))
        .collect();
    all.extend(Any::exact());
    all.extend(driven::<Local>());
    all.extend(driven::<StaticLocal>());
    all.extend(driven::<Pool<0>>());
    all.extend(pooled::<Pool<0>>());
    all.extend(driven::<StaticPool<0>>());
    #[cfg(not(target_arch = "wasm32"))]
    {
        all.extend(driven::<Pool<1>>());
        all.extend(pooled::<Pool<1>>());
        all.extend(driven::<Pool<2>>());
        all.extend(pooled::<Pool<2>>());
        all.extend(driven::<StaticPool<1>>());
        all.extend(driven::<StaticPool<2>>());
    }
    all
}

fn driven<K: Make + Drivable + Batch>() -> Vec<Case> {
    cases(&Maker::<K>::of(), driven_behaviours())
}

fn pooled<K: Make + Pooled>() -> Vec<Case> {
    cases(&Maker::<K>::of(), pool_behaviours())
}
