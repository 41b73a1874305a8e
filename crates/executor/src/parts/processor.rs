//! Which threads have a processor, and how long a thread without work keeps its own.
//!
//! | the thread                                              | and then                                                    |
//! |---------------------------------------------------------|-------------------------------------------------------------|
//! | is about to sleep                                       | looks around first, by [`spin`], for as long as it has patience |
//! | has slept again and again for a few tasks ([`Naps`])    | looks around for longer                                     |
//! | takes from a stream of single tasks ([`Gather`])        | lets some gather before it takes the next                   |
//! | is busy, as are more threads than processors ([`Rotation`]) | gives its processor up between two tasks                 |
//!
//! All of it is a matter of speed: no thread waits for another one here.
//!
//! # Naps
//!
//! Short sleeps of a worker or driver, and when a longer look around is worth more than the next one.
//!
//! A thread that spawns one task and awaits it sleeps once an iteration, and so does the worker that runs the task. Each wakes
//! the other, and each wake costs the sleeper's way back to a processor: tens of microseconds, most of them on a halted one.
//! If the worker is still looking around when the other thread spawns again, one of the two sleeps falls away.
//!
//! | the worker has                                                         | its next look                         |
//! |------------------------------------------------------------------------|---------------------------------------|
//! | slept [`NAPS`] in all in short naps, with a few tasks between two    | long                                  |
//! | found work in its last long look                                       | long                                  |
//! | slept for long, or run many tasks at once, or looked for long in vain  | short, if at all; it counts from zero |
//!
//! The rule bounds the cost: one look of 50 µs in vain for at least [`NAPS`] of sleep, an eighth of a processor.
//! Many tasks between two naps mean that the publisher does not wait for the worker. There a nap costs each task little, and a worker that
//! looks would only fight with the publisher for the queue.
//!
//! # Gathering
//!
//! A wait of a worker or driver that lets a stream of tasks gather in the injector.
//!
//! Where a thread outside spawns one tiny task after the other, the runner takes each as soon as it is there. Then the two threads fight for
//! the same cache lines: of the queue's ends, of its slots, and of neighbouring tasks, as the spawner makes the next one where the
//! runner runs the last. A task then costs both threads twice as much as one of a batch. So the runner falls back a little, as
//! network cards do that coalesce interrupts (Mogul and Ramakrishnan, "Eliminating Receive Livelock in an Interrupt-Driven Kernel", 1997).
//!
//! | the runner has                                              | before it takes from the injector again, it     |
//! |-------------------------------------------------------------|-------------------------------------------------|
//! | seen [`FEW`] tasks or fewer, [`STREAM`] times                | waits [`GATHERING`]                                  |
//! | seen [`MANY_TASKS`] or more after its last wait                   | waits whenever it sees [`FEW`] or fewer         |
//! | seen fewer after its last wait                              | needs twice as many such looks before the next  |
//! | nothing left to do, and looks around or sleeps              | begins to count anew                            |
//!
//! The wait delays tasks by 3 µs where at least eight come in that time. In vain it costs 3 µs for 16 takes at first, and for 4,096 in
//! the end. Tasks that come alone, and the first ones of a burst, are not delayed. Nor are tasks in the runner's own ring: while there are any,
//! it takes from the injector without a look at this.
//!
//! # Rotation
//!
//! Where busy workers and drivers outnumber the processors, each gives its processor up from time to time.
//!
//! A busy thread keeps its processor for a slice of the system's scheduler: some milliseconds. With four busy threads a
//! processor, a thread that waits for the result of one task waits for as many slices. A runner knows a better point to change
//! threads: between two tasks. There it yields each [`KEEPS_PROCESSOR`]. If no other thread wants the processor, that is a system call in
//! vain. Blocking code and long tasks keep their slices.
//!
//! A runner that sleeps has given its processor up, so the period begins anew. Without that, a worker that is woken for one task after
//! another would yield before every sixteenth of them, and wait for the slice of a thread that computes.

use std::cell::Cell;
use std::thread::available_parallelism;
use std::time::Duration;

use terrace_sync::OnceLock;
use terrace_sync::atomic::{AtomicUsize, Ordering};
use terrace_sync::hint::spin_loop;
use terrace_sync::thread::yield_now;
use terrace_sync::time::Instant;

use crate::tuned::{
    FEW, GATHERING, KEEPS_PROCESSOR, MANY_TASKS, NAP, NAPS, RARE_STREAM, SHORT_NAP, STREAM, TIMED,
};

terrace_sync::global! {
    /// Asked for once: the answer takes dozens of system calls.
    static CORES: OnceLock<usize> = OnceLock::new();
    /// Workers of all pools that do not sleep. They run, search, or are blocked in users' code.
    static AWAKE: AtomicUsize = AtomicUsize::new(0);
}

/// The number of processors that the process may use, as the system said first; one if it cannot tell.
pub(crate) fn cores() -> usize {
    *CORES.get_or_init(|| available_parallelism().map_or(1, usize::from))
}

/// Asks the system anew. [`cores`] need not ask then.
pub(crate) fn ask_for_cores() -> usize {
    let cores = available_parallelism().map_or(1, usize::from);
    CORES.get_or_init(|| cores);
    cores
}

/// The calling worker is counted as awake while this lives, or as asleep. It holds what was added to the count.
pub(crate) struct Awake(usize);

impl Awake {
    /// Counts the calling worker.
    pub(crate) fn begin() -> Self {
        Self::add(1)
    }

    /// The calling worker, which is counted, goes to sleep.
    pub(crate) fn pause() -> Self {
        Self::add(usize::MAX)
    }

    fn add(count: usize) -> Self {
        // Ordering: Relaxed, a hint; so are all accesses to the count.
        AWAKE.fetch_add(count, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        AWAKE.fetch_sub(self.0, Ordering::Relaxed);
    }
}

/// Whether the awake workers, and so many threads more, have a processor each.
pub(crate) fn has_room_for(more: usize) -> bool {
    AWAKE.load(Ordering::Relaxed) + more <= cores()
}

/// Asks again and again whether `found`, for at most about `most`; true as soon as it is.
///
/// A thread looks around before it sleeps: for [`CALL`](crate::tuned::CALL) if it knows nothing of the next item; for
/// [`WAKE`](crate::tuned::WAKE) where another thread is in the middle of what it waits for, or has handed out a part of its work just now and
/// is likely to hand out more.
///
/// Looks in vain make none shorter. If they did, a lone remote task would find its worker asleep, and the
/// worker its waiter asleep. That costs ten times as much as the looks. Nor does it yield the thread after each look.
/// On a machine with idle cores a yield finds no more, and makes a lone task wait for the system call.
///
/// It pays only where the thread that brings the next item can run at the same time. A waker notes its processor in the
/// sleeper that it wakes (`terrace_sync::thread::LastProcessor`). Where that is the processor on which the woken thread is
/// now, the callers sleep at once: the kernel often puts a waiter and its only worker on one core. They look around where other
/// threads want their processor, too: a thread that gives it up then may get it back some milliseconds later.
pub(crate) fn spin(most: Duration, found: impl Fn() -> bool) -> bool {
    // A page has one thread: no other thread brings it a task, and it has no clock.
    if cfg!(target_family = "wasm") {
        return false;
    }
    let start = Instant::now();
    loop {
        for _ in 0..16 {
            spin_loop();
        }
        if found() {
            return true;
        }
        if start.elapsed() >= most {
            return false;
        }
    }
}

/// The naps of one worker or driver.
#[derive(Default)]
pub(crate) struct Naps {
    /// When it fell asleep.
    began: Option<Instant>,
    /// What it has slept in short naps since its last long look, or long sleep.
    slept: Duration,
    /// Whether its last long look has found work.
    found: bool,
}

impl Naps {
    /// The thread falls asleep.
    pub(crate) fn begin(&mut self) {
        // A page has one thread, and no clock.
        if !cfg!(target_family = "wasm") {
            self.began = Some(Instant::now());
        }
    }

    /// The thread wakes, if it slept.
    pub(crate) fn end(&mut self) {
        if let Some(began) = self.began.take() {
            self.slept(began.elapsed());
        }
    }

    fn slept(&mut self, nap: Duration) {
        if nap <= SHORT_NAP {
            self.slept += nap;
        } else {
            *self = Self::default();
        }
    }

    /// The thread is about to look around, so many turns after the last time: whether it looks for long.
    fn are_to_avoid(&mut self, turns: usize) -> bool {
        if turns > FEW {
            *self = Self::default();
        }
        self.found || self.slept >= NAPS
    }

    /// Looks around by `look`, so many turns after the last time: for long where that pays, else as `patience` says. True if it found
    /// work.
    pub(crate) fn look(
        &mut self,
        turns: usize,
        patience: Duration,
        look: impl FnOnce(Duration) -> bool,
    ) -> bool {
        if self.are_to_avoid(turns) {
            let found = look(NAP);
            self.looked(found);
            found
        } else {
            look(patience)
        }
    }

    /// The thread has looked around for long.
    fn looked(&mut self, found: bool) {
        self.slept = Duration::ZERO;
        self.found = found;
    }
}

/// What a runner knows of the stream of tasks from outside.
pub(crate) struct Gather {
    /// Small takes up to the next wait.
    left: Cell<u32>,
    /// Small takes that a wait needs.
    needed: Cell<u32>,
}

impl Gather {
    pub(crate) fn new() -> Self {
        Self {
            left: Cell::new(STREAM),
            needed: Cell::new(STREAM),
        }
    }

    /// The runner has nothing left to do, and looks around or sleeps: the stream has ended.
    #[inline]
    pub(crate) fn end(&self) {
        self.left.set(self.needed.get());
    }

    /// The runner is going to take from the injector, whose length `look` tells: waits first if that pays. Returns the length.
    #[inline]
    pub(crate) fn before_take(&self, look: impl Fn() -> usize) -> usize {
        self.wait_by(look, || {
            spin(GATHERING, || false);
        })
    }

    #[inline]
    fn wait_by(&self, look: impl Fn() -> usize, wait: impl FnOnce()) -> usize {
        let length = look();
        if length > FEW {
            return length;
        }
        self.left.set(self.left.get() - 1);
        if self.left.get() > 0 {
            return length;
        }
        wait();
        let length = look();
        if length >= MANY_TASKS {
            self.needed.set(STREAM);
            self.left.set(1);
        } else {
            let needed = (self.needed.get() * 2).min(RARE_STREAM);
            self.needed.set(needed);
            self.left.set(needed);
        }
        length
    }
}

/// When a runner yields.
#[derive(Default)]
pub(crate) struct Rotation {
    /// Calls until the next look at the clock.
    left: Cell<u32>,
    /// When the runner yielded last, or first found the processors contended.
    since: Cell<Option<Instant>>,
}

impl Rotation {
    /// The runner is between two tasks, and more threads than processors are busy.
    #[cold]
    pub(crate) fn pass(&self) {
        // A page has one thread, and no clock.
        if !cfg!(target_family = "wasm") && self.is_due(Instant::now) {
            yield_now();
        }
    }

    /// The runner is about to sleep.
    pub(crate) fn sleeps(&self) {
        self.since.set(None);
    }

    fn is_due(&self, now: impl FnOnce() -> Instant) -> bool {
        if let Some(left) = self.left.get().checked_sub(1) {
            self.left.set(left);
            return false;
        }
        self.left.set(TIMED - 1);
        let now = now();
        let due = self.since.get().map(|since| now - since >= KEEPS_PROCESSOR);
        if due != Some(false) {
            self.since.set(Some(now));
        }
        due == Some(true)
    }
}

#[cfg(test)]
mod naps_tests {
    use super::*;

    /// Naps of 30 µs with one task between two of them, until a long look is due.
    fn tired() -> (Naps, usize) {
        let mut naps = Naps::default();
        let mut count = 0;
        while !naps.are_to_avoid(1) {
            naps.slept(Duration::from_micros(30));
            count += 1;
        }
        (naps, count)
    }

    #[test]
    fn short_naps_pay_for_a_long_look() {
        let (mut naps, count) = tired();
        assert_eq!(count, 14, "14 naps of 30 µs make 400 µs");
        naps.looked(false);
        assert!(
            !naps.are_to_avoid(1),
            "a look in vain has to be paid for anew"
        );
    }

    #[test]
    fn a_look_that_finds_work_is_followed_by_another() {
        let (mut naps, _) = tired();
        naps.looked(true);
        assert!(naps.are_to_avoid(1));
        naps.looked(true);
        assert!(naps.are_to_avoid(0));
        naps.looked(false);
        assert!(!naps.are_to_avoid(1));
    }

    #[test]
    fn long_sleeps_and_many_tasks_count_from_zero() {
        let (mut naps, _) = tired();
        naps.slept(SHORT_NAP * 2);
        assert!(
            !naps.are_to_avoid(1),
            "a thread that sleeps for long waits for nothing soon"
        );
        let (mut naps, _) = tired();
        assert!(
            !naps.are_to_avoid(FEW + 1),
            "the publisher does not wait for this thread"
        );
        let (mut naps, _) = tired();
        naps.looked(true);
        assert!(!naps.are_to_avoid(FEW + 1));
    }
}

#[cfg(test)]
mod gather_tests {
    use super::*;

    /// A look at this many tasks, `gathered` of which are there after a wait; whether it waits.
    fn waits(gather: &Gather, tasks: usize, gathered: usize) -> bool {
        let length = Cell::new(tasks);
        let seen = gather.wait_by(|| length.get(), || length.set(gathered));
        assert_eq!(seen, length.get());
        seen != tasks
    }

    /// How many looks at one task come before the next wait, in which `gathered` come.
    fn looks_before_a_wait(gather: &Gather, gathered: usize) -> u32 {
        (0..).find(|_| waits(gather, 1, gathered)).expect("endless")
    }

    #[test]
    fn small_takes_in_a_row_make_a_stream() {
        let gather = Gather::new();
        assert_eq!(looks_before_a_wait(&gather, MANY_TASKS), STREAM - 1);
        for _ in 0..10 {
            assert!(!waits(&gather, FEW + 1, MANY_TASKS), "there are enough");
            assert!(waits(&gather, FEW, MANY_TASKS), "the last wait has paid");
        }
    }

    #[test]
    fn waits_in_vain_become_rare() {
        let gather = Gather::new();
        let mut last = looks_before_a_wait(&gather, 2);
        for _ in 0..6 {
            let next = looks_before_a_wait(&gather, MANY_TASKS - 1);
            assert_eq!(next + 1, (last + 1) * 2);
            last = next;
        }
        for _ in 0..5 {
            last = looks_before_a_wait(&gather, 2);
        }
        assert_eq!(last + 1, RARE_STREAM);
        assert_eq!(looks_before_a_wait(&gather, MANY_TASKS) + 1, RARE_STREAM);
        assert!(waits(&gather, 1, MANY_TASKS), "the stream is back");
    }

    #[test]
    fn a_pause_ends_the_stream() {
        let gather = Gather::new();
        looks_before_a_wait(&gather, MANY_TASKS);
        assert!(waits(&gather, 1, MANY_TASKS));
        for _ in 0..10 {
            gather.end();
            assert!(
                (1..STREAM).all(|_| !waits(&gather, 1, MANY_TASKS)),
                "the first tasks of a burst are not delayed"
            );
        }
        assert_eq!(looks_before_a_wait(&gather, MANY_TASKS), 0);
    }
}

#[cfg(all(test, not(any(terrace_loom, terrace_shuttle))))]
mod rotation_tests {
    use super::*;

    #[test]
    fn a_runner_yields_once_a_period() {
        let rotation = Rotation::default();
        let start = Instant::now();
        let mut looks = 0;
        let mut yields = Vec::new();
        for call in 0..TIMED * 100 {
            // Each look at the clock is a third of a period later.
            let due = rotation.is_due(|| {
                looks += 1;
                start + KEEPS_PROCESSOR / 3 * (looks - 1)
            });
            if due {
                yields.push(call / TIMED);
            }
        }
        assert_eq!(looks, 100, "one call of {TIMED} reads the clock");
        // The first look only begins the period.
        assert_eq!(yields.first(), Some(&4));
        assert!(yields.windows(2).all(|pair| pair[1] - pair[0] >= 3));
        assert!(yields.len() >= 24, "{yields:?}");
    }

    #[test]
    fn a_runner_that_sleeps_between_its_tasks_does_not_yield() {
        let rotation = Rotation::default();
        let start = Instant::now();
        for call in 0..TIMED * 100 {
            assert!(!rotation.is_due(|| start + KEEPS_PROCESSOR * call));
            rotation.sleeps();
        }
        // Awake from now on, it has its period.
        assert!(
            (0..2 * TIMED).any(|call| rotation.is_due(|| start + KEEPS_PROCESSOR * (1_000 + call)))
        );
    }
}
