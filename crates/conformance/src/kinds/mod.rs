//! The kinds of this workspace.

mod driven;
mod executor;
mod here;
mod local;
mod pool;
mod thread;

pub use driven::{Running, Ticked};
pub use executor::{Pool, StaticPool};
pub use local::{Local, StaticLocal};
pub use pool::Tasks;
#[cfg(not(target_arch = "wasm32"))]
pub use thread::RemoteThread;
pub use thread::Thread;

use crate::suite::{Case, cases};

/// Every behaviour of every kind that this environment has.
#[must_use]
pub fn all() -> Vec<Case> {
    let mut all = Vec::new();
    all.extend(cases::<Local>());
    all.extend(cases::<StaticLocal>());
    all.extend(cases::<Pool<0>>());
    all.extend(cases::<StaticPool<0>>());
    all.extend(cases::<Ticked<Local>>());
    all.extend(cases::<Running<Local>>());
    all.extend(cases::<Ticked<Pool<0>>>());
    all.extend(cases::<Running<Pool<0>>>());
    all.extend(cases::<Thread>());
    #[cfg(not(target_arch = "wasm32"))]
    {
        all.extend(cases::<Pool<1>>());
        all.extend(cases::<Pool<2>>());
        all.extend(cases::<StaticPool<1>>());
        all.extend(cases::<StaticPool<2>>());
        all.extend(cases::<Running<Pool<1>>>());
        all.extend(cases::<RemoteThread>());
    }
    all.extend(cases::<Tasks>());
    all
}
