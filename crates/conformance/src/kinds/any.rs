//! The kinds of this workspace as one type, so that a behaviour is compiled once. All futures are in boxes on the way to eager children,
//! too: what depends on the type of a future is of each kind, see [`exact_behaviours`].

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use terrace_local::Task;

use super::*;
use crate::kind::{Caps, Handle, Kind};
use crate::suite::exact_behaviours;
use crate::tools::Limit;

/// Defines [`Any`] with a variant for each kind.
macro_rules! any {
    ($($(#[$attr:meta])* $variant:ident($kind:ty),)+) => {
        /// An executor of any kind.
        pub enum Any {
            $($(#[$attr])*
            #[doc = concat!("A `", stringify!($kind), "`.")]
            $variant($kind),)+
        }

        /// Its handle.
        #[derive(Clone)]
        pub enum AnyHandle {
            $($(#[$attr])*
            #[doc = concat!("Of a `", stringify!($kind), "`.")]
            $variant(<$kind as Kind>::Handle),)+
        }

        impl Any {
            /// All kinds of this environment.
            #[must_use]
            pub fn kinds() -> Vec<Maker<Self>> {
                vec![$($(#[$attr])* Maker {
                    name: <$kind>::name(),
                    caps: <$kind>::CAPS,
                    make: || Self::$variant(<$kind>::make()),
                }),+]
            }

            /// What each kind shows with the exact types of its futures.
            pub(super) fn exact() -> Vec<Case> {
                let mut all = Vec::new();
                $($(#[$attr])* all.extend(cases(&Maker::<$kind>::of(), exact_behaviours()));)+
                all
            }
        }

        impl Kind for Any {
            type Handle = AnyHandle;

            fn caps(&self) -> Caps {
                match self {
                    $($(#[$attr])* Self::$variant(kind) => kind.caps(),)+
                }
            }

            fn maker(&self) -> fn() -> Self {
                match self {
                    $($(#[$attr])* Self::$variant(_) => || Self::$variant(<$kind>::make()),)+
                }
            }

            fn handle(&self) -> AnyHandle {
                match self {
                    $($(#[$attr])* Self::$variant(kind) => AnyHandle::$variant(kind.handle()),)+
                }
            }

            fn spawn_exact<T: Send + 'static>(
                &self,
                future: impl Future<Output = T> + Send + 'static,
            ) -> Task<T> {
                match self {
                    $($(#[$attr])* Self::$variant(kind) => kind.spawn_exact(future),)+
                }
            }

            fn spawn_eager<T: Send + 'static>(
                &self,
                future: impl Future<Output = T> + Send + 'static,
            ) -> Task<T> {
                let future = boxed(future);
                match self {
                    $($(#[$attr])* Self::$variant(kind) => kind.spawn_eager(future),)+
                }
            }

            fn polls_at_spawn(&self) -> bool {
                match self {
                    $($(#[$attr])* Self::$variant(kind) => kind.polls_at_spawn(),)+
                }
            }

            fn tick(&self) -> bool {
                match self {
                    $($(#[$attr])* Self::$variant(kind) => kind.tick(),)+
                }
            }

            fn drive(&self, condition: &mut dyn FnMut() -> bool, limit: &mut Limit) -> bool {
                match self {
                    $($(#[$attr])* Self::$variant(kind) => kind.drive(condition, limit),)+
                }
            }

            fn patience(&self) -> Duration {
                match self {
                    $($(#[$attr])* Self::$variant(kind) => kind.patience(),)+
                }
            }
        }

        impl Handle for AnyHandle {
            fn spawn_exact<T: Send + 'static>(
                &self,
                future: impl Future<Output = T> + Send + 'static,
            ) -> Option<Task<T>> {
                match self {
                    $($(#[$attr])* Self::$variant(handle) => handle.spawn_exact(future),)+
                }
            }

            fn spawn_eager<T: Send + 'static>(
                &self,
                future: impl Future<Output = T> + Send + 'static,
            ) -> Option<Task<T>> {
                let future = boxed(future);
                match self {
                    $($(#[$attr])* Self::$variant(handle) => handle.spawn_eager(future),)+
                }
            }

            fn tick(&self) -> bool {
                match self {
                    $($(#[$attr])* Self::$variant(handle) => handle.tick(),)+
                }
            }
        }
    };
}

any! {
    Local(Local),
    StaticLocal(StaticLocal),
    Pool0(Pool<0>),
    StaticPool0(StaticPool<0>),
    LocalTicked(Ticked<Local>),
    LocalRunning(Running<Local>),
    PoolTicked(Ticked<Pool<0>>),
    PoolRunning(Running<Pool<0>>),
    Thread(Thread),
    #[cfg(not(target_arch = "wasm32"))]
    Pool1(Pool<1>),
    #[cfg(not(target_arch = "wasm32"))]
    Pool2(Pool<2>),
    #[cfg(not(target_arch = "wasm32"))]
    StaticPool1(StaticPool<1>),
    #[cfg(not(target_arch = "wasm32"))]
    StaticPool2(StaticPool<2>),
    #[cfg(not(target_arch = "wasm32"))]
    Pool1Running(Running<Pool<1>>),
    #[cfg(not(target_arch = "wasm32"))]
    RemoteThread(RemoteThread),
    #[cfg(not(target_arch = "wasm32"))]
    Waited(Waited),
    Tasks2(Tasks<2>),
    #[cfg(feature = "multi_threaded")]
    Tasks0(Tasks<0>),
    #[cfg(feature = "multi_threaded")]
    Tasks1(Tasks<1>),
}

fn boxed<T>(
    future: impl Future<Output = T> + Send + 'static,
) -> Pin<Box<dyn Future<Output = T> + Send>> {
    Box::pin(future)
}
