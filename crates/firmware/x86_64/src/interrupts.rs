//! The interrupt table: the timer's handler, and a stop for everything else.

use core::arch::{asm, global_asm};
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::port;

/// How many handlers are running: 0 or 1, as they run with interrupts off.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

global_asm!(
    r#"
    .section .text.interrupts, "ax"
    .global timer_entry
timer_entry:
    push rax
    push rcx
    push rdx
    push rsi
    push rdi
    push r8
    push r9
    push r10
    push r11
    // The processor aligned the stack and pushed five words, here are nine more: aligned again.
    cld
    call {timer}
    pop r11
    pop r10
    pop r9
    pop r8
    pop rdi
    pop rsi
    pop rdx
    pop rcx
    pop rax
    iretq

    .global fault_entry
fault_entry:
    and rsp, -16
    call {fault}
    "#,
    timer = sym timer,
    fault = sym fault,
);

unsafe extern "C" {
    fn timer_entry();
    fn fault_entry();
}

extern "C" fn timer() {
    RUNNING.fetch_add(1, Ordering::Relaxed);
    terrace_firmware_suite::tick();
    RUNNING.fetch_sub(1, Ordering::Relaxed);
    port::end_of_interrupt();
}

extern "C" fn fault() -> ! {
    panic!("an exception of the processor, or an interrupt that nobody asked for");
}

/// How many handlers are running.
pub(crate) fn running() -> usize {
    RUNNING.load(Ordering::Relaxed)
}

const VECTORS: usize = 256;

#[repr(align(16))]
struct Table(UnsafeCell<[[u64; 2]; VECTORS]>);

// SAFETY: written by `install` before interrupts are on, read by the processor.
unsafe impl Sync for Table {}

static TABLE: Table = Table(UnsafeCell::new([[0; 2]; VECTORS]));

#[repr(C, packed)]
struct Pointer {
    limit: u16,
    base: u64,
}

/// An entry: present, an interrupt gate of 64 bits, code segment 8.
fn gate(handler: unsafe extern "C" fn()) -> [u64; 2] {
    let address = handler as usize as u64;
    let low = address & 0xffff | 8 << 16 | 0x8e << 40 | (address >> 16 & 0xffff) << 48;
    [low, address >> 32]
}

/// Fills the table, starts the timer, and turns interrupts on. Once.
pub(crate) fn install(hertz: u32) {
    let mut table = [gate(fault_entry); VECTORS];
    table[usize::from(port::FIRST_VECTOR)] = gate(timer_entry);
    // SAFETY: interrupts are off and this runs once, so no other code reads or writes the table.
    unsafe { TABLE.0.get().write(table) };
    let pointer = Pointer {
        limit: (size_of::<Table>() - 1) as u16,
        base: TABLE.0.get() as u64,
    };
    // SAFETY: the table is a static, and its entries are handlers.
    unsafe { asm!("lidt [{}]", in(reg) &pointer, options(readonly, nostack, preserves_flags)) };
    port::start_timer(hertz);
    on();
}

fn on() {
    // SAFETY: the table is installed.
    unsafe { asm!("sti", options(nostack, nomem)) };
}

/// Waits for an interrupt unless `awake` says that there is no need to; no interrupt runs between its answer and the wait.
pub(crate) fn wait_unless(awake: impl FnOnce() -> bool) -> bool {
    // SAFETY: they are turned on again below.
    unsafe { asm!("cli", options(nostack, nomem)) };
    let sleeps = !awake();
    if sleeps {
        // SAFETY: `sti` takes effect after the instruction that follows it.
        unsafe { asm!("sti", "hlt", options(nostack, nomem)) };
    } else {
        on();
    }
    sleeps
}
