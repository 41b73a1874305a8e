//! Whether a thread can wait for another one's end.

/// Whether the calling thread may join others here. False only on Windows, where the system's loader calls this code: in a destructor of
/// a thread-local, and in `DllMain`. The system then neither starts nor ends another thread until that code has returned, so the calling
/// thread would wait in the join for ever.
///
/// Cost: on Windows three loads and a call; nothing elsewhere. It takes no lock.
///
/// # Examples
///
/// ```
/// let thread = terrace_sync::thread::spawn(|| 6 * 7);
/// assert!(terrace_sync::thread::can_join(), "this is no destructor of a thread-local");
/// assert_eq!(thread.join().unwrap(), 42);
/// ```
#[inline]
#[must_use = "the call only answers a question"]
pub fn can_join() -> bool {
    #[cfg(windows)]
    return !loader::calls_us();
    #[cfg(not(windows))]
    return true;
}

#[cfg(windows)]
mod loader {
    //! The loader holds a lock while it calls. The process's environment block leads to it; what Microsoft's
    //! `AuxUlibIsDLLSynchronizationHeld` tells comes from there, too. To look up a function of the system instead would need that very
    //! lock: a worker would wait for it while the thread that holds it waits for the worker.

    use std::arch::asm;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Where a thread's environment block has the address of the process's block. It has been there since Windows XP.
    const PROCESS: usize = if cfg!(target_pointer_width = "64") {
        0x60
    } else {
        0x30
    };
    /// Where the process's block has the address of the lock. It has been there since Windows XP.
    const LOADER_LOCK: usize = if cfg!(target_pointer_width = "64") {
        0x110
    } else {
        0xa0
    };
    /// Where a `CRITICAL_SECTION` of `winnt.h` has the number of the thread that holds it: behind a pointer and two `LONG`s.
    const HOLDER: usize = size_of::<usize>() + 8;

    #[link(name = "kernel32")]
    unsafe extern "system" {
        safe fn GetCurrentThreadId() -> u32;
    }

    /// Whether this thread holds the loader's lock.
    pub(super) fn calls_us() -> bool {
        let process = process();
        if process.is_null() {
            return false;
        }
        // SAFETY: the block lives as long as the process, and has a pointer at this place.
        let lock = unsafe {
            process
                .byte_add(LOADER_LOCK)
                .cast::<*const AtomicUsize>()
                .read()
        };
        // SAFETY: the lock lives as long as the process, and has a number at this place, which the system changes atomically.
        let holder = unsafe { &*lock.byte_add(HOLDER) };
        // Ordering: Relaxed. Only this thread writes its own number there, and takes it away.
        holder.load(Ordering::Relaxed) == GetCurrentThreadId() as usize
    }

    /// The environment block of the process; null on a machine on which it is not known how to find it.
    fn process() -> *const u8 {
        let block: *const u8;
        // SAFETY: the register leads to the thread's block, which has the address at this place. No memory is written, and no flag is
        // changed.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            asm!("mov {}, gs:[{}]", out(reg) block, const PROCESS, options(nostack, preserves_flags, readonly, pure));
        }
        // SAFETY: as above.
        #[cfg(target_arch = "x86")]
        unsafe {
            asm!("mov {}, fs:[{}]", out(reg) block, const PROCESS, options(nostack, preserves_flags, readonly, pure));
        }
        // SAFETY: as above.
        #[cfg(target_arch = "aarch64")]
        unsafe {
            asm!("ldr {}, [x18, #{}]", out(reg) block, const PROCESS, options(nostack, preserves_flags, readonly, pure));
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "x86", target_arch = "aarch64")))]
        {
            let _ = PROCESS;
            block = std::ptr::null();
        }
        block
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
