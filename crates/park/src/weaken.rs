//! Mutants of whole statements, so that a loom model can be seen to fail.

/// Runs `$then` unless the mutant `$name` is planted.
macro_rules! unless_weakened {
    ($name:tt, $then:expr) => {
        if !terrace_sync::weakened!($name) {
            $then
        }
    };
}
