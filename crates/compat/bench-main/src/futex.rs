//! Futex calls and barriers, if the preload library `futex-count` counts them for this process.

use libc::c_void;

type Read = unsafe extern "C" fn(*mut [u64; 4]);

/// Calls of the process so far.
pub(crate) struct Counts {
    /// Calls that may sleep.
    pub(crate) waits: u64,
    /// Calls that wake.
    pub(crate) wakes: u64,
    /// Threads they woke.
    pub(crate) woken: u64,
    /// Calls by which a thread has all others fence.
    pub(crate) barriers: u64,
}

impl Counts {
    /// Reads the counters; nothing if the library is not loaded.
    pub(crate) fn now() -> Option<Self> {
        // SAFETY: the name is a valid C string; RTLD_DEFAULT is a valid handle.
        let read = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"terrace_futex_counts".as_ptr()) };
        if read.is_null() {
            return None;
        }
        // SAFETY: only `futex-count` defines the name, with this type.
        let read = unsafe { std::mem::transmute::<*mut c_void, Read>(read) };
        let mut counts = [0; 4];
        // SAFETY: the pointer is to four live `u64`.
        unsafe { read(&raw mut counts) };
        let [waits, wakes, woken, barriers] = counts;
        Some(Self {
            waits,
            wakes,
            woken,
            barriers,
        })
    }
}
