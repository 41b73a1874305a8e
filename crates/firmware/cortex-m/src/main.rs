//! The suite on a Cortex-M4: qemu's mps2-an386, woken by SysTick, printing by semihosting.
#![no_std]
#![no_main]

use core::fmt::Arguments;
use core::num::NonZeroUsize;
use core::panic::PanicInfo;

use cortex_m::peripheral::syst::SystClkSource;
use cortex_m_rt::{entry, exception};
use cortex_m_semihosting::debug::{self, EXIT_FAILURE, EXIT_SUCCESS};
use cortex_m_semihosting::hprintln;
use terrace_firmware_suite::{Board, Heap};
use terrace_local::context::Context;

/// Cycles between two ticks: a millisecond at the board's 25 MHz.
const CYCLES_PER_TICK: u32 = 25_000;

/// The number of the exception whose handler runs, 0 outside of handlers.
fn exception_number() -> usize {
    let ipsr: usize;
    // SAFETY: reads a register.
    unsafe {
        core::arch::asm!("mrs {}, IPSR", out(reg) ipsr, options(nomem, nostack, preserves_flags))
    };
    ipsr & 0x1ff
}

struct Exceptions;

// SAFETY: there is one core, and an exception's handler is not interrupted by the same exception.
unsafe impl Context for Exceptions {
    fn id() -> NonZeroUsize {
        NonZeroUsize::MIN.saturating_add(exception_number())
    }
}

terrace_local::context!(Exceptions);

#[global_allocator]
static HEAP: Heap = Heap::new(|| exception_number() != 0);

struct Mps2;

impl Board for Mps2 {
    fn print(line: Arguments<'_>) {
        hprintln!("{}", line);
    }

    fn sleep_unless(awake: impl FnOnce() -> bool) -> bool {
        // An interrupt that is pending ends the wait although it is masked, and runs afterwards.
        cortex_m::interrupt::free(|_| {
            let sleeps = !awake();
            if sleeps {
                cortex_m::asm::wfi();
            }
            sleeps
        })
    }
}

#[entry]
fn main() -> ! {
    let mut peripherals = cortex_m::Peripherals::take().expect("nobody took them before");
    let timer = &mut peripherals.SYST;
    timer.set_clock_source(SystClkSource::Core);
    timer.set_reload(CYCLES_PER_TICK - 1);
    timer.clear_current();
    timer.enable_counter();
    timer.enable_interrupt();
    terrace_firmware_suite::run::<Mps2>();
    exit(EXIT_SUCCESS)
}

#[exception]
fn SysTick() {
    terrace_firmware_suite::tick();
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    hprintln!("{}", info);
    exit(EXIT_FAILURE)
}

fn exit(status: debug::ExitStatus) -> ! {
    loop {
        debug::exit(status);
    }
}
