//! How long a thread has used a processor, read from any thread.

use core::time::Duration;

/// The processor time of one thread, or of the process.
///
/// Linux only; on other systems, and under a checker, there is none. Reading it is one system call, a few hundred nanoseconds.
///
/// # Examples
///
/// ```
/// use terrace_sync::time::CpuClock;
///
/// if let Some(clock) = CpuClock::of_this_thread() {
///     let before = clock.read();
///     assert!(before <= clock.read());
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuClock(i32);

/// A clock of one thread, not of a process.
const PER_THREAD: i32 = 4;
/// Time as the scheduler counts it, in nanoseconds.
const SCHEDULED: i32 = 2;

impl CpuClock {
    /// That of the calling thread; `None` where the system has no such clock. One system call.
    /// The [type](Self) has an example.
    #[must_use = "the call only reads a value"]
    pub fn of_this_thread() -> Option<Self> {
        // The rule of `pthread_getcpuclockid(3)`, by which Linux makes the numbers of such clocks out of thread ids.
        let clock = Self((!system::thread()? << 3) | PER_THREAD | SCHEDULED);
        clock.read().map(|_| clock)
    }

    /// That of all threads of the process together; `None` where the system has no such clock.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_sync::time::CpuClock;
    ///
    /// let clocks = CpuClock::of_this_process().zip(CpuClock::of_this_thread());
    /// if let Some((process, thread)) = clocks {
    ///     assert!(process.read() > Some(std::time::Duration::ZERO));
    ///     assert!(process.thread().is_none() && thread.thread().is_some());
    /// }
    /// ```
    #[must_use = "the call only reads a value"]
    pub fn of_this_process() -> Option<Self> {
        system::PROCESS.map(Self)
    }

    /// How long the thread, or the process, has run on processors since its start; `None` if the thread has ended.
    /// The [type](Self) has an example.
    ///
    /// Joining a thread returns a moment before the system forgets the thread. Until then the last time is still read.
    #[must_use = "the call only reads a value"]
    pub fn read(&self) -> Option<Duration> {
        system::read(self.0)
    }

    /// The number that the system has given to the thread, as in `/proc/self/task`; `None` for the clock of the process.
    /// [`of_this_process`](Self::of_this_process) has an example.
    #[must_use = "the call only reads a value"]
    pub fn thread(&self) -> Option<u32> {
        // `of_this_thread`, backwards. The number of the process's clock is not negative.
        u32::try_from(!(self.0 >> 3)).ok()
    }
}

#[cfg(all(target_os = "linux", not(any(terrace_loom, terrace_shuttle, miri))))]
mod system {
    use core::mem::MaybeUninit;
    use core::time::Duration;

    /// The clock of the process.
    pub(super) const PROCESS: Option<i32> = Some(libc::CLOCK_PROCESS_CPUTIME_ID);

    /// The id of the calling thread.
    pub(super) fn thread() -> Option<i32> {
        // SAFETY: the call takes no argument, and reads and writes no memory of ours.
        let thread = unsafe { libc::syscall(libc::SYS_gettid) };
        i32::try_from(thread).ok()
    }

    pub(super) fn read(clock: i32) -> Option<Duration> {
        let mut time = MaybeUninit::<libc::timespec>::uninit();
        // SAFETY: `time` is valid for a write of one `timespec`. A clock that does not exist, or no longer does, is an error.
        let result = unsafe { libc::clock_gettime(clock, time.as_mut_ptr()) };
        if result != 0 {
            return None;
        }
        // SAFETY: the call has succeeded, so it has written the whole value.
        let time = unsafe { time.assume_init() };
        let seconds = u64::try_from(time.tv_sec).ok()?;
        let nanos = u32::try_from(time.tv_nsec).ok()?;
        Some(Duration::new(seconds, nanos))
    }
}

#[cfg(not(all(target_os = "linux", not(any(terrace_loom, terrace_shuttle, miri)))))]
mod system {
    //! No such clock.

    use core::time::Duration;

    pub(super) const PROCESS: Option<i32> = None;

    pub(super) fn thread() -> Option<i32> {
        None
    }

    pub(super) fn read(_clock: i32) -> Option<Duration> {
        None
    }
}

#[cfg(all(
    test,
    target_os = "linux",
    not(any(terrace_loom, terrace_shuttle, miri))
))]
mod tests {
    use std::sync::mpsc::channel;
    use std::thread;

    use terrace_testing::watchdog;

    use super::CpuClock;

    #[test]
    fn a_clock_runs_while_its_thread_does_and_is_gone_with_it() {
        let _watchdog = watchdog();
        let (sender, clocks) = channel();
        let (go, start) = channel::<()>();
        let worker = thread::spawn(move || {
            sender.send(CpuClock::of_this_thread().unwrap()).unwrap();
            start.recv().unwrap();
            let own = CpuClock::of_this_thread().unwrap();
            let begin = own.read().unwrap();
            while own.read().unwrap() == begin {}
        });
        let clock = clocks.recv().unwrap();
        let before = clock.read().unwrap();
        go.send(()).unwrap();
        while !worker.is_finished() && clock.read().is_some_and(|now| now == before) {}
        worker.join().unwrap();
        // The join returns a moment before the system forgets the thread and its clock.
        while clock.read().is_some() {
            thread::yield_now();
        }
    }

    #[test]
    fn a_clock_knows_the_number_of_its_thread() {
        let clock = CpuClock::of_this_thread().unwrap();
        let number = std::format!("{}", clock.thread().unwrap());
        let own = std::fs::read_link("/proc/thread-self").unwrap();
        assert_eq!(own.file_name().unwrap(), &*number);
        assert_eq!(CpuClock::of_this_process().unwrap().thread(), None);
    }

    #[test]
    fn the_clock_of_the_process_runs_with_each_thread() {
        let _watchdog = watchdog();
        let process = CpuClock::of_this_process().unwrap();
        let before = process.read().unwrap();
        let worker = thread::spawn(move || while process.read() == Some(before) {});
        worker.join().unwrap();
        assert!(process.read().unwrap() > before);
    }
}
