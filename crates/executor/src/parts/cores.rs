//! How many processors the process may use.

use std::thread::available_parallelism;

use terrace_sync::OnceLock;

terrace_sync::global! {
    /// Asked for once: the answer takes dozens of system calls.
    static CORES: OnceLock<usize> = OnceLock::new();
}

/// The number of processors at the first call; one if the system cannot tell.
pub(crate) fn cores() -> usize {
    *CORES.get_or_init(|| available_parallelism().map_or(1, usize::from))
}
