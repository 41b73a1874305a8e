//! Mutants: lines that `cfg(terrace_weaken = "…")` weakens, so that a loom model can be seen to fail.

/// Runs `$then` unless the mutant `$name` is being built.
macro_rules! unless_weakened {
    ($name:tt, $then:expr) => {
        if !cfg!(terrace_weaken = $name) {
            $then
        }
    };
}
