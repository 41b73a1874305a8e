//! The PC's ports: serial output, the interrupt controller, the interval timer, qemu's exit.

use core::arch::asm;
use core::fmt;

const SERIAL: u16 = 0x3f8;
const EXIT: u16 = 0xf4;
const TIMER_CHANNEL: u16 = 0x40;
const TIMER_MODE: u16 = 0x43;
const FIRST_COMMAND: u16 = 0x20;
const FIRST_DATA: u16 = 0x21;
const SECOND_COMMAND: u16 = 0xa0;
const SECOND_DATA: u16 = 0xa1;

/// The vector of the first of the controllers' sixteen interrupts; those below are the processor's.
pub(crate) const FIRST_VECTOR: u8 = 32;

/// Oscillations of the interval timer in a second.
const TIMER_HERTZ: u32 = 1_193_182;

fn write(port: u16, value: u8) {
    // SAFETY: the ports of this module do nothing to memory.
    unsafe {
        asm!("out dx, al", in("dx") port, in("al") value, options(nomem, nostack, preserves_flags))
    };
}

/// Writes to the serial port. qemu's is ready at once.
pub(crate) struct Serial;

impl fmt::Write for Serial {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.bytes().for_each(|byte| write(SERIAL, byte));
        Ok(())
    }
}

/// Makes the timer interrupt so many times a second, at [`FIRST_VECTOR`], and masks all other
/// devices.
pub(crate) fn start_timer(hertz: u32) {
    // Both controllers: initialise, vectors from here on, how they are connected, 8086 mode.
    for (command, data, vector, connection) in [
        (FIRST_COMMAND, FIRST_DATA, FIRST_VECTOR, 4),
        (SECOND_COMMAND, SECOND_DATA, FIRST_VECTOR + 8, 2),
    ] {
        write(command, 0x11);
        write(data, vector);
        write(data, connection);
        write(data, 1);
    }
    // All but the timer masked.
    write(FIRST_DATA, !1);
    write(SECOND_DATA, !0);
    // Channel 0, both bytes, periodic.
    write(TIMER_MODE, 0x34);
    let [low, high, ..] = (TIMER_HERTZ / hertz).to_le_bytes();
    write(TIMER_CHANNEL, low);
    write(TIMER_CHANNEL, high);
}

/// Tells the controller that the timer's interrupt has been seen to.
pub(crate) fn end_of_interrupt() {
    write(FIRST_COMMAND, 0x20);
}

/// Ends qemu, whose own exit code will be `2 * code + 1`.
pub(crate) fn exit(code: u8) -> ! {
    write(EXIT, code);
    loop {
        core::hint::spin_loop();
    }
}
