//! Models of `terrace-park`: two workers and the threads that wake them. Each is run with one group of two and with two
//! groups of one where that makes a difference.
//!
//! They run as plain stress tests without `--cfg terrace_loom`.

mod drivers;
mod fixture;
mod hold;
mod life;
mod parker;
mod polled;
mod restricted;
mod sentinel;
mod wake;
mod wake_worker;
