//! Unit tests of `src/biased`, which see its words.

mod counts;
// One thread plays all sides, so sanitizers have nothing to see.
#[cfg(not(any(terrace_asan, terrace_tsan)))]
mod explore;
