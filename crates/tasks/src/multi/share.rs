//! An input that threads share: each takes a piece, and comes again for more.

use std::marker::PhantomData;
use std::mem;
use std::time::Duration;

use terrace_executor::Worker;
use terrace_sync::Mutex;
use terrace_sync::atomic::{AtomicBool, Ordering};
use terrace_sync::time::Instant;

use super::kinds::{Entry, Length, Pace, SHARED, Took};
use super::pool::TaskPool;
use crate::iter::ParallelIterator;
use crate::par::parts::{Parts, Work, alone};

/// A thread takes the items that are left, divided by so many times the threads.
const SHARE: u64 = 2;
/// A piece takes at least as long, so that to take it costs little.
const PIECE: Duration = Duration::from_micros(4);
/// A few items are worked on in so many pieces.
const PROBE: u64 = 4;

impl TaskPool {
    /// Works on all items of a sized iterator, and returns when no thread works on any. With the panic of a piece, if there is
    /// any; pieces that no thread had begun by then are left out.
    ///
    /// A tiny input costs two loads and a store beside the work, a short one two readings of a clock more. A long one is offered by
    /// `join`, and split as threads come for it: many items at first, few at the end.
    ///
    /// Source: guided self-scheduling (Polychronopoulos and Kuck, 1987).
    // Inlined, as the loop of a tiny input is in the consumer then, with all closures.
    #[inline(always)]
    pub(crate) fn work_on<B, I, W>(&self, iter: I, items: u64, work: &W) -> Parts<W::Result>
    where
        B: Iterator + Send,
        I: ParallelIterator<B>,
        W: Work<B>,
    {
        let kind = self.kinds.entry::<(I, W)>();
        let since = match kind.visit(items) {
            Length::Tiny => None,
            Length::Short => Some(Instant::now()),
            Length::Few => return self.probe(iter, items, work, &kind),
            Length::Long => return self.share(iter, items, work, &kind, Vec::new()),
        };
        let parts = alone(iter, work);
        if let Some(since) = since {
            let is_settled = matches!(&parts, Parts::One(result) if work.settles(result));
            kind.note_since(since, items, is_settled);
        }
        parts
    }

    /// Works on a few items in pieces, and decides anew after each.
    #[inline(never)]
    fn probe<B, I, W>(
        &self,
        mut iter: I,
        items: u64,
        work: &W,
        kind: &Entry<'_>,
    ) -> Parts<W::Result>
    where
        B: Iterator + Send,
        I: ParallelIterator<B>,
        W: Work<B>,
    {
        let piece = items.div_ceil(PROBE);
        let mut results = Vec::new();
        while let Some(left) = iter.items_left().filter(|left| *left > 0) {
            if kind.length(left) == Length::Long {
                return self.share(iter, left, work, kind, results);
            }
            let piece = piece.min(left);
            iter.size_next_batch(piece);
            let since = Instant::now();
            let Some(batch) = iter.next_batch() else {
                break;
            };
            let result = work.run(batch, None);
            let is_settled = work.settles(&result);
            kind.note_since(since, piece, is_settled);
            results.push(result);
            if is_settled {
                break;
            }
        }
        Parts::Many(results)
    }

    /// Works on the items together with threads of the pool. `results` are those of what lay before them.
    #[inline(never)]
    fn share<B, I, W>(
        &self,
        iter: I,
        items: u64,
        work: &W,
        kind: &Entry<'_>,
        mut results: Vec<W::Result>,
    ) -> Parts<W::Result>
    where
        B: Iterator + Send,
        I: ParallelIterator<B>,
        W: Work<B>,
    {
        let pace = kind.pace();
        let most = pace.map_or(items, |pace| pace.times(items, SHARED));
        let helpers = most
            .min(self.thread_num() as u64)
            .min(items.saturating_sub(1));
        let share = Share {
            left: Mutex::new(Left {
                iter,
                taken: 0,
                pace,
            }),
            over: AtomicBool::new(false),
            work,
            pieces: SHARE * (helpers + 1),
            fair: items.div_ceil(helpers + 1),
            _batch: PhantomData,
        };
        let mut done = if helpers == 0 {
            share.work()
        } else {
            self.executor
                .with_worker(|worker| share.work_with(worker, helpers))
        };
        kind.note(done.took, done.is_settled);
        // Of a few runs that are in order each.
        done.results.sort_by_key(|(number, _)| *number);
        results.extend(done.results.into_iter().map(|(_, result)| result));
        Parts::Many(results)
    }
}

/// What is left of an input.
struct Left<I> {
    iter: I,
    /// Pieces that were taken.
    taken: usize,
    pace: Option<Pace>,
}

/// An input that threads share.
struct Share<'w, B, I, W> {
    /// The lock is that of one call. The source and the clones of closures are the program's code, and run under it: they may
    /// open further calls, whose locks come after this one.
    left: Mutex<Left<I>>,
    /// No thread takes a further piece: the result of one has settled the search, or one has panicked.
    over: AtomicBool,
    work: &'w W,
    /// The share of a thread is one of so many.
    pieces: u64,
    /// No piece has more items, however short they seem.
    fair: u64,
    _batch: PhantomData<fn() -> B>,
}

/// What a thread has done, or several.
struct Done<R> {
    /// The results, with the numbers of their pieces.
    results: Vec<(usize, R)>,
    took: Took,
    /// Whether a result has made others superfluous: then a piece may not have been worked on to its end.
    is_settled: bool,
}

/// Ends the work of all threads when one unwinds.
struct Unwinding<'s>(&'s AtomicBool);

impl Drop for Unwinding<'_> {
    fn drop(&mut self) {
        // Ordering: Relaxed here and below: a hint. The lock and the join order what counts.
        self.0.store(true, Ordering::Relaxed);
    }
}

impl<B, I, W> Share<'_, B, I, W>
where
    B: Iterator + Send,
    I: ParallelIterator<B>,
    W: Work<B>,
{
    /// Works on pieces until none is left, while other threads of the pool do so, too: up to so many.
    fn work_with(&self, worker: &Worker, helpers: u64) -> Done<W::Result> {
        if helpers == 0 || self.is_done() {
            return self.work();
        }
        // The thread that takes the fork offers it to the next one.
        let (theirs, mut done) = worker.join(
            |worker| self.work_with(worker, helpers - 1),
            |_| self.work(),
        );
        done.results.extend(theirs.results);
        done.took.items += theirs.took.items;
        done.took.nanos = done.took.nanos.saturating_add(theirs.took.nanos);
        done.is_settled |= theirs.is_settled;
        done
    }

    /// Works on pieces until none is left.
    fn work(&self) -> Done<W::Result> {
        let unwinding = Unwinding(&self.over);
        let mut done = Done {
            results: Vec::new(),
            took: Took::default(),
            is_settled: false,
        };
        let mut last = None;
        while let Some((number, items, batch)) = self.take(last) {
            let since = Instant::now();
            let result = self.work.run(batch, Some(&self.over));
            let took = Took::new(items, since.elapsed());
            if self.work.settles(&result) {
                done.is_settled = true;
                self.over.store(true, Ordering::Relaxed);
            }
            done.results.push((number, result));
            done.took.items += items;
            done.took.nanos = done.took.nanos.saturating_add(took.nanos);
            last = Some(took);
        }
        mem::forget(unwinding);
        done
    }

    /// Takes a piece: its number, its items, and itself. `last` is what the thread's piece before took.
    fn take(&self, last: Option<Took>) -> Option<(usize, u64, B)> {
        if self.over.load(Ordering::Relaxed) {
            return None;
        }
        let mut left = self.left.lock();
        if let Some(took) = last {
            left.pace = Some(Pace::after(left.pace, took));
        }
        let all = left.iter.items_left().filter(|all| *all > 0)?;
        let least = left.pace.map_or(1, |pace| pace.items_in(PIECE));
        let items = all.div_ceil(self.pieces).max(least.min(self.fair)).min(all);
        left.iter.size_next_batch(items);
        let batch = left.iter.next_batch()?;
        let number = left.taken;
        left.taken += 1;
        Some((number, items, batch))
    }

    /// Whether a thread that comes now finds nothing.
    fn is_done(&self) -> bool {
        self.over.load(Ordering::Relaxed) || self.left.lock().iter.items_left() == Some(0)
    }
}
