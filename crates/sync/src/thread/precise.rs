//! Timed sleeps that end on time.

use core::marker::PhantomData;

/// While it lives, timed sleeps of the thread that made it end on time.
///
/// Linux joins the ends of sleeps that lie up to 50 us apart: the *timer slack* of a thread (`PR_SET_TIMERSLACK` of `prctl(2)`).
/// This sets it to 1 ns, and its drop sets it back. On other systems, and under a checker, it does nothing.
///
/// Cost: two system calls to make it, one to drop it; a tenth of a microsecond each.
///
/// # Examples
///
/// ```
/// let precise = terrace_sync::thread::PreciseSleeps::begin();
/// terrace_sync::thread::park_timeout(std::time::Duration::from_micros(10));
/// drop(precise);
/// ```
#[derive(Debug)]
#[must_use = "sleeps are precise until it is dropped"]
pub struct PreciseSleeps {
    /// The slack that the thread had before, in ns; `None` where the system did not tell.
    before: Option<slack::Nanos>,
    /// It belongs to its thread.
    _thread: PhantomData<*const ()>,
}

impl PreciseSleeps {
    /// From now on the calling thread sleeps precisely. The [type](Self) has an example.
    pub fn begin() -> Self {
        let before = slack::get();
        if before.is_some() {
            slack::set(slack::LEAST);
        }
        Self {
            before,
            _thread: PhantomData,
        }
    }
}

impl Drop for PreciseSleeps {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            slack::set(before);
        }
    }
}

#[cfg(all(target_os = "linux", not(any(terrace_loom, terrace_shuttle, miri))))]
mod slack {
    pub(super) type Nanos = libc::c_ulong;

    /// Zero would set the default back.
    pub(super) const LEAST: Nanos = 1;

    pub(super) fn get() -> Option<Nanos> {
        // SAFETY: this call takes no further argument, and neither reads nor writes memory of ours.
        let slack = unsafe { libc::prctl(libc::PR_GET_TIMERSLACK) };
        Nanos::try_from(slack).ok().filter(|&slack| slack > 0)
    }

    pub(super) fn set(slack: Nanos) {
        // SAFETY: this call takes a number, and neither reads nor writes memory of ours. It cannot fail for the calling thread.
        let _always_zero = unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, slack) };
    }
}

#[cfg(not(all(target_os = "linux", not(any(terrace_loom, terrace_shuttle, miri)))))]
mod slack {
    //! There is none.

    pub(super) type Nanos = u64;
    pub(super) const LEAST: Nanos = 1;

    pub(super) fn get() -> Option<Nanos> {
        None
    }

    pub(super) fn set(_: Nanos) {}
}

#[cfg(all(
    test,
    target_os = "linux",
    not(any(terrace_loom, terrace_shuttle, miri))
))]
mod tests {
    use super::{PreciseSleeps, slack};

    #[test]
    fn the_slack_of_the_thread_is_put_back() {
        slack::set(12_345);
        {
            let _outer = PreciseSleeps::begin();
            assert_eq!(slack::get(), Some(slack::LEAST));
            {
                let _inner = PreciseSleeps::begin();
                assert_eq!(slack::get(), Some(slack::LEAST));
            }
            assert_eq!(slack::get(), Some(slack::LEAST));
        }
        assert_eq!(slack::get(), Some(12_345));
    }
}
