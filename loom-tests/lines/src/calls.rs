//! Functions of libc by which threads begin, wait, wake and read clocks, in place of libc's.

use std::ffi::{c_int, c_long, c_void};
use std::mem::transmute;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use libc::{clockid_t, cpu_set_t, pid_t, pthread_attr_t, pthread_key_t, pthread_t, timespec};

use crate::api::HANDLES;
use crate::directory::Thread;
use crate::turns::{self, Reason};
use crate::{hooks, kernel};

type Start = extern "C" fn(*mut c_void) -> *mut c_void;

fn picoseconds(time: timespec) -> u64 {
    let time = Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32);
    u64::try_from(time.as_nanos()).map_or(u64::MAX, |nanos| nanos.saturating_mul(1_000))
}

fn now() -> u64 {
    turns::with(|world, _| world.now()).unwrap_or_default()
}

fn fail(error: c_int) -> c_long {
    // SAFETY: it has no premise.
    let own = unsafe { libc::__errno_location() };
    // SAFETY: the calling thread's own variable.
    unsafe { own.write(error) };
    -1
}

/// A call of the kernel: a futex or a barrier of this process in the model, others by the kernel.
///
/// # Safety
/// As the call.
#[unsafe(no_mangle)]
unsafe extern "C" fn syscall(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    const EXPEDITED: usize = libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED as usize;
    match number {
        // SAFETY: the arguments are those of a futex call.
        libc::SYS_futex => unsafe { futex(a, b as c_int, c as u32, d as *const timespec) },
        libc::SYS_membarrier if a == EXPEDITED => {
            turns::with(|world, _| world.totals.barriers += u64::from(world.is_counting));
            turns::step();
            0
        }
        // SAFETY: the caller answers for it.
        _ => match unsafe { kernel::call(number, [a, b, c, d, e, f]) } {
            error @ -4095..0 => fail(-error as c_int),
            result => result as c_long,
        },
    }
}

/// # Safety
/// `word` is the address of a word, `timeout` is null or valid.
unsafe fn futex(word: usize, operation: c_int, value: u32, timeout: *const timespec) -> c_long {
    let command = operation & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);
    match command {
        libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET => {
            turns::step();
            hooks::futex(word);
            // SAFETY: the caller answers for it.
            let found = unsafe { AtomicU32::from_ptr(word as *mut u32) };
            // Ordering: Relaxed, one thread runs at a time.
            if found.load(Ordering::Relaxed) != value {
                return fail(libc::EAGAIN);
            }
            let from = if command == libc::FUTEX_WAIT {
                now()
            } else {
                0
            };
            // SAFETY: the caller answers for it.
            let until =
                unsafe { timeout.as_ref() }.map(|time| from.saturating_add(picoseconds(*time)));
            match turns::block(Reason::Futex(word), until) {
                true => 0,
                false => fail(libc::ETIMEDOUT),
            }
        }
        libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET => {
            turns::step();
            hooks::futex(word);
            let woken = turns::with(|world, _| {
                let woken = world.unblock(value as usize, |reason| reason == Reason::Futex(word));
                world.totals.wakes += if world.is_counting { woken as u64 } else { 0 };
                woken
            });
            woken.unwrap_or_default() as c_long
        }
        _ => kernel::die("a futex call that the model does not know"),
    }
}

/// What a new thread is told.
struct Begin {
    number: Thread,
    start: Start,
    argument: *mut c_void,
}

extern "C" fn begin(told: *mut c_void) -> *mut c_void {
    // SAFETY: `pthread_create` below made it for this thread alone.
    let told = unsafe { Box::from_raw(told.cast::<Begin>()) };
    turns::begin(told.number);
    // SAFETY: a key that was made. Its destructor runs after those of the program's thread-locals.
    unsafe { libc::pthread_setspecific(key(), (&raw const END_MARK).cast()) };
    (told.start)(told.argument)
}

/// What the value of the key points to: it only has to be something.
static END_MARK: u8 = 0;

/// The key whose destructor ends a thread's part in the model.
fn key() -> pthread_key_t {
    static KEY: std::sync::OnceLock<pthread_key_t> = std::sync::OnceLock::new();
    extern "C" fn end(_: *mut c_void) {
        turns::end();
    }
    *KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: it writes the key only.
        let failed = unsafe { libc::pthread_key_create(&raw mut key, Some(end)) };
        if failed != 0 {
            kernel::die("no key for threads that end");
        }
        key
    })
}

/// libc's own function of this name.
fn next(name: &'static std::ffi::CStr) -> *mut c_void {
    // SAFETY: a name that ends with a zero.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    if found.is_null() {
        kernel::die("libc lacks a function for threads");
    }
    found
}

/// Starts a thread, which the model knows.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_create(
    thread: *mut pthread_t,
    attributes: *const pthread_attr_t,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    type Create =
        unsafe extern "C" fn(*mut pthread_t, *const pthread_attr_t, Start, *mut c_void) -> c_int;
    key();
    let Some(number) = turns::announce() else {
        kernel::die("a thread starts another one after its end");
    };
    let told = Box::into_raw(Box::new(Begin {
        number,
        start,
        argument,
    }));
    // SAFETY: the type of libc's function.
    let create = unsafe { transmute::<*mut c_void, Create>(next(c"pthread_create")) };
    // SAFETY: the caller answers for the arguments, `begin` takes what it is told.
    let failed = unsafe { create(thread, attributes, begin, told.cast()) };
    if failed != 0 {
        kernel::die("the system starts no thread");
    }
    // SAFETY: libc has written it.
    let handle = unsafe { thread.read() };
    let mut handles = HANDLES.lock().unwrap_or_else(PoisonError::into_inner);
    handles.retain(|(known, _)| *known != handle);
    handles.push((handle, number));
    0
}

/// Waits for the end of a thread.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_join(thread: pthread_t, value: *mut *mut c_void) -> c_int {
    type Join = unsafe extern "C" fn(pthread_t, *mut *mut c_void) -> c_int;
    let number = {
        let handles = HANDLES.lock().unwrap_or_else(PoisonError::into_inner);
        handles
            .iter()
            .find(|(known, _)| *known == thread)
            .map(|(_, number)| *number)
    };
    if let Some(number) = number {
        while turns::with(|world, _| world.has_ended(number)) == Some(false) {
            turns::block(Reason::End(number), None);
        }
    }
    // SAFETY: the type of libc's function.
    let join = unsafe { transmute::<*mut c_void, Join>(next(c"pthread_join")) };
    // SAFETY: the caller answers for it.
    unsafe { join(thread, value) }
}

/// Steps that a yield takes, and a reading of a clock with the spin hints around it.
const PAUSE: u64 = 25;

/// Lets other threads run.
#[unsafe(no_mangle)]
extern "C" fn sched_yield() -> c_int {
    turns::pause(PAUSE);
    0
}

/// Each thread has a processor of its own.
#[unsafe(no_mangle)]
extern "C" fn sched_getcpu() -> c_int {
    turns::with(|_, me| me).unwrap_or_default() as c_int
}

/// As many processors as the variable `LINES_PROCESSORS` says.
///
/// # Safety
/// `set` points to `size` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn sched_getaffinity(_: pid_t, size: usize, set: *mut cpu_set_t) -> c_int {
    let count = std::env::var("LINES_PROCESSORS")
        .ok()
        .and_then(|count| count.parse().ok());
    // SAFETY: the caller's set.
    let bytes = unsafe { std::slice::from_raw_parts_mut(set.cast::<u8>(), size) };
    bytes.fill(0);
    for processor in 0..count.unwrap_or(1_usize).min(8 * size) {
        bytes[processor / 8] |= 1 << (processor % 8);
    }
    0
}

/// The time of the model, by every clock.
///
/// # Safety
/// `time` is valid.
#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(_: clockid_t, time: *mut timespec) -> c_int {
    turns::pause(PAUSE);
    let now = Duration::from_nanos(now() / 1_000);
    let read = timespec {
        tv_sec: now.as_secs() as _,
        tv_nsec: now.subsec_nanos().into(),
    };
    // SAFETY: the caller answers for it.
    unsafe { time.write(read) };
    0
}

/// Sleeps, in the model's time.
///
/// # Safety
/// `time` is valid.
#[unsafe(no_mangle)]
unsafe extern "C" fn nanosleep(time: *const timespec, _: *mut timespec) -> c_int {
    // SAFETY: the caller answers for it.
    turns::block(
        Reason::Time,
        Some(now() + picoseconds(unsafe { time.read() })),
    );
    0
}

/// Sleeps, in the model's time.
///
/// # Safety
/// `time` is valid.
#[unsafe(no_mangle)]
unsafe extern "C" fn clock_nanosleep(
    _: clockid_t,
    flags: c_int,
    time: *const timespec,
    _: *mut timespec,
) -> c_int {
    let from = if flags & libc::TIMER_ABSTIME == 0 {
        now()
    } else {
        0
    };
    // SAFETY: the caller answers for it.
    turns::block(
        Reason::Time,
        Some(from + picoseconds(unsafe { time.read() })),
    );
    0
}
