//! The number of threads that can run at once.

/// How many threads the process can run at once, as the operating system says: the processors that it may use, within a container's
/// quota. 1 if the system does not say.
///
/// Asks anew in every call, which takes some microseconds. Without feature `std` there is no system to ask: 1.
///
/// # Examples
///
/// ```
/// assert!(terrace_tasks::available_parallelism() >= 1);
/// ```
#[doc(alias("num_cpus", "max_num_threads"))]
pub fn available_parallelism() -> usize {
    #[cfg(feature = "std")]
    return std::thread::available_parallelism().map_or(1, usize::from);
    #[cfg(not(feature = "std"))]
    1
}
