//! What a deque asks its caller from time to time: how often to ask again, and whom to offer its jobs.

/// Which threads a deque's jobs are for. [`Pace`] has an example.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub enum Offer {
    /// No job is there.
    #[default]
    None = 0,
    /// The jobs are not worth another thread, unless they stand still: a sentinel takes them.
    Quiet = 1,
    /// The jobs are for any thread that searches. The owner answers requests.
    Open = 2,
}

impl Offer {
    /// The offer of a word that [`word`](Self::word) made.
    #[inline]
    pub(super) fn of(word: u32) -> Self {
        match word {
            0 => Self::None,
            1 => Self::Quiet,
            _ => Self::Open,
        }
    }

    #[inline]
    pub(super) fn word(self) -> u32 {
        self as u32
    }
}

/// The state of a deque when its owner considers. [`Consider`] has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Considered {
    /// Whether the push is the first one into an empty deque.
    pub first: bool,
    /// Whether a thief has asked for a job, and has got none yet.
    pub asked: bool,
    /// How many jobs the owner has pushed and not popped. If the caller pushes none while it considers, the pop of this job tells the
    /// same number.
    pub level: u32,
}

/// The answer of [`Consider::pace`].
///
/// # Examples
///
/// ```
/// use terrace_queue::fork::{Considered, ForkDeque, Gives, Offer, Pace};
///
/// let deque = ForkDeque::<usize>::boxed();
/// // SAFETY: one owner handle of this deque.
/// let me = unsafe { deque.owner() };
/// let quiet = |_: Considered| Pace { pushes: 8, offer: Offer::Quiet, gives: Gives::Asked };
/// let job = me.push(1, quiet).unwrap();
/// assert_eq!(deque.offer(), Offer::Quiet);
/// // SAFETY: it is the last job that was pushed.
/// let _mine = unsafe { me.pop(job) };
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The owner considers again with this push, counted from the next one: 1 is each push. 0 counts as 1. It also
    /// considers in the first push into an empty deque, and where slots run out.
    pub pushes: u32,
    /// Which threads the jobs are for until then.
    pub offer: Offer,
    /// Whether the owner gives its oldest job away with this push.
    pub gives: Gives,
}

/// When an owner gives its oldest job away. Any thread takes it then, without a fence.
///
/// # Examples
///
/// ```
/// use terrace_queue::fork::{Considered, ForkDeque, Gives, Offer, Pace};
///
/// let deque = ForkDeque::<usize>::boxed();
/// // SAFETY: one owner handle of this deque.
/// let me = unsafe { deque.owner() };
/// let give = |_: Considered| Pace { pushes: 1, offer: Offer::Open, gives: Gives::Unasked };
/// me.push(1, give).unwrap();
/// assert_eq!(deque.take_gift(), Some(1));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gives {
    /// If a thread has asked for one, and the jobs are [`Offer::Open`].
    Asked,
    /// In any case, if it has given none that lies untaken. The pop of such a job takes it back. 3 RMW of the owner.
    Unasked,
}

/// The caller's part of a push in which the owner considers. A closure from [`Considered`] to [`Pace`] is one.
///
/// # Examples
///
/// ```
/// use terrace_queue::fork::{Consider, Considered, ForkDeque, Gives, Offer, Pace};
///
/// /// Offers its jobs to all, and counts how often it would wake a thread.
/// struct Open<'w> {
///     wakes: &'w mut u32,
/// }
///
/// impl Consider for Open<'_> {
///     fn pace(&mut self, _: Considered) -> Pace {
///         Pace { pushes: 32, offer: Offer::Open, gives: Gives::Asked }
///     }
///
///     fn published(&mut self, now: Considered) {
///         *self.wakes += u32::from(now.first);
///     }
/// }
///
/// let deque = ForkDeque::<usize>::boxed();
/// // SAFETY: one owner handle of this deque.
/// let me = unsafe { deque.owner() };
/// let mut wakes = 0;
/// me.push(1, Open { wakes: &mut wakes }).unwrap();
/// me.push(2, Open { wakes: &mut wakes }).unwrap();
/// assert_eq!((wakes, deque.offer()), (1, Offer::Open));
/// ```
pub trait Consider {
    /// Called before the job is in the deque.
    ///
    /// A panic leaves the deque as it was. [`Consider`] has an example.
    fn pace(&mut self, now: Considered) -> Pace;

    /// Called when job, offer and gift are visible, apart from a fence: the place to fence and to wake sleepers.
    ///
    /// A panic aborts the process: the job lies on the frame that would unwind.
    /// [`Consider`] has an example.
    #[inline]
    fn published(&mut self, now: Considered) {
        let _ = now;
    }
}

impl<F: FnMut(Considered) -> Pace> Consider for F {
    #[inline]
    fn pace(&mut self, now: Considered) -> Pace {
        self(now)
    }
}
