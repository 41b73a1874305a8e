//! Benchmarks of the Terrace layers, one file a layer, in `benches/`.
//!
//! A bench is called `layer/workload/contender/parameter`. The workloads of a file are generic over a
//! contender trait, so that ours and the peers run the same code. Pools have [`THREADS`] threads.

/// Threads of every pool that is benched.
pub const THREADS: usize = 2;
