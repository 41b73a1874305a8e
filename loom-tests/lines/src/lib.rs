//! Counts the cache lines that threads of a program hand over to each other, under a schedule that a seed decides.
//!
//! rustc's `-Zsanitizer=thread` makes a program call a function before each access to memory. This library has these
//! functions in place of ThreadSanitizer's own. So the program is the real one, with the layout of a release build, and
//! no line of it or of its dependencies is changed.
//!
//! # A line handed over
//!
//! A line is 64 bytes at a multiple of 64. The directory keeps two facts of each line: the thread that wrote it last, and the
//! *holders*, the threads with a copy that is valid. Each access is a read or a write; a read-modify-write is a write, also
//! a compare-exchange that fails.
//!
//! | access | the line is handed over if | then |
//! |---|---|---|
//! | a read | the thread holds no copy, and another thread wrote the line last | the thread is a holder, too |
//! | a write | another thread holds a copy, or another thread wrote the line last | the thread is the writer and the only holder |
//!
//! So the first access to memory that no thread has written is free, and so is every access to a line that only one thread
//! uses. A cache of this model never evicts.
//!
//! # The schedule
//!
//! One thread runs at a time. Before each atomic access a thread whose turn comes next is drawn, each runnable thread
//! with the same chance. So the schedule is sequentially consistent, and the same seed gives the same one. A thread that waits in a futex, sleeps,
//! or waits for the end of a thread is not runnable. The clocks of the program show the time of the model: a step takes 10
//! ns, divided by the number of threads that can run. Where none can, the clock goes on to the next time-out. A yield and a
//! reading of a clock each take 250 ns: the model does not see the spin hints that stand around them.
//!
//! # What it does not see
//!
//! Accesses within libc, the kernel, and the compiled part of `std`. A futex call counts as a write of its word, because `std`
//! writes the word before each such call. A program's own bookkeeping stays uncounted if it uses the functions of `api`.
#![cfg_attr(
    not(all(target_os = "linux", target_arch = "x86_64", not(test))),
    expect(
        dead_code,
        reason = "the hooks are those of one target, and no test runs under them"
    )
)]

mod directory;

#[cfg(all(target_os = "linux", target_arch = "x86_64", not(test)))]
mod api;
#[cfg(all(target_os = "linux", target_arch = "x86_64", not(test)))]
mod calls;
#[cfg(all(target_os = "linux", target_arch = "x86_64", not(test)))]
mod hooks;
#[cfg(all(target_os = "linux", target_arch = "x86_64", not(test)))]
mod kernel;
#[cfg(all(target_os = "linux", target_arch = "x86_64", not(test)))]
mod turns;
