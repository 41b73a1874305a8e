//! Whether it pays to wake a worker for the children of a scope, or for a job of a join: what a pool knows about the scopes of one kind,
//! and about the joins of one call-site.
//!
//! Waking a thread costs the waker a system call of a few microseconds, and the woken thread comes tens of microseconds
//! later. Tiny children are gone by then, and two cores that fight over them finish later than one alone. So a push wakes a
//! worker where two things say together that it pays: how long children took lately, and how many are queued. The sentinel
//! (`work/sentinel.rs`) covers the children that stay with the waiting thread. So a wrong guess that children are short costs
//! little more than a wake, and a wrong guess that they are long costs one.
//!
//! The kind of a scope is the type of its body: scopes of one kind are expected to take about as long as each other. The call-site of a
//! join is the function that runs its forked half. A site starts long, so coarse joins are parallel at once. While it is tiny, each 16th
//! of its joins is timed, since a join of two loads takes a nanosecond.
//!
//! # The beat
//!
//! How often the sentinel looks at scopes and slots.
//!
//! While a scope is open and a core is free, one sentinel looks at its list on a *beat*, to take a child that the scope's own
//! thread does not come to. A look costs the sentinel's core about 5 us and the scope's thread nothing. The beat begins at
//! [`BEAT`]. Each look in vain makes it a [`GROWTH`]th longer, up to [`PERIOD`]; a child that was found makes it
//! short again. So the beat is a fixed part of the time since the last such child. The delay of the next one, up to a beat and
//! a look, is at most that part of the time that went before it. This is the argument of doubling searches: the sum of all
//! delays stays below a 64th of the run, plus one shortest beat for each child found.

use std::hash::{Hash, Hasher};
use std::time::Duration;

use terrace_sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use terrace_sync::time::Instant;

use crate::tuned::{
    self, BEAT, CALL, GROWTH, OUTLASTS_WAKES, PERIOD, TIMED, TINY_BATCH, TOLD_APART, WAKE,
    WORTH_TAKING,
};

/// The estimate before anything was measured: long, so that the first scopes wake workers.
const UNKNOWN: u32 = 2 * tuned::nanos(WAKE);

/// What a pool knows about the children and bodies of one kind of scopes.
pub(crate) struct Pacing {
    /// Decaying mean of a child's run time, in ns.
    child: AtomicU32,
    /// Decaying mean of the time that a scope's body takes, in ns.
    body: AtomicU32,
}

impl Pacing {
    pub(crate) fn new() -> Self {
        Self {
            child: AtomicU32::new(UNKNOWN),
            body: AtomicU32::new(0),
        }
    }

    /// The estimate for one child, in ns.
    #[inline]
    pub(crate) fn child_ns(&self) -> u32 {
        // Ordering: Relaxed, a statistic; so are all accesses in this file.
        self.child.load(Ordering::Relaxed)
    }

    /// Whether an awake worker should take a child from a waiter that is driving.
    #[inline]
    pub(crate) fn worth_taking(&self) -> bool {
        self.child_ns() >= tuned::nanos(WORTH_TAKING)
    }

    /// Whether a wake is little beside a child. Then the scope's thread, and a worker that ran a child, sleep without a look around.
    #[inline]
    pub(crate) fn outlasts_wakes(&self) -> bool {
        self.child_ns() >= tuned::nanos(OUTLASTS_WAKES)
    }

    /// Whether `queued` children are worth the wake of a worker.
    #[inline]
    pub(crate) fn worth_waking(&self, queued: usize) -> bool {
        let child = self.child_ns();
        let outweighs = u64::from(child) * queued as u64 >= u64::from(tuned::nanos(WAKE));
        child >= tuned::nanos(WORTH_TAKING) && outweighs
    }

    /// Whether the bodies of scopes tend to take long, so that their thread does not count as one that will soon
    /// run children.
    #[inline]
    pub(crate) fn body_is_long(&self) -> bool {
        self.body.load(Ordering::Relaxed) >= tuned::nanos(WAKE)
    }

    fn observe_child(&self, sample: u32) {
        // An awake worker that takes children too early does less harm than one that leaves them.
        let new = decayed(self.child_ns(), sample, 2, 8);
        self.child.store(new, Ordering::Relaxed);
    }

    /// Notes how long a body took, and returns when it ended: now.
    pub(crate) fn observe_body(&self, since: Instant) -> Instant {
        let end = Instant::now();
        let sample = nanos(end - since);
        let new = decayed(self.body.load(Ordering::Relaxed), sample, 4, 4);
        self.body.store(new, Ordering::Relaxed);
        end
    }
}

fn nanos(time: Duration) -> u32 {
    u32::try_from(time.as_nanos()).unwrap_or(u32::MAX)
}

/// The decaying mean `old` after one more `sample`: it rises by one `rise`th of the difference, or falls by one `fall`th.
fn decayed(old: u32, sample: u32, rise: u32, fall: u32) -> u32 {
    if sample > old {
        old + (sample - old).div_ceil(rise)
    } else {
        old - (old - sample).div_ceil(fall)
    }
}

/// Times the children that one thread runs in a row.
pub(crate) struct Stopwatch {
    since: Instant,
    run: u32,
}

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self::start_at(Instant::now())
    }

    /// As [`start`](Self::start), with a reading of the clock that was just made.
    pub(crate) fn start_at(since: Instant) -> Self {
        Self { since, run: 0 }
    }

    /// Counts one child. True if the estimate was brought up to date, so that it is time to ask
    /// again whether the rest deserves a wake.
    #[inline]
    pub(crate) fn child_ran(&mut self, pacing: &Pacing) -> bool {
        self.run += 1;
        if !pacing.worth_taking() && self.run < TINY_BATCH {
            return false;
        }
        let now = Instant::now();
        pacing.observe_child(nanos(now - self.since) / self.run);
        self.since = now;
        self.run = 0;
        true
    }
}

/// The kind of a scope, as one of 64 numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScopeKind(pub(super) u32);

impl ScopeKind {
    /// The kind of scopes whose body is of type `F`, by whatever lifetimes.
    #[inline]
    #[must_use = "the call only reads a value"]
    pub fn of<F>() -> Self {
        Self((type_hash::<F>() >> (u64::BITS - TOLD_APART.ilog2())) as u32)
    }
}

/// A hash of the type `F`, by whatever lifetimes. A constant, after inlining.
#[inline]
#[must_use = "the call only reads a value"]
pub fn type_hash<F>() -> u64 {
    let mut hash = TypeHash(0);
    typeid::of::<F>().hash(&mut hash);
    hash.finish()
}

/// Takes the id of a type as it is, which is a hash already.
struct TypeHash(u64);

impl Hasher for TypeHash {
    #[inline]
    fn write_u64(&mut self, word: u64) {
        self.0 ^= word;
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

/// The longest mean: four seconds.
const MOST: u32 = u32::MAX - 1;

/// How long the inline halves of a pool's joins take, for each call-site.
///
/// | bits of an entry | content |
/// |---|---|
/// | 31..0 | decaying mean in nanoseconds, and 1; 0 if the site is unknown |
/// | 63..32 | joins |
pub(crate) struct Sites([AtomicU64; TOLD_APART]);

/// How long the joins of a site are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    /// Too short to be handed to a thread that does not search.
    Tiny,
    /// Long enough for a thread that is awake.
    Fair,
    /// Worth the wake of a sleeper.
    Long,
}

/// What a first push does about its site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Visit {
    pub(crate) length: Length,
    /// Whether the join is to be timed.
    pub(crate) is_timed: bool,
}

impl Sites {
    pub(crate) fn new() -> Self {
        Self(std::array::from_fn(|_| AtomicU64::new(0)))
    }

    fn entry(&self, site: usize) -> &AtomicU64 {
        // Functions are aligned, and near each other: the multiplier spreads the bits.
        let hash = (site >> 4).wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as usize);
        &self.0[hash >> (usize::BITS - TOLD_APART.ilog2())]
    }

    /// A first push of `site`.
    pub(crate) fn visit(&self, site: usize) -> Visit {
        let entry = self.entry(site);
        // Ordering: Relaxed, all: hints. Of two updates at once one may be lost.
        let word = entry.load(Ordering::Relaxed);
        entry.store(word.wrapping_add(1 << 32), Ordering::Relaxed);
        let length = match mean(word) {
            Some(mean) if mean < tuned::nanos(CALL) => Length::Tiny,
            Some(mean) if mean < tuned::nanos(WAKE) => Length::Fair,
            _ => Length::Long,
        };
        Visit {
            length,
            is_timed: length != Length::Tiny || (word >> 32) % u64::from(TIMED) == 0,
        }
    }

    /// The inline half of a join of `site` took so long.
    pub(crate) fn note(&self, site: usize, took: Duration) {
        let entry = self.entry(site);
        let word = entry.load(Ordering::Relaxed);
        let took = nanos(took).min(MOST);
        let new = mean(word).map_or(took, |mean| decayed(mean, took, 2, 8));
        entry.store(word >> 32 << 32 | u64::from(new + 1), Ordering::Relaxed);
    }
}

/// The mean of an entry, in nanoseconds.
fn mean(word: u64) -> Option<u32> {
    (word as u32).checked_sub(1)
}

/// No worker has the beat.
const NONE: usize = 0;

/// The beat of a pool.
pub(crate) struct Beat {
    /// In ns.
    period: AtomicU32,
    /// [`NONE`], or the number plus one of the sentinel that looks on the beat.
    holder: AtomicUsize,
}

impl Default for Beat {
    fn default() -> Self {
        Self {
            period: AtomicU32::new(tuned::nanos(BEAT)),
            holder: AtomicUsize::new(NONE),
        }
    }
}

impl Beat {
    /// The time between two looks.
    pub(crate) fn period(&self) -> Duration {
        // Ordering: Relaxed, a matter of speed; so are all accesses in this file.
        Duration::from_nanos(self.period.load(Ordering::Relaxed).into())
    }

    /// As [`period`](Self::period), doubled so many times, and at most [`PERIOD`].
    pub(crate) fn period_doubled(&self, times: u32) -> Duration {
        (self.period() * (1 << times.min(6))).min(PERIOD)
    }

    /// A look has found nothing.
    pub(crate) fn look_in_vain(&self) {
        let period = self.period.load(Ordering::Relaxed);
        let longer = (period + period / GROWTH).min(tuned::nanos(PERIOD));
        self.period.store(longer, Ordering::Relaxed);
    }

    /// A look has found a child.
    pub(crate) fn found(&self) {
        self.period.store(tuned::nanos(BEAT), Ordering::Relaxed);
    }

    /// Whether the sentinel `worker` has the beat, or takes it now: of two sentinels one does.
    pub(crate) fn claim(&self, worker: usize) -> bool {
        let own = worker + 1;
        self.holder.load(Ordering::Relaxed) == own
            || self
                .holder
                .compare_exchange(NONE, own, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }

    /// The sentinel `worker` gives the beat up, if it has it.
    pub(crate) fn leave(&self, worker: usize) {
        if self.holder.load(Ordering::Relaxed) == worker + 1 {
            self.holder.store(NONE, Ordering::Relaxed);
        }
    }
}

#[cfg(all(test, not(any(terrace_loom, terrace_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn unknown_children_are_worth_a_wake() {
        assert!(Pacing::new().worth_waking(1));
    }

    #[test]
    fn tiny_children_stop_waking_and_one_long_one_starts_it_again() {
        let pacing = Pacing::new();
        for _ in 0..200 {
            pacing.observe_child(100);
        }
        assert!(
            !pacing.worth_waking(1_000_000) && !pacing.worth_taking() && !pacing.outlasts_wakes()
        );
        for _ in 0..2 {
            pacing.observe_child(100_000);
        }
        assert!(pacing.worth_waking(1) && !pacing.outlasts_wakes());
        for _ in 0..4 {
            pacing.observe_child(400_000);
        }
        assert!(pacing.outlasts_wakes());
    }

    #[test]
    fn the_estimate_reaches_what_is_observed() {
        let pacing = Pacing::new();
        for sample in [0, u32::MAX, 7] {
            for _ in 0..400 {
                pacing.observe_child(sample);
            }
            assert_eq!(pacing.child_ns(), sample);
        }
    }

    #[test]
    fn types_are_of_many_kinds_and_lifetimes_of_one() {
        fn of_value<F>(_: &F) -> ScopeKind {
            ScopeKind::of::<F>()
        }

        let local = String::new();
        let borrows = &local;
        assert_eq!(of_value(&borrows), ScopeKind::of::<&'static String>());
        let kinds = [
            ScopeKind::of::<u8>(),
            ScopeKind::of::<u16>(),
            ScopeKind::of::<u32>(),
            ScopeKind::of::<u64>(),
            of_value(&|| borrows.len()),
            of_value(&|| borrows.is_empty()),
        ];
        assert!(kinds.iter().all(|kind| (kind.0 as usize) < TOLD_APART));
        assert!(kinds.iter().any(|kind| *kind != kinds[0]));
    }

    #[test]
    fn a_site_starts_long_and_becomes_tiny() {
        let sites = Sites::new();
        let site = 0x1230;
        assert_eq!(
            sites.visit(site),
            Visit {
                length: Length::Long,
                is_timed: true
            }
        );
        sites.note(site, Duration::from_nanos(200));
        let timed = (0..64).filter(|_| sites.visit(site).is_timed).count();
        assert_eq!(timed, 4, "each 16th");
        assert_eq!(sites.visit(site).length, Length::Tiny);
    }

    #[test]
    fn a_tiny_site_whose_job_stood_still_is_long_again() {
        let sites = Sites::new();
        sites.note(16, Duration::ZERO);
        sites.note(16, PERIOD);
        assert_eq!(sites.visit(16).length, Length::Long);
        sites.note(16, Duration::MAX);
        assert_eq!(sites.visit(16).length, Length::Long);
    }
}

#[cfg(all(test, not(terrace_loom)))]
mod beat_tests {
    use super::*;

    /// However long nothing is found, a beat is at most a 64th of that time, or the shortest.
    #[test]
    fn the_beat_is_a_part_of_the_time_since_the_last_child() {
        let beat = Beat::default();
        let mut since = Duration::ZERO;
        for _ in 0..1_000 {
            assert!(beat.period() <= BEAT + since / GROWTH);
            since += beat.period();
            beat.look_in_vain();
        }
        assert_eq!(beat.period(), PERIOD);
        beat.look_in_vain();
        assert_eq!(beat.period(), PERIOD);
        beat.found();
        assert_eq!(beat.period(), BEAT);
        assert_eq!(beat.period_doubled(2), 4 * BEAT);
        assert_eq!(beat.period_doubled(1_000), PERIOD);
    }

    #[test]
    fn one_sentinel_has_the_beat() {
        let beat = Beat::default();
        assert!(beat.claim(3) && beat.claim(3) && !beat.claim(0));
        beat.leave(0);
        assert!(!beat.claim(0));
        beat.leave(3);
        assert!(beat.claim(0));
    }
}
