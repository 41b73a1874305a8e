//! [`SlotTable`]: where the threads of a pool find each other's places.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::{fmt, ptr};

use terrace_sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use terrace_sync::{CachePadded, Mutex, ordering};

/// More slots than threads can exist.
const CHUNKS: usize = 24;

/// A growing table of slots `S`, such as the seats of a pool's workers. Any thread opens and closes slots, and looks into those of others.
///
/// A slot is never freed while the table lives, so a thread may look into any slot at any time. That needs no hazard pointers and no
/// reference counts, and leaves nothing in a queue when a slot closes. Slots lie in chunks that double in size; a chunk, once published,
/// stays where it is.
///
/// The table reuses the indices of slots that were given back, lowest first, which keeps the range that threads scan short. Chunk `k`
/// has `FIRST << k` slots. A new table is empty, and has allocated nothing.
///
/// # Examples
///
/// ```
/// use terrace_queue::SlotTable;
/// use terrace_sync::atomic::{AtomicU32, Ordering::Relaxed};
///
/// let table = SlotTable::<AtomicU32, 1>::default();
/// let (one, two) = (table.acquire(), table.acquire());
/// table.get(two).expect("it is open").store(2, Relaxed);
/// assert_eq!(table.scan().map(|slot| slot.load(Relaxed)).sum::<u32>(), 2);
/// table.release(two);
/// assert_eq!(table.high(), one + 1);
/// ```
#[derive(Default)]
pub struct SlotTable<S, const FIRST: usize> {
    chunks: [AtomicPtr<CachePadded<S>>; CHUNKS],
    /// One past the highest open slot.
    high: AtomicUsize,
    /// Bit `i % 64` of word `i / 64` is set while slot `i` is open. Only plain data under the lock.
    open: Mutex<Vec<u64>>,
}

impl<S, const FIRST: usize> SlotTable<S, FIRST> {
    /// Chunk and offset of a slot.
    fn locate(index: usize) -> (usize, usize) {
        let chunk = (index / FIRST + 1).ilog2() as usize;
        (chunk, index - FIRST * ((1 << chunk) - 1))
    }

    /// Slots in a chunk.
    fn chunk_len(chunk: usize) -> usize {
        FIRST << chunk
    }
}

impl<S: Default + Send + Sync, const FIRST: usize> SlotTable<S, FIRST> {
    /// Opens the lowest free slot. One lock; allocates when the table grows, and makes the new slots by their `Default` under the lock.
    ///
    /// # Panics
    /// When `FIRST` times 2^24 slots are open at once.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_queue::SlotTable;
    /// use terrace_sync::atomic::AtomicU32;
    ///
    /// let table = SlotTable::<AtomicU32, 1>::default();
    /// let (first, second) = (table.acquire(), table.acquire());
    /// table.release(first);
    /// assert_eq!(table.acquire(), first, "the lowest free one");
    /// assert_ne!(first, second);
    /// ```
    pub fn acquire(&self) -> usize {
        let mut open = self.open.lock();
        let word = match open.iter().position(|&word| word != u64::MAX) {
            Some(word) => word,
            None => {
                open.push(0);
                open.len() - 1
            }
        };
        let index = word * 64 + open[word].trailing_ones() as usize;
        let (chunk, _) = Self::locate(index);
        assert!(chunk < CHUNKS, "too many slots are open at once");
        // Ordering: Relaxed, written under the same lock.
        if self.chunks[chunk].load(Ordering::Relaxed).is_null() {
            let slots: Box<[CachePadded<S>]> = (0..Self::chunk_len(chunk))
                .map(|_| CachePadded::new(S::default()))
                .collect();
            let slots = Box::into_raw(slots).cast::<CachePadded<S>>();
            // Ordering: Release, pairs with the Acquire in `get`.
            self.chunks[chunk].store(slots, ordering!("queue-slot-table-relaxed", Release));
        }
        open[word] |= 1 << (index % 64);
        // Ordering: Relaxed. The opener pushes and fences later; a scanner that must see the new
        // bound fences after that, before its load in `high`.
        let high = self.high.load(Ordering::Relaxed);
        self.high.store(high.max(index + 1), Ordering::Relaxed);
        index
    }

    /// Gives a slot back.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_queue::SlotTable;
    /// use terrace_sync::atomic::{AtomicU32, Ordering::Relaxed};
    ///
    /// let table = SlotTable::<AtomicU32, 1>::default();
    /// let index = table.acquire();
    /// table.get(index).unwrap().store(7, Relaxed);
    /// table.release(index);
    /// // The next owner finds what the last one has left.
    /// assert_eq!(table.acquire(), index);
    /// assert_eq!(table.get(index).unwrap().load(Relaxed), 7);
    /// ```
    pub fn release(&self, index: usize) {
        let mut open = self.open.lock();
        open[index / 64] &= !(1 << (index % 64));
        let last = open.iter().rposition(|&word| word != 0);
        let high = last.map_or(0, |word| {
            word * 64 + 64 - open[word].leading_zeros() as usize
        });
        // Ordering: Relaxed, as in `acquire`.
        self.high.store(high, Ordering::Relaxed);
    }

    /// The slot at `index`, which was acquired at some time; `None` where its chunk never was.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_queue::SlotTable;
    /// use terrace_sync::atomic::AtomicU32;
    ///
    /// let table = SlotTable::<AtomicU32, 1>::default();
    /// assert!(table.get(0).is_none());
    /// let index = table.acquire();
    /// assert!(table.get(index).is_some());
    /// ```
    #[inline]
    pub fn get(&self, index: usize) -> Option<&S> {
        let (chunk, offset) = Self::locate(index);
        // Ordering: Acquire, pairs with the Release in `acquire`.
        let slots = self.chunks[chunk].load(Ordering::Acquire);
        if slots.is_null() {
            return None;
        }
        // SAFETY: `locate` yields offsets below the chunk's length, so this stays in its
        // allocation.
        let slot = unsafe { slots.add(offset) };
        // SAFETY: the Acquire load above saw the chunk published, so its slots are initialised.
        // Only `drop` frees a chunk, and only `drop` takes it by `&mut`.
        Some(unsafe { &*slot })
    }

    /// One past the highest slot that may be open.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_queue::SlotTable;
    /// use terrace_sync::atomic::AtomicU32;
    ///
    /// let table = SlotTable::<AtomicU32, 4>::default();
    /// assert_eq!(table.high(), 0);
    /// let (_, second) = (table.acquire(), table.acquire());
    /// assert_eq!(table.high(), 2);
    /// table.release(second);
    /// assert_eq!(table.high(), 1);
    /// ```
    #[inline]
    pub fn high(&self) -> usize {
        // Ordering: Relaxed. It pairs with the store in `acquire`, by the fences named there.
        self.high.load(Ordering::Relaxed)
    }

    /// Every slot that was ever open, and some that were not.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_queue::SlotTable;
    /// use terrace_sync::atomic::{AtomicU32, Ordering::Relaxed};
    ///
    /// let table = SlotTable::<AtomicU32, 4>::default();
    /// let index = table.acquire();
    /// table.get(index).unwrap().store(7, Relaxed);
    /// table.release(index);
    /// // For a count that is to survive its owners.
    /// assert_eq!(table.all().map(|slot| slot.load(Relaxed)).sum::<u32>(), 7);
    /// ```
    pub fn all(&self) -> impl Iterator<Item = &S> {
        (0..).map_while(|index| self.get(index))
    }

    /// The slots that may be open, lowest first.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_queue::SlotTable;
    /// use terrace_sync::atomic::AtomicU32;
    ///
    /// let table = SlotTable::<AtomicU32, 4>::default();
    /// assert_eq!(table.scan().count(), 0);
    /// table.acquire();
    /// assert_eq!(table.scan().count(), 1);
    /// ```
    #[inline]
    pub fn scan(&self) -> impl Iterator<Item = &S> {
        (0..self.high()).filter_map(|index| self.get(index))
    }
}

impl<S, const FIRST: usize> Drop for SlotTable<S, FIRST> {
    fn drop(&mut self) {
        for (chunk, slots) in self.chunks.iter_mut().enumerate() {
            // Ordering: Relaxed, `&mut self` excludes all other threads.
            let slots = slots.load(Ordering::Relaxed);
            if slots.is_null() {
                // Slots are opened lowest first: none was open in a later chunk.
                return;
            }
            let slots = ptr::slice_from_raw_parts_mut(slots, Self::chunk_len(chunk));
            // SAFETY: the pointer came from `Box::into_raw` of a slice of this length.
            drop(unsafe { Box::from_raw(slots) });
        }
    }
}

impl<S, const FIRST: usize> fmt::Debug for SlotTable<S, FIRST> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SlotTable").finish_non_exhaustive()
    }
}

#[cfg(all(test, not(terrace_loom)))]
mod tests {
    use super::*;

    #[test]
    fn locate_covers_every_index_once() {
        fn covers<const FIRST: usize>() {
            let mut next = 0;
            for chunk in 0..6 {
                for offset in 0..SlotTable::<u8, FIRST>::chunk_len(chunk) {
                    assert_eq!(SlotTable::<u8, FIRST>::locate(next), (chunk, offset));
                    next += 1;
                }
            }
        }
        covers::<1>();
        covers::<8>();
    }

    #[test]
    fn slots_are_reused_lowest_first_and_the_scan_shrinks() {
        let table = SlotTable::<u8, 1>::default();
        let taken: Vec<_> = (0..200).map(|_| table.acquire()).collect();
        assert_eq!(taken, (0..200).collect::<Vec<_>>());
        assert_eq!(table.scan().count(), 200);
        table.release(3);
        table.release(70);
        assert_eq!(table.acquire(), 3);
        assert_eq!(table.acquire(), 70);
        for index in 1..200 {
            table.release(index);
        }
        assert_eq!(table.scan().count(), 1);
        table.release(0);
        assert_eq!(table.scan().count(), 0);
    }
}
