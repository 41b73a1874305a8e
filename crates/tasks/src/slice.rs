//! Working through a slice in chunks, a pool task for each.

use alloc::vec::Vec;

use crate::pools::TaskPool;

/// How long the chunks are when a slice of `len` items is split over the threads of `pool`. At least 1; the last chunk may be
/// shorter. With `max_tasks` there are no more chunks than that, nor than threads.
fn chunk_len(len: usize, pool: &TaskPool, max_tasks: Option<usize>) -> usize {
    let threads = pool.thread_num().max(1);
    let chunk_len = match max_tasks {
        None => len / threads,
        Some(max) => len.div_ceil(threads.min(max).max(1)),
    };
    chunk_len.max(1)
}

/// Maps the chunks of a slice on a [`TaskPool`].
///
/// Implemented for everything that is [`AsRef`] to a slice of [`Sync`] items.
///
/// # Examples
///
/// ```
/// use terrace_tasks::{ParallelSlice, TaskPool};
///
/// let pool = TaskPool::new();
/// let lengths = [1, 2, 3].par_chunk_map(&pool, 2, |_, chunk| chunk.len());
/// assert_eq!(lengths, [2, 1]);
/// ```
pub trait ParallelSlice<T: Sync>: AsRef<[T]> {
    /// Calls `f(index, chunk)` for every `chunk_size` items, a task each, and gives the results in order. The
    /// index counts chunks; the last chunk may be shorter.
    ///
    /// # Panics
    /// If `chunk_size` is 0. A panic of `f` is rethrown after all its tasks have ended.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_tasks::{prelude::*, TaskPool};
    ///
    /// let pool = TaskPool::new();
    /// let sums = [1, 2, 3, 4, 5].par_chunk_map(&pool, 2, |_, chunk| chunk.iter().sum::<i32>());
    /// assert_eq!(sums, [3, 7, 5]);
    /// ```
    #[doc(alias = "par_chunks")]
    fn par_chunk_map<F, R>(&self, task_pool: &TaskPool, chunk_size: usize, f: F) -> Vec<R>
    where
        F: Fn(usize, &[T]) -> R + Send + Sync,
        R: Send + 'static,
    {
        let chunks = self.as_ref().chunks(chunk_size);
        let f = &f;
        task_pool.scope(|scope| {
            for (index, chunk) in chunks.enumerate() {
                scope.spawn(async move { f(index, chunk) });
            }
        })
    }

    /// Splits the slice into chunks of its length divided by the number of the pool's threads, and maps as
    /// [`par_chunk_map`](Self::par_chunk_map). The length of a chunk is rounded down, and is at least 1, so there may be more
    /// chunks than threads. With `max_tasks` it is rounded up, and there are at most so many chunks.
    ///
    /// # Panics
    /// A panic of `f` is rethrown after all its tasks have ended.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_tasks::{prelude::*, TaskPool};
    ///
    /// let pool = TaskPool::new();
    /// let lengths = [0; 10].par_splat_map(&pool, Some(1), |_, chunk| chunk.len());
    /// assert_eq!(lengths, [10]);
    /// ```
    fn par_splat_map<F, R>(&self, task_pool: &TaskPool, max_tasks: Option<usize>, f: F) -> Vec<R>
    where
        F: Fn(usize, &[T]) -> R + Send + Sync,
        R: Send + 'static,
    {
        let slice = self.as_ref();
        slice.par_chunk_map(task_pool, chunk_len(slice.len(), task_pool, max_tasks), f)
    }
}

impl<S, T: Sync> ParallelSlice<T> for S where S: AsRef<[T]> {}

/// Maps the chunks of a mutable slice on a [`TaskPool`].
///
/// Implemented for everything that is [`AsMut`] to a slice of [`Send`] items.
///
/// # Examples
///
/// ```
/// use terrace_tasks::{ParallelSliceMut, TaskPool};
///
/// let pool = TaskPool::new();
/// let mut numbers = [1, 2, 3];
/// numbers.par_chunk_map_mut(&pool, 2, |_, chunk| chunk.iter_mut().for_each(|n| *n *= 2));
/// assert_eq!(numbers, [2, 4, 6]);
/// ```
pub trait ParallelSliceMut<T: Send>: AsMut<[T]> {
    /// Calls `f(index, chunk)` for every `chunk_size` items, a task each, and gives the results in order. The
    /// index counts chunks; the last chunk may be shorter.
    ///
    /// # Panics
    /// If `chunk_size` is 0. A panic of `f` is rethrown after all its tasks have ended.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_tasks::{prelude::*, TaskPool};
    ///
    /// let pool = TaskPool::new();
    /// let mut numbers = [1, 2, 3, 4, 5];
    /// numbers.par_chunk_map_mut(&pool, 2, |index, chunk| chunk.fill(index));
    /// assert_eq!(numbers, [0, 0, 1, 1, 2]);
    /// ```
    #[doc(alias = "par_chunks_mut")]
    fn par_chunk_map_mut<F, R>(&mut self, task_pool: &TaskPool, chunk_size: usize, f: F) -> Vec<R>
    where
        F: Fn(usize, &mut [T]) -> R + Send + Sync,
        R: Send + 'static,
    {
        let chunks = self.as_mut().chunks_mut(chunk_size);
        let f = &f;
        task_pool.scope(|scope| {
            for (index, chunk) in chunks.enumerate() {
                scope.spawn(async move { f(index, chunk) });
            }
        })
    }

    /// Splits the slice into chunks of its length divided by the number of the pool's threads, and maps as
    /// [`par_chunk_map_mut`](Self::par_chunk_map_mut). The length of a chunk is rounded down, and is at least 1, so there may be more
    /// chunks than threads. With `max_tasks` it is rounded up, and there are at most so many chunks.
    ///
    /// # Panics
    /// A panic of `f` is rethrown after all its tasks have ended.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_tasks::{prelude::*, TaskPool};
    ///
    /// let pool = TaskPool::new();
    /// let mut numbers = [1, 2, 3, 4, 5];
    /// numbers.par_splat_map_mut(&pool, None, |_, chunk| chunk.iter_mut().for_each(|n| *n *= 2));
    /// assert_eq!(numbers, [2, 4, 6, 8, 10]);
    /// ```
    fn par_splat_map_mut<F, R>(
        &mut self,
        task_pool: &TaskPool,
        max_tasks: Option<usize>,
        f: F,
    ) -> Vec<R>
    where
        F: Fn(usize, &mut [T]) -> R + Send + Sync,
        R: Send + 'static,
    {
        let mut slice = self.as_mut();
        let chunk_size = chunk_len(slice.len(), task_pool, max_tasks);
        slice.par_chunk_map_mut(task_pool, chunk_size, f)
    }
}

impl<S, T: Send> ParallelSliceMut<T> for S where S: AsMut<[T]> {}
