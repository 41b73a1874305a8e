//! [`ThreadPool`](terrace_fork::ThreadPool): in a `static` and owned, of any size, from any thread.

mod broadcasts;
mod examples;
mod random;
mod raw;
mod resizes;
mod verbs;
