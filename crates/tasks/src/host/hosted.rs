//! With an operating system: each thread has an executor of its own.

pub use terrace_executor::block_on;
pub(crate) use terrace_thread::with_local_executor;
#[cfg(not(all(not(target_arch = "wasm32"), feature = "multi_threaded")))]
pub(crate) use unthreaded::{nested_spawns, set_nested_spawns, spawn_local, tick};

#[cfg(not(all(not(target_arch = "wasm32"), feature = "multi_threaded")))]
mod unthreaded {
    //! What a pool without threads needs: the tasks of this thread, and how many calls of `TaskPool::spawn` are polling them.

    use core::cell::Cell;

    pub(crate) use terrace_thread::{spawn_local, tick};

    terrace_sync::thread_local! {
        static NESTED: Cell<usize> = const { Cell::new(0) };
    }

    pub(crate) fn nested_spawns() -> usize {
        NESTED.with(Cell::get)
    }

    pub(crate) fn set_nested_spawns(depth: usize) {
        NESTED.with(|nested| nested.set(depth));
    }
}
