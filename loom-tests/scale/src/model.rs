//! What `terrace-lines` offers to the program that it watches. None of it costs a cache line.

#[cfg(terrace_lines)]
mod lines {
    // SAFETY: `loom-tests/lines/src/api.rs` has these functions, with these types.
    unsafe extern "C" {
        pub(crate) safe fn lines_begin();
        pub(crate) unsafe fn lines_end(name: *const u8, length: usize, operations: u64);
        pub(crate) safe fn lines_note(count: u64);
        pub(crate) safe fn lines_wait(wanted: u64);
        pub(crate) safe fn lines_notes() -> u64;
        pub(crate) safe fn lines_compute(steps: u64);
        pub(crate) safe fn lines_settle();
    }
}

/// Without the model the program counts nothing, and no thread waits.
#[cfg(not(terrace_lines))]
mod lines {
    pub(crate) fn lines_begin() {}
    /// # Safety
    /// It has no premise.
    pub(crate) unsafe fn lines_end(_: *const u8, _: usize, _: u64) {}
    pub(crate) fn lines_note(_: u64) {}
    pub(crate) fn lines_wait(_: u64) {}
    pub(crate) fn lines_notes() -> u64 {
        0
    }
    pub(crate) fn lines_compute(_: u64) {}
    pub(crate) fn lines_settle() {}
}

/// Counts from here on.
pub(crate) use lines::lines_begin as begin;
/// Computes for some steps of 10 ns.
pub(crate) use lines::lines_compute as compute;
/// Notes so many more.
pub(crate) use lines::lines_note as note;
/// How many notes were made.
pub(crate) use lines::lines_notes as notes;
/// Waits until no other thread can run.
pub(crate) use lines::lines_settle as settle;
/// Waits until so many notes were made since the program started.
pub(crate) use lines::lines_wait as wait;

/// Prints what was counted since `begin`, for so many operations.
pub(crate) fn end(name: &str, operations: usize) {
    // SAFETY: pointer and length are those of one text.
    unsafe { lines::lines_end(name.as_ptr(), name.len(), operations as u64) };
}
