//! The limits of eager spawns, of all executors.

/// An eager child is queued if the thread is in the middle of so many polls of the executor. So a chain of eager children, each
/// spawned by the one before, takes a bounded part of the stack.
pub const DEEPEST: usize = 16;

/// Of the eager children that are spawned in one turn of an executor, each one after so many is queued. So a task that spawns
/// eager children in a loop, and awaits them, gives others their turn. A `run` future gives other futures of its thread their
/// turn after as many polls.
pub const A_TURN: u32 = 200;
