//! Mutants: lines that `cfg(terrace_weaken = "…")` weakens, so that a loom model can be seen to fail.

/// `$ordering`, or `Relaxed` in the mutant `$name`.
macro_rules! ordering {
    ($name:tt, $ordering:ident) => {
        if cfg!(terrace_weaken = $name) {
            ::terrace_sync::atomic::Ordering::Relaxed
        } else {
            ::terrace_sync::atomic::Ordering::$ordering
        }
    };
}
