//! Work on each item of a slice.

use std::mem::take;

use terrace_sync::Mutex;

use super::pool::TaskPool;

/// A thread takes the items that are left, divided by so many times the tasks.
const SHARE: usize = 2;

impl TaskPool {
    /// Calls `run` for each item, on the pool's threads and this one. Returns when all calls have ended; with the panic of one of
    /// them, if there is any. Items that no thread had begun by then may be left out.
    ///
    /// There is one task a thread. Each takes some items, and comes again for more: many at first, one by one at the end. So tiny items
    /// cost little, and long ones at the end are shared. A task costs one allocation, an item none.
    ///
    /// Source: guided self-scheduling (Polychronopoulos and Kuck, 1987).
    pub(crate) fn each<P: Send>(&self, items: &mut [P], run: impl Fn(&mut P) + Sync) {
        // The calling thread works, too.
        let tasks = items.len().min(self.thread_num() + 1);
        let left = Mutex::new(items);
        let work = || {
            loop {
                let mine = {
                    let mut left = left.lock();
                    let count = left.len().div_ceil(SHARE * tasks);
                    let (mine, others) = take(&mut *left).split_at_mut(count);
                    *left = others;
                    mine
                };
                if mine.is_empty() {
                    return;
                }
                mine.iter_mut().for_each(&run);
            }
        };
        let work = &work;
        self.scope(|scope| {
            for _ in 0..tasks {
                scope.spawn(async move { work() });
            }
        });
    }
}
