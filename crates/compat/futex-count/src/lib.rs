//! A library to preload (`LD_PRELOAD`). It stands in front of the C library's `syscall`, counts the
//! futex calls and the barriers of `membarrier`, and passes every call on.
//!
//! Rust's standard library makes all its futex calls that way, so this sees every park, unpark,
//! contended lock and condition variable of a Rust program. Futex calls the C library makes for its
//! own purposes (joining threads, its allocator's locks) are not seen.
//!
//! The counters are read with [`terrace_futex_counts`], found by `dlsym`.

#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

use std::sync::atomic::{AtomicUsize, Ordering};

use libc::{c_char, c_int, c_long, c_void};

/// Calls that may sleep.
static WAITS: AtomicUsize = AtomicUsize::new(0);
/// Calls that wake.
static WAKES: AtomicUsize = AtomicUsize::new(0);
/// Wakes that found a thread asleep.
static WOKEN: AtomicUsize = AtomicUsize::new(0);
/// Calls that make all running threads of the process fence.
static BARRIERS: AtomicUsize = AtomicUsize::new(0);
/// What such a call asks for: `MEMBARRIER_CMD_PRIVATE_EXPEDITED`.
const PRIVATE_EXPEDITED: c_int = 1 << 3;
/// The C library's own `syscall`, zero until looked up.
static NEXT: AtomicUsize = AtomicUsize::new(0);

const NAME: *const c_char = c"syscall".as_ptr();

type Syscall = unsafe extern "C" fn(c_long, ...) -> c_long;

fn next() -> Syscall {
    // Ordering: Relaxed, the address publishes nothing else. A thread that finds zero looks the
    // same address up again.
    let mut address = NEXT.load(Ordering::Relaxed);
    if address == 0 {
        // SAFETY: the name is a valid C string; RTLD_NEXT is a valid handle.
        address = unsafe { libc::dlsym(libc::RTLD_NEXT, NAME) }.addr();
        if address == 0 {
            std::process::abort();
        }
        NEXT.store(address, Ordering::Relaxed);
    }
    // SAFETY: the address is that of the C library's `syscall`, which has this type.
    unsafe { std::mem::transmute::<*mut c_void, Syscall>(address as *mut c_void) }
}

/// Stands in for the C library's function of this name.
///
/// That one is variadic. On the targets of this crate, a variadic call of up to six integer
/// arguments passes them as a call of seven fixed ones does.
///
/// # Safety
///
/// As for `syscall(2)`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syscall(
    number: c_long,
    a: c_long,
    b: c_long,
    c: c_long,
    d: c_long,
    e: c_long,
    f: c_long,
) -> c_long {
    // SAFETY: the caller's promise is that of the function the call is passed on to.
    let result = unsafe { next()(number, a, b, c, d, e, f) };
    if number == libc::SYS_futex {
        let operation = b as c_int & libc::FUTEX_CMD_MASK;
        if operation == libc::FUTEX_WAIT || operation == libc::FUTEX_WAIT_BITSET {
            WAITS.fetch_add(1, Ordering::Relaxed);
        } else {
            WAKES.fetch_add(1, Ordering::Relaxed);
            if result > 0 {
                WOKEN.fetch_add(result as usize, Ordering::Relaxed);
            }
        }
    }
    if number == libc::SYS_membarrier && a as c_int == PRIVATE_EXPEDITED {
        BARRIERS.fetch_add(1, Ordering::Relaxed);
    }
    result
}

/// Writes the number of waits, of wakes, of threads woken and of barriers since the start of the process.
///
/// # Safety
///
/// `into` points to four writable `u64`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn terrace_futex_counts(into: *mut [u64; 4]) {
    let counts = [&WAITS, &WAKES, &WOKEN, &BARRIERS].map(|n| n.load(Ordering::Relaxed) as u64);
    // SAFETY: the caller's promise.
    unsafe { into.write(counts) };
}
