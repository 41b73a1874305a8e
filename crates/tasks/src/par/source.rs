//! [`Source`]: what a pool splits into batches.

use alloc::vec;
use alloc::vec::Vec;
use core::iter::Take;
use core::mem;
use core::ops::Range;
use core::slice::{Chunks, ChunksMut, Iter, IterMut};

/// Items that are split into batches: a slice, a vector, a range, or the chunks of a slice. See
/// [`TaskPool::par`](crate::TaskPool::par).
///
/// # Examples
///
/// ```
/// use terrace_tasks::{Source, TaskPool};
///
/// /// The powers of two below 2ⁿ.
/// struct Powers(std::ops::Range<u32>);
///
/// impl Source for Powers {
///     type Batch = std::iter::Map<std::ops::Range<u32>, fn(u32) -> u64>;
///
///     fn items(&self) -> u64 {
///         self.0.items()
///     }
///
///     fn split(&mut self, items: u64) -> Self::Batch {
///         self.0.split(items).map(|n| 1 << n)
///     }
/// }
///
/// assert_eq!(TaskPool::new().par(Powers(0..10)).sum::<u64>(), 1_023);
/// ```
pub trait Source: Send + Sized {
    /// What a task works on.
    type Batch: Iterator + Send;

    /// The number of items: a range may have more than a `usize` counts. [`Source`] has an example.
    fn items(&self) -> u64;

    /// Splits off a batch of the first items, `items` of them where so many are left. The caller asks for at least one, and not
    /// when none is left. [`Source`] has an example.
    fn split(&mut self, items: u64) -> Self::Batch;
}

/// So many of the `all` items that are left.
#[inline]
fn at_most(items: u64, all: usize) -> usize {
    usize::try_from(items).map_or(all, |items| items.min(all))
}

/// What becomes a source: each source, vectors, arrays, and references to them.
/// [`TaskPool::par`](crate::TaskPool::par) has an example of several.
pub trait IntoSource {
    /// The source.
    type Source: Source;

    /// Makes the source.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_tasks::par::{IntoSource, Source};
    ///
    /// let mut source = vec!['a', 'b', 'c'].into_source();
    /// assert!(source.split(2).eq(['a', 'b']));
    /// assert_eq!(source.items(), 1);
    /// ```
    fn into_source(self) -> Self::Source;
}

impl<S: Source> IntoSource for S {
    type Source = S;

    fn into_source(self) -> S {
        self
    }
}

impl<T: Send> IntoSource for Vec<T> {
    type Source = vec::IntoIter<T>;

    fn into_source(self) -> vec::IntoIter<T> {
        self.into_iter()
    }
}

impl<'a, T: Sync> IntoSource for &'a Vec<T> {
    type Source = &'a [T];

    fn into_source(self) -> &'a [T] {
        self
    }
}

impl<'a, T: Send> IntoSource for &'a mut Vec<T> {
    type Source = &'a mut [T];

    fn into_source(self) -> &'a mut [T] {
        self
    }
}

impl<'a, T: Sync, const N: usize> IntoSource for &'a [T; N] {
    type Source = &'a [T];

    fn into_source(self) -> &'a [T] {
        self
    }
}

impl<'a, T: Send, const N: usize> IntoSource for &'a mut [T; N] {
    type Source = &'a mut [T];

    fn into_source(self) -> &'a mut [T] {
        self
    }
}

impl<'a, T: Sync> Source for &'a [T] {
    type Batch = Iter<'a, T>;

    fn items(&self) -> u64 {
        self.len() as u64
    }

    fn split(&mut self, items: u64) -> Iter<'a, T> {
        let (batch, rest) = self.split_at(at_most(items, self.len()));
        *self = rest;
        batch.iter()
    }
}

impl<'a, T: Send> Source for &'a mut [T] {
    type Batch = IterMut<'a, T>;

    fn items(&self) -> u64 {
        self.len() as u64
    }

    fn split(&mut self, items: u64) -> IterMut<'a, T> {
        let slice = mem::take(self);
        let (batch, rest) = slice.split_at_mut(at_most(items, slice.len()));
        *self = rest;
        batch.iter_mut()
    }
}

/// Its items go by value. A batch is a vector of its own, so each item is moved once; but not those of the last batch.
impl<T: Send> Source for vec::IntoIter<T> {
    type Batch = vec::IntoIter<T>;

    fn items(&self) -> u64 {
        self.len() as u64
    }

    fn split(&mut self, items: u64) -> vec::IntoIter<T> {
        let items = at_most(items, self.len());
        if items == self.len() {
            return mem::take(self);
        }
        let batch: Vec<T> = self.by_ref().take(items).collect();
        batch.into_iter()
    }
}

/// Its items are the chunks.
impl<'a, T: Sync> Source for Chunks<'a, T> {
    type Batch = Take<Chunks<'a, T>>;

    fn items(&self) -> u64 {
        self.len() as u64
    }

    fn split(&mut self, items: u64) -> Self::Batch {
        let items = at_most(items, self.len());
        let batch = self.clone().take(items);
        // Passes the chunks of the batch.
        let _last = self.nth(items - 1);
        batch
    }
}

/// Its items are the chunks.
impl<'a, T: Send> Source for ChunksMut<'a, T> {
    type Batch = vec::IntoIter<&'a mut [T]>;

    fn items(&self) -> u64 {
        self.len() as u64
    }

    fn split(&mut self, items: u64) -> Self::Batch {
        let items = at_most(items, self.len());
        let batch: Vec<_> = self.by_ref().take(items).collect();
        batch.into_iter()
    }
}

/// Ranges of these integers.
macro_rules! ranges {
    ($($int:ty),*) => {$(
        impl Source for Range<$int> {
            type Batch = Self;

            fn items(&self) -> u64 {
                u64::try_from(self.end.saturating_sub(self.start).max(0)).unwrap_or(u64::MAX)
            }

            fn split(&mut self, items: u64) -> Self {
                let end = match <$int>::try_from(items) {
                    Ok(items) => self.start.saturating_add(items).min(self.end),
                    Err(_) => self.end,
                };
                let batch = self.start..end;
                self.start = end;
                batch
            }
        }
    )*};
}

ranges!(u8, u16, u32, u64, usize, i8, i16, i32, i64, isize);
