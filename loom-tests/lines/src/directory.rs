//! The directory of lines: who wrote each last, and who holds a copy.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Bytes of a line, as a shift.
const LINE: u32 = 6;
/// How many threads a program may have, at most.
pub(crate) const THREADS: usize = 256;

/// The number of a thread, from 0.
pub(crate) type Thread = usize;

/// A set of threads.
#[derive(Clone, Copy, Default, PartialEq)]
struct Threads([u128; 2]);

impl Threads {
    fn only(thread: Thread) -> Self {
        let mut set = Self::default();
        set.insert(thread);
        set
    }

    fn insert(&mut self, thread: Thread) {
        self.0[thread / 128] |= 1 << (thread % 128);
    }

    fn contains(self, thread: Thread) -> bool {
        self.0[thread / 128] & 1 << (thread % 128) != 0
    }
}

/// What the directory knows of one line.
#[derive(Default)]
struct Line {
    writer: Option<Thread>,
    holders: Threads,
    /// How often each place in the program got the line from another thread, since the last reset.
    places: Vec<(usize, u64)>,
}

/// A line, and the places in the program that got it from another thread.
pub(crate) struct Hot {
    /// How often it was handed over.
    pub(crate) count: u64,
    /// Return addresses and how often, the most frequent first.
    pub(crate) places: Vec<(usize, u64)>,
}

/// All lines that were accessed.
#[derive(Default)]
pub(crate) struct Directory {
    lines: HashMap<usize, Line, BuildHasherDefault<Mixed>>,
    /// Keys of the lines that were handed over since the last reset.
    handed: Vec<usize>,
}

impl Directory {
    /// Notes an access of `size` bytes by `thread` from `place`; returns how many lines it was handed.
    pub(crate) fn access(
        &mut self,
        thread: Thread,
        address: usize,
        size: usize,
        is_write: bool,
        place: usize,
    ) -> u64 {
        let last = (address + size.max(1) - 1) >> LINE;
        let mut count = 0;
        for key in address >> LINE..=last {
            let line = self.lines.entry(key).or_default();
            let is_foreign = line.writer.is_some_and(|writer| writer != thread);
            let handed = if is_write {
                let shared =
                    line.holders != Threads::default() && line.holders != Threads::only(thread);
                line.holders = Threads::only(thread);
                line.writer = Some(thread);
                shared || is_foreign
            } else {
                let handed = is_foreign && !line.holders.contains(thread);
                line.holders.insert(thread);
                handed
            };
            if handed {
                count += 1;
                if line.places.is_empty() {
                    self.handed.push(key);
                }
                match line.places.iter_mut().find(|(at, _)| *at == place) {
                    Some((_, times)) => *times += 1,
                    None => line.places.push((place, 1)),
                }
            }
        }
        count
    }

    /// Forgets how often threads handed lines over, and keeps which threads have them.
    pub(crate) fn reset(&mut self) {
        for key in std::mem::take(&mut self.handed) {
            self.lines.entry(key).or_default().places.clear();
        }
    }

    /// The lines that were handed over since the last reset, the hottest first.
    pub(crate) fn hottest(&self) -> Vec<Hot> {
        let hot = self.handed.iter().map(|key| {
            let mut places = self.lines[key].places.clone();
            places.sort_by_key(|&(place, times)| (std::cmp::Reverse(times), place));
            let count = places.iter().map(|(_, times)| times).sum();
            Hot { count, places }
        });
        let mut hot = Vec::from_iter(hot);
        hot.sort_by_key(|line| std::cmp::Reverse(line.count));
        hot
    }
}

/// A hasher of one number, by a multiplication.
#[derive(Default)]
struct Mixed(u64);

impl Hasher for Mixed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes
            .iter()
            .for_each(|byte| self.write_usize((*byte).into()));
    }

    fn write_usize(&mut self, number: usize) {
        let mixed = (self.0 ^ number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed ^ mixed >> 32;
    }
}

#[cfg(test)]
mod tests {
    use super::Directory;

    /// The table of the crate's documentation, row by row.
    #[test]
    fn a_line_is_handed_over_as_the_table_says() {
        let mut lines = Directory::default();
        let mut at = |thread, address, is_write| lines.access(thread, address, 8, is_write, 1);
        assert_eq!(at(0, 0, false), 0, "no thread has written it");
        assert_eq!(at(1, 8, true), 1, "another thread holds a copy");
        assert_eq!(at(1, 16, true), 0, "its own line");
        assert_eq!(at(0, 24, false), 1, "another thread wrote it");
        assert_eq!(at(0, 32, false), 0, "it has a copy");
        assert_eq!(at(1, 0, false), 0, "the writer keeps its copy");
        assert_eq!(at(1, 0, true), 1, "the reader's copy ends");
        assert_eq!(at(200, 0, true), 1, "another thread wrote it");
        assert_eq!(at(200, 60, true), 0, "the second of two lines is new");
        assert_eq!(at(0, 60, false), 2, "an access to two lines");
        assert_eq!(at(0, 128, true), 0, "no thread has had it");
    }

    /// A counter that threads share is the hottest line, and its place is named; lines of one thread are none.
    #[test]
    fn a_shared_counter_is_the_hottest_line() {
        let (counter, own, place) = (0x1000, 0x2000, 7);
        let mut lines = Directory::default();
        let round = |lines: &mut Directory| {
            for thread in 0..64 {
                lines.access(thread, counter, 8, true, place);
                lines.access(thread, own + 64 * thread, 8, true, 8);
            }
        };
        round(&mut lines);
        lines.reset();
        round(&mut lines);
        let hot = lines.hottest();
        let [line] = &hot[..] else {
            panic!("{} lines were handed over", hot.len());
        };
        assert_eq!((line.count, &line.places[..]), (64, &[(place, 64)][..]));
        lines.reset();
        assert!(lines.hottest().is_empty());
    }
}
