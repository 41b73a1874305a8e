//! Whether a thread can wait for another one's end.

/// Whether the calling thread may join others here. False only on Windows, where the system's loader calls this code: in a destructor of
/// a thread-local, and in `DllMain`. The system then neither starts nor ends another thread until that code has returned, so the calling
/// thread would wait in the join for ever.
///
/// Cost: on Windows two calls of `ntdll`; nothing elsewhere.
#[inline]
#[must_use]
pub fn can_join() -> bool {
    #[cfg(windows)]
    return !loader::calls_us();
    #[cfg(not(windows))]
    return true;
}

#[cfg(windows)]
mod loader {
    //! The loader holds a lock while it calls. That lock is in the process's environment block, as every debugger's tools know it; what
    //! Microsoft's `AuxUlibIsDLLSynchronizationHeld` tells comes from there, too.

    use core::ffi::c_void;
    use core::mem::transmute;
    use core::ptr::NonNull;
    use std::sync::OnceLock;

    use crate::ntdll;

    /// Where the environment block has the address of the lock.
    const LOADER_LOCK: usize = if cfg!(target_pointer_width = "64") {
        0x110
    } else {
        0xa0
    };

    #[derive(Clone, Copy)]
    struct Calls {
        environment: extern "system" fn() -> *const u8,
        is_locked_here: unsafe extern "system" fn(*const c_void) -> u8,
    }

    /// Without these functions, which Windows has had since Vista, the loader is taken not to call.
    pub(super) fn calls_us() -> bool {
        static CALLS: OnceLock<Option<Calls>> = OnceLock::new();
        let Some(calls) = CALLS.get_or_init(find) else {
            return false;
        };
        let block = (calls.environment)();
        // SAFETY: the block lives as long as the process and has this field at this place in all versions since Windows XP.
        let lock = unsafe { block.add(LOADER_LOCK).cast::<*const c_void>().read() };
        // SAFETY: the loader's lock is a critical section that lives as long as the process.
        !lock.is_null() && unsafe { (calls.is_locked_here)(lock) } != 0
    }

    fn find() -> Option<Calls> {
        let environment = ntdll::address(c"RtlGetCurrentPeb")?;
        let is_locked_here = ntdll::address(c"RtlIsCriticalSectionLockedByThread")?;
        // SAFETY: the first takes nothing and returns the block's address; the second takes the address of a critical section and
        // returns a byte.
        let calls = unsafe {
            Calls {
                environment: transmute::<NonNull<c_void>, extern "system" fn() -> *const u8>(
                    environment,
                ),
                is_locked_here: transmute::<
                    NonNull<c_void>,
                    unsafe extern "system" fn(*const c_void) -> u8,
                >(is_locked_here),
            }
        };
        Some(calls)
    }
}

#[cfg(all(test, not(any(terrace_loom, terrace_shuttle))))]
mod tests {
    use std::sync::mpsc::channel;

    struct Tells(std::sync::mpsc::Sender<bool>);

    impl Drop for Tells {
        fn drop(&mut self) {
            self.0.send(super::can_join()).expect("the test waits");
        }
    }

    #[test]
    fn a_destructor_of_a_thread_local_cannot_join_on_windows() {
        std::thread_local! {
            static TELLS: std::cell::Cell<Option<Tells>> = const { std::cell::Cell::new(None) };
        }
        assert!(super::can_join());
        let (send, told) = channel();
        let thread = std::thread::spawn(move || TELLS.set(Some(Tells(send))));
        thread.join().expect("it does not panic");
        assert_eq!(told.recv(), Ok(!cfg!(windows)));
    }
}
