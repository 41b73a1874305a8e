//! [`OwnedCore`]: the handle that makes a core, and closes it.

use core::cell::Cell;
use core::marker::PhantomData;
use core::ops::Deref;

use terrace_sync::Arc;
use terrace_sync::unmodelled::Weak;

use crate::cells;
use crate::on_owner::OnOwner;
use crate::registry::Keeps;
use crate::spawn::LocalSpawner;
use crate::task::local::cell::LocalCore;

/// A handle of a core, on its owner's thread. Every core is made by one, which closes it or leaks it.
pub struct OwnedCore {
    core: Arc<LocalCore>,
    /// It is in a cell, which hides the unused values of `End`. So a null pointer stands for `None` of
    /// `Option<OwnedCore>`, and the hot paths of executors read one word.
    end: Cell<End>,
    /// Stays on the owner's thread.
    _thread: PhantomData<*const ()>,
}

/// What the handle's drop does.
#[derive(Clone, Copy, PartialEq)]
enum End {
    /// It closes the core. A core that it cannot close is leaked.
    Close,
    /// It leaks the core.
    Leak,
    /// Nothing: another handle closes the core.
    Leave,
}

impl OwnedCore {
    /// A core owned by the current thread.
    #[must_use]
    pub fn new() -> Self {
        let core = Arc::new_cyclic(|this| LocalCore::new(this.clone(), Keeps::Wakers));
        Self::of(core, End::Close)
    }

    /// A core owned by the current thread that is never closed.
    pub(crate) fn new_leaked() -> Self {
        let core = Arc::new(LocalCore::new(Weak::new(), Keeps::Nothing));
        Self::of(core, End::Leak)
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
        Self::of(core, End::Leave)
    }

    fn of(core: Arc<LocalCore>, end: End) -> Self {
        Self {
            core,
            end: Cell::new(end),
            _thread: PhantomData,
        }
    }

    /// The owner's side of the core.
    #[inline]
    pub(crate) fn here(&self) -> OnOwner<'_, LocalCore> {
        // SAFETY: this handle was made on the owner's thread and is not Send.
        unsafe { OnOwner::assume(&self.core) }
    }

    /// A handle that spawns onto it from any thread.
    #[must_use]
    pub fn spawner(&self) -> LocalSpawner {
        let core = Arc::clone(&self.core);
        LocalSpawner { core }
    }

    /// Gives up closing it, and keeps no further task in the registry.
    pub(crate) fn leak(&self) {
        if self.end.get() == End::Close {
            self.end.set(End::Leak);
            self.here().registry().keep_no_more();
        }
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
        let is_kept = match self.end.get() {
            // False inside of one of its tasks, for instance where a process exits there: that task still needs the core.
            End::Close => !self.core.close(),
            End::Leak => true,
            End::Leave => false,
        };
        if self.end.get() != End::Leave {
            cells::give_back();
        }
        if is_kept {
            core::mem::forget(Arc::clone(&self.core));
        }
    }
}
