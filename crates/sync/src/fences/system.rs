//! Making every running thread of the process fence, where the operating system can.

use super::choice::Choice;
use super::kind::FenceKind;
use crate::atomic::{Ordering, fence};
use crate::count;
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, compiler_fence};

/// A pair of fences: its choice, and the two things that the choice depends on.
pub(super) struct Pair {
    choice: Choice,
    /// Read once, when the choice is made.
    variable: &'static str,
    /// The choice where the variable says nothing else and the system allows it; `docs/architecture.md` has the
    /// measurements.
    default: FenceKind,
}

/// The pair behind sleeping and waking.
pub(super) static SLEEP: Pair = Pair {
    choice: Choice::new(),
    variable: "TERRACE_FENCE",
    default: FenceKind::Symmetric,
};

/// The pair of owners of deques and thieves.
pub(super) static STEAL: Pair = Pair {
    choice: Choice::new(),
    variable: "TERRACE_STEAL_FENCE",
    default: FenceKind::Asymmetric,
};

impl Pair {
    #[inline(always)]
    pub(super) fn light(&self) {
        match self.choice.light() {
            FenceKind::Symmetric => fence(Ordering::SeqCst),
            FenceKind::Asymmetric => {
                count::fence();
                compiler_fence(Ordering::SeqCst);
            }
        }
    }

    #[inline]
    pub(super) fn heavy(&self) {
        if !self.try_heavy() {
            refused(self.variable);
        }
    }

    /// False if the system refuses the barrier: then it has ordered nothing.
    #[inline]
    pub(super) fn try_heavy(&self) -> bool {
        // Orders two heavy fences, and is all there is to do in the symmetric form.
        fence(Ordering::SeqCst);
        self.choose() == FenceKind::Symmetric || fence_all()
    }

    #[inline]
    pub(super) fn choose(&self) -> FenceKind {
        self.choice.heavy(|| self.decide())
    }

    /// The form wanted, if the system allows it.
    #[cold]
    fn decide(&self) -> FenceKind {
        let wanted = match std::env::var_os(self.variable) {
            Some(word) if word == "asymmetric" => FenceKind::Asymmetric,
            Some(word) if word == "symmetric" => FenceKind::Symmetric,
            _ => self.default,
        };
        // The first barrier shows that the call is not refused either.
        if wanted == FenceKind::Asymmetric && prepare() && barrier() {
            FenceKind::Asymmetric
        } else {
            FenceKind::Symmetric
        }
    }
}

/// Of this process, since it began. Not of the checked kind: it orders nothing.
static BARRIERS: AtomicUsize = AtomicUsize::new(0);

/// See [`super::barriers`].
pub(super) fn barriers() -> usize {
    BARRIERS.load(Ordering::Relaxed)
}

/// Binds the compiler only.
#[inline(always)]
pub(super) fn compiler_only() {
    compiler_fence(Ordering::SeqCst);
}

std::thread_local! {
    /// Whether the system has refused a barrier of this thread. It stays so: a sandbox is not left.
    static REFUSED: Cell<bool> = const { Cell::new(false) };
}

/// Whether the system has refused a barrier of the calling thread since the forms were chosen.
#[inline]
pub(super) fn is_refused() -> bool {
    REFUSED.with(Cell::get)
}

/// Makes every running thread of the process fence. Once chosen there is no way back: threads that rely on it have left
/// their own fences out. False if the system refuses the call from now on.
#[cold]
#[inline(never)]
fn fence_all() -> bool {
    // Ordering: Relaxed, a statistic. It costs nothing beside the call.
    BARRIERS.fetch_add(1, Ordering::Relaxed);
    // A child of `fork` may have to register again.
    let fenced = barrier() || (prepare() && barrier());
    if !fenced {
        REFUSED.with(|refused| refused.set(true));
    }
    fenced
}

/// Ends the process, which cannot go on without the barrier.
#[cold]
#[inline(never)]
fn refused(variable: &str) -> ! {
    std::eprintln!(
        "terrace-sync: the system refuses the barrier that it has allowed before (has the process entered \
         a sandbox?); run with {variable}=symmetric"
    );
    std::process::abort();
}

#[cfg(target_os = "linux")]
mod calls {
    //! `membarrier(2)`, Linux 4.14 and later. A kernel without it, gVisor and most filters of system calls refuse it with an error. One
    //! that claims success for every call answers the query with 0, which names no command.

    const QUERY: libc::c_int = 0;
    const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
    const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;

    /// The call's result; negative on failure.
    fn membarrier(command: libc::c_int) -> libc::c_long {
        let flags: libc::c_uint = 0;
        let cpu: libc::c_int = 0;
        // SAFETY: the call takes three integers, and reads and writes no memory of ours.
        unsafe { libc::syscall(libc::SYS_membarrier, command, flags, cpu) }
    }

    pub(in super::super) fn prepare() -> bool {
        let wanted = libc::c_long::from(PRIVATE_EXPEDITED | REGISTER_PRIVATE_EXPEDITED);
        let known = membarrier(QUERY);
        known >= 0 && known & wanted == wanted && membarrier(REGISTER_PRIVATE_EXPEDITED) == 0
    }

    pub(in super::super) fn barrier() -> bool {
        membarrier(PRIVATE_EXPEDITED) == 0
    }
}

#[cfg(windows)]
mod calls {
    //! `FlushProcessWriteBuffers`, Windows Vista and later. It returns nothing, and in Wine it may do nothing.
    //! Wine's `ntdll` exports a function that Windows has not: where it is there, the fences are symmetric.

    use core::ffi::{CStr, c_void};

    #[link(name = "kernel32")]
    unsafe extern "system" {
        safe fn FlushProcessWriteBuffers();
        fn GetModuleHandleA(name: *const core::ffi::c_char) -> *mut c_void;
        fn GetProcAddress(module: *mut c_void, name: *const core::ffi::c_char) -> *mut c_void;
    }

    /// Whether a library that the process has loaded exports this function.
    fn exports(module: &CStr, function: &CStr) -> bool {
        // SAFETY: the name is a C string, and the call only reads it.
        let module = unsafe { GetModuleHandleA(module.as_ptr()) };
        if module.is_null() {
            return false;
        }
        // SAFETY: the module is loaded and `ntdll` is never unloaded; the name is a C string. The address is not called.
        !unsafe { GetProcAddress(module, function.as_ptr()) }.is_null()
    }

    pub(in super::super) fn prepare() -> bool {
        !exports(c"ntdll.dll", c"wine_get_version")
    }

    pub(in super::super) fn barrier() -> bool {
        FlushProcessWriteBuffers();
        true
    }
}

use calls::{barrier, prepare};
