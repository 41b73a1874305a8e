//! [`OwnedCore`]: who closes a core.

use core::marker::PhantomData;
use core::ops::Deref;

use terrace_sync::Arc;

use crate::LocalSpawner;
use crate::core::LocalCore;

/// The handle of a core that closes it: one, on the owner's thread. A core that could not be closed is leaked.
pub struct OwnedCore {
    core: Arc<LocalCore>,
    /// Whether this handle is the one.
    closes: bool,
    /// Stays on the owner's thread.
    _thread: PhantomData<*const ()>,
}

impl OwnedCore {
    /// A core owned by the current thread.
    #[must_use]
    pub fn new() -> Self {
        let core = Arc::new_cyclic(|this| LocalCore::unbound(this.clone(), true));
        core.bind();
        Self {
            core,
            closes: true,
            _thread: PhantomData,
        }
    }

    /// A second handle, which does not close it.
    ///
    /// # Panics
    /// If the core belongs to another thread.
    pub(crate) fn view(core: Arc<LocalCore>) -> Self {
        assert!(
            core.is_here(),
            "a single-thread executor is used on its own thread"
        );
        Self {
            core,
            closes: false,
            _thread: PhantomData,
        }
    }

    /// A handle that spawns onto it from any thread.
    #[must_use]
    pub fn spawner(&self) -> LocalSpawner {
        LocalSpawner::counted(Arc::clone(&self.core))
    }

    /// Gives up closing it: it lives for ever.
    pub(crate) fn leak(self) -> &'static LocalCore {
        let closes = self.closes;
        let pointer = Arc::as_ptr(&self.core);
        core::mem::forget(self);
        // SAFETY: the count that was forgotten is never given back.
        let leaked = unsafe { &*pointer };
        if closes {
            // SAFETY: not Send, this handle was on the owner's thread; no other closes the core.
            unsafe { leaked.keep_for_ever() };
        }
        leaked
    }
}

impl Default for OwnedCore {
    fn default() -> Self {
        Self::new()
    }
}

impl Deref for OwnedCore {
    type Target = Arc<LocalCore>;

    #[inline]
    fn deref(&self) -> &Arc<LocalCore> {
        &self.core
    }
}

impl Drop for OwnedCore {
    fn drop(&mut self) {
        if self.closes && !self.core.close() {
            // Dropped out of one of its own tasks, as a process does that exits there: that task still needs it.
            core::mem::forget(Arc::clone(&self.core));
        }
    }
}
