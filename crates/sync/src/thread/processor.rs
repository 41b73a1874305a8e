//! On which processor a thread was: a hint.

use core::sync::atomic::{AtomicU32, Ordering};

/// The processor on which a thread was when it called [`note`](Self::note).
///
/// Linux tells a thread its processor by a load of the thread's own memory (`rseq(2)`), or by the vDSO. On other systems, and
/// under a checker, no processor is known.
///
/// # Examples
///
/// ```
/// use terrace_sync::thread::LastProcessor;
///
/// let last = LastProcessor::new();
/// assert!(!last.is_here(), "no thread has called `note`");
/// last.note();
/// ```
#[derive(Debug)]
pub struct LastProcessor(AtomicU32);

/// No processor was noted, or the system does not tell.
const UNKNOWN: u32 = u32::MAX;

impl LastProcessor {
    /// No thread has called `note`. The [type](Self) has an example.
    #[must_use = "it knows nothing until it is asked"]
    pub const fn new() -> Self {
        Self(AtomicU32::new(UNKNOWN))
    }

    /// Notes where the calling thread is. The [type](Self) has an example.
    #[inline]
    pub fn note(&self) {
        // Ordering: Relaxed, a hint.
        self.0.store(processor(), Ordering::Relaxed);
    }

    /// Whether the thread that called `note` last was on the processor on which the calling thread is now. False if that is not
    /// known. The [type](Self) has an example.
    #[inline]
    pub fn is_here(&self) -> bool {
        // Ordering: Relaxed, a hint.
        let noted = self.0.load(Ordering::Relaxed);
        noted != UNKNOWN && noted == processor()
    }
}

impl Default for LastProcessor {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(all(target_os = "linux", not(any(terrace_loom, terrace_shuttle, miri))))]
fn processor() -> u32 {
    // SAFETY: this call has no argument, and neither reads nor writes memory of ours.
    let number = unsafe { libc::sched_getcpu() };
    // It is negative where the kernel lacks the call.
    u32::try_from(number).unwrap_or(UNKNOWN)
}

#[cfg(not(all(target_os = "linux", not(any(terrace_loom, terrace_shuttle, miri)))))]
fn processor() -> u32 {
    UNKNOWN
}

#[cfg(all(
    test,
    target_os = "linux",
    not(any(terrace_loom, terrace_shuttle, miri))
))]
mod tests {
    use terrace_testing::{on_own_thread, processors};

    use super::*;

    #[test]
    fn a_processor_is_here_or_elsewhere() {
        on_own_thread(|| {
            let last = LastProcessor::new();
            let mut stays = 0;
            for _ in processors() {
                // Noted on the processor before, or not at all.
                assert!(!last.is_here(), "{last:?}");
                last.note();
                assert!(last.is_here(), "{last:?}");
                stays += 1;
            }
            assert!(stays > 0, "the thread may run somewhere");
        });
    }
}
