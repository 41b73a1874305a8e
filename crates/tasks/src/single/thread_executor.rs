//! The executor of one named thread, where there is only one thread.

use core::marker::PhantomData;

/// Names a thread to run scope tasks on. Without feature `multi_threaded` a scope runs everything on its own
/// thread and ignores it.
#[derive(Debug, Default)]
pub struct ThreadExecutor<'a>(PhantomData<&'a ()>);

impl ThreadExecutor<'_> {
    /// An executor that no scope looks at.
    pub fn new() -> Self {
        Self::default()
    }
}
