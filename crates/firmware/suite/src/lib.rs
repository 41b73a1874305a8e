//! The behaviours that the executors must show on every machine without an operating system.
//!
//! A program for a machine implements [`Board`], makes a [`Heap`] its allocator, calls [`tick`] from a timer interrupt,
//! and calls [`run`]. That prints a line for each behaviour and panics at the first that fails.
#![no_std]

extern crate alloc;

mod behaviours;
mod block_on;
mod heap;
mod timer;

pub use behaviours::run;
pub use heap::Heap;
pub use timer::tick;

/// The machine.
pub trait Board: 'static {
    /// Prints a line.
    fn print(line: core::fmt::Arguments<'_>);

    /// Waits for an interrupt, unless `awake` says that there is no need to. Between its answer and the wait no interrupt
    /// runs, so that none is missed. True if it waited.
    fn sleep_unless(awake: impl FnOnce() -> bool) -> bool;
}
