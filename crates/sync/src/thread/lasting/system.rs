//! The number in a slot of the system, which has no destructor.

use std::sync::OnceLock;

static SLOT: OnceLock<system::Slot> = OnceLock::new();

/// The calling thread's number.
#[inline]
#[must_use = "the call only reads a value"]
pub fn get() -> u64 {
    system::get(*SLOT.get_or_init(system::new)) as u64
}

/// Sets it.
pub fn set(number: u64) {
    let word = usize::try_from(number)
        .expect("a process of 32 bits has fewer than 2^32 threads in its life");
    system::set(*SLOT.get_or_init(system::new), word);
}

#[cfg(windows)]
mod system {
    pub(super) type Slot = u32;

    #[link(name = "kernel32")]
    unsafe extern "system" {
        safe fn TlsAlloc() -> u32;
        safe fn TlsGetValue(slot: u32) -> *mut core::ffi::c_void;
        safe fn TlsSetValue(slot: u32, value: *const core::ffi::c_void) -> i32;
    }

    pub(super) fn new() -> Slot {
        let slot = TlsAlloc();
        assert_ne!(slot, u32::MAX, "the process has no thread-local slot left");
        slot
    }

    pub(super) fn get(slot: Slot) -> usize {
        TlsGetValue(slot).addr()
    }

    pub(super) fn set(slot: Slot, word: usize) {
        let set = TlsSetValue(slot, core::ptr::without_provenance(word));
        assert_ne!(set, 0, "the system has no memory for a thread-local slot");
    }
}

#[cfg(unix)]
mod system {
    pub(super) type Slot = libc::pthread_key_t;

    pub(super) fn new() -> Slot {
        let mut key = 0;
        // SAFETY: the key is written to a variable of this frame. Without a destructor nothing is called at a thread's end.
        let failed = unsafe { libc::pthread_key_create(&raw mut key, None) };
        assert_eq!(failed, 0, "the process has no thread-local key left");
        key
    }

    pub(super) fn get(key: Slot) -> usize {
        // SAFETY: the key was created, and is never deleted.
        unsafe { libc::pthread_getspecific(key) }.addr()
    }

    pub(super) fn set(key: Slot, word: usize) {
        // SAFETY: the key was created, and is never deleted. The word is compared and never followed.
        let failed =
            unsafe { libc::pthread_setspecific(key, core::ptr::without_provenance(word)) };
        assert_eq!(failed, 0, "the system has no memory for a thread-local key");
    }
}
