//! Macros that differ between `std` and the checkers: `const_fn!`, `global!`, `thread_local!`, `weakened!`.

/// Declares a `const fn` that is an ordinary `fn` under a checker. A checker's primitives register
/// themselves with the running execution, so a constant cannot build them.
///
/// # Examples
///
/// ```
/// use terrace_sync::{atomic::AtomicU32, const_fn};
///
/// struct Gate(AtomicU32);
/// impl Gate {
///     const_fn! {
///         /// A closed gate.
///         pub const fn new() -> Self {
///             Self(AtomicU32::new(0))
///         }
///     }
/// }
/// # #[cfg(not(any(terrace_loom, terrace_shuttle)))]
/// static GATE: Gate = Gate::new();
/// ```
#[cfg(not(any(terrace_loom, terrace_shuttle)))]
#[macro_export]
macro_rules! const_fn {
    ($(#[$attr:meta])* $vis:vis const $($rest:tt)*) => {
        $(#[$attr])* $vis const $($rest)*
    };
}

/// Declares a `const fn` that is an ordinary `fn` under a checker. A checker's primitives register
/// themselves with the running execution, so a constant cannot build them.
#[cfg(any(terrace_loom, terrace_shuttle))]
#[macro_export]
macro_rules! const_fn {
    ($(#[$attr:meta])* $vis:vis const $($rest:tt)*) => {
        $(#[$attr])* $vis $($rest)*
    };
}

/// Declares a static. Under a checker it is made anew, on first use, in each modelled execution: it is used
/// through auto-deref (`NAME.load(…)`), never by value.
///
/// # Examples
///
/// ```
/// use terrace_sync::atomic::{AtomicU32, Ordering};
///
/// terrace_sync::global! {
///     /// How often.
///     static HITS: AtomicU32 = AtomicU32::new(0);
/// }
/// # #[cfg(not(any(terrace_loom, terrace_shuttle)))]
/// HITS.fetch_add(1, Ordering::Relaxed);
/// ```
#[cfg(not(any(terrace_loom, terrace_shuttle)))]
#[macro_export]
macro_rules! global {
    ($($(#[$attr:meta])* $vis:vis static $name:ident: $t:ty = $init:expr;)+) => {
        $($(#[$attr])* $vis static $name: $t = $init;)+
    };
}

/// Declares a static that is made anew, on first use, in each modelled execution.
#[cfg(any(terrace_loom, terrace_shuttle))]
#[macro_export]
macro_rules! global {
    ($($(#[$attr:meta])* static $name:ident: $t:ty = $init:expr;)+) => {
        $($crate::__private::modelled_lazy_static! { $(#[$attr])* static ref $name: $t = $init; })+
    };
}

/// Declares thread-local keys: one value for each thread of each modelled execution, or values as on targets without native
/// thread-locals.
///
/// Takes the syntax of `std::thread_local!`, `const { … }` initialisers included. Only `with` and
/// `try_with` exist on the key.
#[cfg(any(terrace_loom, terrace_shuttle, terrace_keyed_tls))]
#[macro_export]
macro_rules! thread_local {
    () => {};
    ($(#[$attr:meta])* $vis:vis static $name:ident: $t:ty = const { $init:expr } $(; $($rest:tt)*)?) => {
        $crate::__modelled_thread_local! { $(#[$attr])* $vis static $name: $t = $init }
        $($crate::thread_local! { $($rest)* })?
    };
    ($(#[$attr:meta])* $vis:vis static $name:ident: $t:ty = $init:expr $(; $($rest:tt)*)?) => {
        $crate::__modelled_thread_local! { $(#[$attr])* $vis static $name: $t = $init }
        $($crate::thread_local! { $($rest)* })?
    };
}

/// One thread-local of a checker.
#[cfg(terrace_loom)]
#[doc(hidden)]
#[macro_export]
macro_rules! __modelled_thread_local {
    ($($key:tt)*) => {
        $crate::__private::modelled_thread_local! { $($key)* }
    };
}

/// One thread-local of a checker.
#[cfg(terrace_shuttle)]
#[doc(hidden)]
#[macro_export]
macro_rules! __modelled_thread_local {
    ($(#[$attr:meta])* $vis:vis static $name:ident: $t:ty = $init:expr) => {
        $(#[$attr])*
        $vis static $name: $crate::__private::LocalKey<$t> = {
            $crate::__private::modelled_thread_local! { static KEY: $t = $init }
            $crate::__private::LocalKey::new(&KEY, || $init)
        };
    };
}

/// One thread-local behind a key.
#[cfg(terrace_keyed_tls)]
#[doc(hidden)]
#[macro_export]
macro_rules! __modelled_thread_local {
    ($(#[$attr:meta])* $vis:vis static $name:ident: $t:ty = $init:expr) => {
        $(#[$attr])*
        $vis static $name: $crate::__private::LocalKey<$t> = $crate::__private::LocalKey::new(|| $init);
    };
}

/// Items for targets whose thread-locals are behind keys of the system, and items for targets that have thread-locals of their own.
///
/// `std` frees a keyed one at the end of its thread, also one without a destructor, in any order with others. A later access makes a
/// new one. The list is that of rustc's targets with `std` and without `target_thread_local`, a cfg that only nightly compilers tell.
/// Targets that have neither `pthread_key_create` nor `TlsAlloc`, such as SGX, are not in it: there the number of a thread does not last.
#[doc(hidden)]
#[macro_export]
macro_rules! by_thread_locals {
    (@ $keyed_targets:meta keyed { $($keyed:item)* } native { $($native:item)* }) => {
        $(#[cfg($keyed_targets)] $keyed)*
        $(#[cfg(not($keyed_targets))] $native)*
    };
    (keyed $keyed:tt native $native:tt) => {
        $crate::by_thread_locals! {
            @ any(
                all(windows, target_env = "gnu", not(target_abi = "llvm")),
                all(windows, target_vendor = "win7", target_arch = "x86"),
                target_os = "android",
                target_os = "haiku",
                target_os = "illumos",
                target_os = "nto",
                target_os = "openbsd",
                target_os = "solaris",
                all(target_os = "linux", target_env = "ohos"),
                all(target_os = "linux", target_abi = "x32"),
            )
            keyed $keyed
            native $native
        }
    };
}

/// Items for targets whose thread-locals are behind keys of the system, see [`by_thread_locals!`].
#[cfg(not(terrace_keyed_tls))]
#[doc(hidden)]
#[macro_export]
macro_rules! where_locals_are_keyed {
    ($($item:item)*) => { $crate::by_thread_locals! { keyed { $($item)* } native {} } };
}

/// The items: this build imitates such a target.
#[cfg(terrace_keyed_tls)]
#[doc(hidden)]
#[macro_export]
macro_rules! where_locals_are_keyed {
    ($($item:item)*) => { $($item)* };
}

/// `$ordering`, or `Relaxed` in the mutant `$name`.
#[doc(hidden)]
#[macro_export]
macro_rules! ordering {
    ($name:tt, $ordering:ident) => {
        if $crate::weakened!($name) {
            $crate::atomic::Ordering::Relaxed
        } else {
            $crate::atomic::Ordering::$ordering
        }
    };
}

/// Whether the fault `$name` is planted here: a net has to fail with it. Without a checker the compiler decides, by
/// `cfg(terrace_weaken = "$name")`.
#[cfg(not(any(terrace_loom, terrace_shuttle)))]
#[doc(hidden)]
#[macro_export]
macro_rules! weakened {
    ($name:tt) => {
        cfg!(terrace_weaken = $name)
    };
}

/// Whether the fault `$name` is planted here: a net has to fail with it. A model decides when it starts, so that one
/// build serves all mutants.
#[cfg(any(terrace_loom, terrace_shuttle))]
#[doc(hidden)]
#[macro_export]
macro_rules! weakened {
    ($name:tt) => {
        $crate::__private::is_weakened($name)
    };
}
