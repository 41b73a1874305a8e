//! [`LastingNumber`]: a number of each thread that stays to the thread's last moment, whatever destructors of its thread-locals run.
//!
//! | target                                        | where it is kept                                                      |
//! |-----------------------------------------------|-----------------------------------------------------------------------|
//! | with thread-locals of its own                 | in one of them: it has no destructor                                  |
//! | Windows with GNU's tools                      | in a slot of `TlsAlloc`                                               |
//! | Android, OpenBSD                              | in a key of `pthread_key_create`, without a destructor                |
//! | a checker                                     | in a thread-local of the checker                                      |
//!
//! On the targets in the middle, `std` frees a thread-local without a destructor at the end of its thread, in any order with others, and
//! a later access makes a new one. The system's slots hold a number of a pointer's size, so no memory is left behind.

/// The number of the calling thread, 0 before it is set. There is one for the whole program.
#[derive(Clone, Copy, Debug)]
pub struct LastingNumber;

#[cfg(not(any(
    all(windows, target_env = "gnu", not(target_abi = "llvm")),
    target_os = "android",
    target_os = "openbsd",
)))]
mod slot {
    use core::cell::Cell;

    #[cfg(terrace_loom)]
    loom::thread_local! {
        static NUMBER: Cell<u64> = Cell::new(0);
    }
    #[cfg(terrace_shuttle)]
    static NUMBER: super::super::locals::LastingKey<Cell<u64>> =
        super::super::locals::LastingKey::new(|| Cell::new(0));
    // It lasts under `terrace_keyed_tls`, too.
    #[cfg(not(any(terrace_loom, terrace_shuttle)))]
    std::thread_local! {
        static NUMBER: Cell<u64> = const { Cell::new(0) };
    }
    /// One that does not, for a fault.
    #[cfg(terrace_keyed_tls)]
    static RENEWED: super::super::keyed::LocalKey<Cell<u64>> =
        super::super::keyed::LocalKey::new(|| Cell::new(0));

    #[inline(always)]
    pub(super) fn get() -> u64 {
        #[cfg(terrace_keyed_tls)]
        if weakened!("sync-number-renewed") {
            return RENEWED.with(Cell::get);
        }
        NUMBER.with(Cell::get)
    }

    pub(super) fn set(number: u64) {
        #[cfg(terrace_keyed_tls)]
        if weakened!("sync-number-renewed") {
            return RENEWED.with(|own| own.set(number));
        }
        NUMBER.with(|own| own.set(number));
    }
}

#[cfg(any(
    all(windows, target_env = "gnu", not(target_abi = "llvm")),
    target_os = "android",
    target_os = "openbsd",
))]
mod slot {
    use std::sync::OnceLock;

    static SLOT: OnceLock<system::Slot> = OnceLock::new();

    pub(super) fn get() -> u64 {
        system::get(*SLOT.get_or_init(system::new)) as u64
    }

    pub(super) fn set(number: u64) {
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
}

impl LastingNumber {
    /// The calling thread's number.
    #[inline(always)]
    #[must_use]
    pub fn get(self) -> u64 {
        slot::get()
    }

    /// Sets it.
    pub fn set(self, number: u64) {
        slot::set(number);
    }
}
