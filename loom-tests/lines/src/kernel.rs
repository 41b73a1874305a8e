//! Calls of the kernel by the instruction, since the program's own go through [`calls`](crate::calls).

use std::arch::asm;
use std::sync::atomic::AtomicU32;

/// Calls the kernel.
///
/// # Safety
/// As the call that `number` and `args` make.
pub(crate) unsafe fn call(number: libc::c_long, args: [usize; 6]) -> isize {
    let result: isize;
    // SAFETY: the kernel changes these registers only; of memory, what the caller answers for.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") args[0], in("rsi") args[1], in("rdx") args[2],
            in("r10") args[3], in("r8") args[4], in("r9") args[5],
            lateout("rcx") _, lateout("r11") _,
            options(nostack)
        );
    }
    result
}

/// Sleeps while the word is `value`, or until some later moment.
pub(crate) fn sleep(word: &AtomicU32, value: u32) {
    let args = [word.as_ptr().addr(), 128, value as usize, 0, 0, 0];
    // SAFETY: a FUTEX_WAIT of this process; it reads the word, which lives as long as the borrow.
    unsafe { call(libc::SYS_futex, args) };
}

/// Wakes the thread that sleeps on the word.
pub(crate) fn wake(word: &AtomicU32) {
    let args = [word.as_ptr().addr(), 129, 1, 0, 0, 0];
    // SAFETY: a FUTEX_WAKE of this process, which reads no memory.
    unsafe { call(libc::SYS_futex, args) };
}

/// Puts the calling thread, and those that it starts, on the processor that `choice` names among those allowed: a turn then changes hands fast.
pub(crate) fn pin(choice: u64) {
    let mut set = [0_u64; 16];
    let address = |set: &mut [u64; 16]| [0, size_of_val(set), set.as_mut_ptr().addr(), 0, 0, 0];
    // SAFETY: it writes the set only, whose size it is told.
    unsafe { call(libc::SYS_sched_getaffinity, address(&mut set)) };
    let has = |at: &usize| set[at / 64] & 1 << (at % 64) != 0;
    let all = Vec::from_iter((0..1024).filter(has));
    if let Some(at) = all.get(choice as usize % all.len().max(1)) {
        let mut one = [0; 16];
        one[at / 64] = 1 << (at % 64);
        // SAFETY: it reads the set only, whose size it is told.
        unsafe { call(libc::SYS_sched_setaffinity, address(&mut one)) };
    }
}

/// Ends the process with a message.
pub(crate) fn die(message: &str) -> ! {
    let text = format!("lines: {message}\n");
    let args = [2, text.as_ptr().addr(), text.len(), 0, 0, 0];
    // SAFETY: it reads the text only.
    unsafe { call(libc::SYS_write, args) };
    // SAFETY: no code of this process runs after the call.
    unsafe { call(libc::SYS_exit_group, [101, 0, 0, 0, 0, 0]) };
    unreachable!("the process has ended")
}
