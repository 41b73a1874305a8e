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

use std::cell::Cell;

use super::spin::spin;
use crate::tuned::{FEW, GATHERING, MANY_TASKS, RARE_STREAM, STREAM};

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

#[cfg(test)]
mod tests {
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
