//! The suite on a bare x86-64 PC: booted by qemu, woken by the interval timer, printing to the serial port.
#![no_std]
#![no_main]

mod boot;
mod interrupts;
mod port;

use core::fmt::{Arguments, Write};
use core::num::NonZeroUsize;
use core::panic::PanicInfo;

use terrace_firmware_suite::{Board, Heap};
use terrace_local::context::Context;

/// Timer interrupts in a second.
const HERTZ: u32 = 1000;

/// Exit codes for qemu, which makes odd numbers of them: 33 and 35.
const PASSED: u8 = 16;
const FAILED: u8 = 17;

struct Interrupts;

// SAFETY: there is one core, and handlers run with interrupts off.
unsafe impl Context for Interrupts {
    fn id() -> NonZeroUsize {
        NonZeroUsize::MIN.saturating_add(interrupts::running())
    }
}

terrace_local::context!(Interrupts);

#[global_allocator]
static HEAP: Heap = Heap::new(|| interrupts::running() != 0);

struct Pc;

impl Board for Pc {
    fn print(line: Arguments<'_>) {
        // Writing to the port cannot fail.
        let _ = writeln!(port::Serial, "{line}");
    }

    fn sleep_unless(awake: impl FnOnce() -> bool) -> bool {
        interrupts::wait_unless(awake)
    }
}

extern "C" fn main() -> ! {
    interrupts::install(HERTZ);
    terrace_firmware_suite::run::<Pc>();
    port::exit(PASSED)
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    Pc::print(format_args!("{info}"));
    port::exit(FAILED)
}
