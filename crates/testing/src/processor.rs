//! On which processor a test runs.

/// From now on the calling thread, and the threads that it starts, run on this processor alone. False if they may not.
/// # Panics
/// If the number is larger than any that the system knows.
#[must_use]
pub fn stay_on(processor: usize) -> bool {
    // SAFETY: a set of processors is plain data, and zeros are the empty one.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    assert!(processor < libc::CPU_SETSIZE as usize, "{processor}");
    // SAFETY: the number is less than the set's size.
    unsafe { libc::CPU_SET(processor, &mut set) };
    // SAFETY: the set is as large as the call is told.
    unsafe { libc::sched_setaffinity(0, size_of_val(&set), &raw const set) == 0 }
}

/// The processors on which the calling thread can stay. It stays on one of them afterwards.
pub fn processors() -> impl Iterator<Item = usize> {
    (0..libc::CPU_SETSIZE as usize).filter(|&processor| stay_on(processor))
}
