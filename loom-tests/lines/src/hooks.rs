//! The functions that an instrumented program calls before, or in place of, its accesses to memory.
//!
//! LLVM's `ThreadSanitizer.cpp` has the list. Each is a jump to a function with the program's return address as sixth argument.

use std::arch::naked_asm;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::SeqCst, fence};

use crate::turns;

/// What an atomic access is.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Load,
    Store,
    Rmw,
}

fn note(address: usize, size: usize, is_write: bool, place: usize) {
    turns::with(|world, me| {
        let handed = world.directory.access(me, address, size, is_write, place);
        if world.is_counting {
            world.totals.lines += handed;
        }
    });
}

/// Lets the next thread run, and notes the access that follows.
fn atomic(address: usize, size: usize, kind: Kind, place: usize) {
    turns::step();
    note(address, size, kind != Kind::Load, place);
    turns::with(|world, _| {
        if world.is_counting {
            world.totals.rmws += u64::from(kind == Kind::Rmw);
        }
    });
}

/// The exported function `$name`, which jumps to `$to`.
macro_rules! jump {
    ($name:ident, $to:path) => {
        #[doc = "Called by instrumented code."]
#[unsafe(no_mangle)]
        #[unsafe(naked)]
        extern "C" fn $name() {
            naked_asm!("mov r9, [rsp]", "jmp {}", sym $to)
        }
    };
}

macro_rules! plain {
    ($($size:literal: $($read:ident)* / $($write:ident)*;)+) => {
        $(const _: () = {
            extern "C" fn read(address: usize, _: u64, _: u64, _: u64, _: u64, place: usize) {
                note(address, $size, false, place);
            }
            extern "C" fn write(address: usize, _: u64, _: u64, _: u64, _: u64, place: usize) {
                note(address, $size, true, place);
            }
            $(jump!($read, read);)*
            $(jump!($write, write);)*
        };)+
    };
}

plain! {
    1: __tsan_read1 / __tsan_write1;
    2: __tsan_read2 __tsan_unaligned_read2 / __tsan_write2 __tsan_unaligned_write2;
    4: __tsan_read4 __tsan_unaligned_read4 / __tsan_write4 __tsan_unaligned_write4;
    8: __tsan_read8 __tsan_unaligned_read8 __tsan_vptr_read / __tsan_write8 __tsan_unaligned_write8 __tsan_vptr_update;
    16: __tsan_read16 __tsan_unaligned_read16 / __tsan_write16 __tsan_unaligned_write16;
}

extern "C" fn copied(to: usize, from: usize, size: usize, _: u64, _: u64, place: usize) -> usize {
    if size > 0 {
        note(from, size, false, place);
        note(to, size, true, place);
    }
    // SAFETY: the program asked for this copy; of ranges that overlap, as memmove allows.
    unsafe { std::ptr::copy(from as *const u8, to as *mut u8, size) };
    to
}
jump!(__tsan_memcpy, copied);
jump!(__tsan_memmove, copied);

extern "C" fn filled(to: usize, byte: i32, size: usize, _: u64, _: u64, place: usize) -> usize {
    if size > 0 {
        note(to, size, true, place);
    }
    // SAFETY: the program asked for it.
    unsafe { std::ptr::write_bytes(to as *mut u8, byte as u8, size) };
    to
}
jump!(__tsan_memset, filled);

extern "C" fn nothing() {}
jump!(__tsan_init, nothing);
jump!(__tsan_func_entry, nothing);
jump!(__tsan_func_exit, nothing);
jump!(__tsan_atomic_signal_fence, nothing);

extern "C" fn fenced() {
    turns::step();
    fence(SeqCst);
}
jump!(__tsan_atomic_thread_fence, fenced);

macro_rules! atomics {
    ($($size:literal $value:ty, $atomic:ident: $load:ident $store:ident $exchange:ident $strong:ident $weak:ident $val:ident
        $add:ident $sub:ident $and:ident $or:ident $xor:ident $nand:ident;)+) => {
        $(const _: () = {
            type Place = usize;

            fn at<'p>(address: usize, kind: Kind, place: Place) -> &'p $atomic {
                atomic(address, $size, kind, place);
                // SAFETY: the program accesses this address as an atomic of this size.
                unsafe { $atomic::from_ptr(address as *mut $value) }
            }
            extern "C" fn load(a: usize, _: u64, _: u64, _: u64, _: u64, place: Place) -> $value {
                at(a, Kind::Load, place).load(SeqCst)
            }
            extern "C" fn store(a: usize, v: $value, _: u64, _: u64, _: u64, place: Place) {
                at(a, Kind::Store, place).store(v, SeqCst);
            }
            extern "C" fn exchange(a: usize, v: $value, _: u64, _: u64, _: u64, place: Place) -> $value {
                at(a, Kind::Rmw, place).swap(v, SeqCst)
            }
            extern "C" fn val(a: usize, old: $value, new: $value, _: u64, _: u64, place: Place) -> $value {
                let result = at(a, Kind::Rmw, place).compare_exchange(old, new, SeqCst, SeqCst);
                result.unwrap_or_else(|found| found)
            }
            extern "C" fn strong(a: usize, old: *mut $value, new: $value, _: u64, _: u64, place: Place) -> bool {
                // SAFETY: the program's own variable.
                let wanted = unsafe { old.read() };
                let result = at(a, Kind::Rmw, place).compare_exchange(wanted, new, SeqCst, SeqCst);
                if let Err(found) = result {
                    // SAFETY: as above.
                    unsafe { old.write(found) };
                }
                result.is_ok()
            }
            jump!($load, load);
            jump!($store, store);
            jump!($exchange, exchange);
            jump!($val, val);
            jump!($strong, strong);
            jump!($weak, strong);
            atomics!(@ $value, $add fetch_add, $sub fetch_sub, $and fetch_and, $or fetch_or, $xor fetch_xor, $nand fetch_nand);
        };)+
    };
    (@ $value:ty, $($name:ident $op:ident),+) => {$(
        const _: () = {
            extern "C" fn op(a: usize, v: $value, _: u64, _: u64, _: u64, place: Place) -> $value {
                at(a, Kind::Rmw, place).$op(v, SeqCst)
            }
            jump!($name, op);
        };
    )+};
}

atomics! {
    1 u8, AtomicU8: __tsan_atomic8_load __tsan_atomic8_store __tsan_atomic8_exchange
        __tsan_atomic8_compare_exchange_strong __tsan_atomic8_compare_exchange_weak __tsan_atomic8_compare_exchange_val
        __tsan_atomic8_fetch_add __tsan_atomic8_fetch_sub __tsan_atomic8_fetch_and __tsan_atomic8_fetch_or
        __tsan_atomic8_fetch_xor __tsan_atomic8_fetch_nand;
    2 u16, AtomicU16: __tsan_atomic16_load __tsan_atomic16_store __tsan_atomic16_exchange
        __tsan_atomic16_compare_exchange_strong __tsan_atomic16_compare_exchange_weak __tsan_atomic16_compare_exchange_val
        __tsan_atomic16_fetch_add __tsan_atomic16_fetch_sub __tsan_atomic16_fetch_and __tsan_atomic16_fetch_or
        __tsan_atomic16_fetch_xor __tsan_atomic16_fetch_nand;
    4 u32, AtomicU32: __tsan_atomic32_load __tsan_atomic32_store __tsan_atomic32_exchange
        __tsan_atomic32_compare_exchange_strong __tsan_atomic32_compare_exchange_weak __tsan_atomic32_compare_exchange_val
        __tsan_atomic32_fetch_add __tsan_atomic32_fetch_sub __tsan_atomic32_fetch_and __tsan_atomic32_fetch_or
        __tsan_atomic32_fetch_xor __tsan_atomic32_fetch_nand;
    8 u64, AtomicU64: __tsan_atomic64_load __tsan_atomic64_store __tsan_atomic64_exchange
        __tsan_atomic64_compare_exchange_strong __tsan_atomic64_compare_exchange_weak __tsan_atomic64_compare_exchange_val
        __tsan_atomic64_fetch_add __tsan_atomic64_fetch_sub __tsan_atomic64_fetch_and __tsan_atomic64_fetch_or
        __tsan_atomic64_fetch_xor __tsan_atomic64_fetch_nand;
}

/// Notes the write of a futex's word that `std` made before a call of the kernel.
pub(crate) fn futex(address: usize) {
    note(address, 4, true, 0);
}
