//! Models of the whole scheduler: the pool's real code with all its threads, under schedules chosen at random.
//!
//! loom's models (`loom-tests`) check orderings with two or three threads in every interleaving. These are the other
//! half: eight workers, and threads that spawn, wake and wait beside them. They run in thousands of random schedules,
//! and as many chosen by priorities (PCT), all sequentially consistent. They are evidence against deadlocks and work
//! lost in a hand-over.
//!
//! A model is an ordinary test whose body runs in [`explore()`]; `cargo xtask shuttle` builds and runs them, on `std`
//! they are small stress tests. A body is deterministic but for its schedule: time is modelled
//! (`terrace_sync::time`), thread-locals and statics are made anew in each execution.

mod explore;
mod gate;
mod tally;

pub use explore::{explore, pause};
pub use gate::{Gate, Passing};
pub use tally::{Tally, Ticket};
