//! The handle of a pool that joins: the same code for ours and for forte, whose verbs have the same names.

/// A [`Handle`](super::Handle) from a library's `ThreadPool` and `Worker`.
macro_rules! joining {
    ($Pool:ty, $Worker:ty, $Task:ident) => {
        impl crate::awaits::Handle for &'static $Pool {
            type Task<T: Send + 'static> = $Task<T>;

            fn spawn<T: Send + 'static>(
                self,
                future: impl Future<Output = T> + Send + 'static,
            ) -> Self::Task<T> {
                <$Pool>::spawn(self, future)
            }

            fn scoped(self, items: &mut [u64]) {
                self.scope(|scope| {
                    for item in items {
                        scope.spawn(crate::awaits::count_turns(item));
                    }
                });
            }

            fn join(self, leaves: u64) -> u64 {
                self.with_worker(|worker| halves(worker, leaves, &|_| crate::awaits::leaf()))
            }

            fn join_awaiting(self, leaves: u64) -> u64 {
                self.with_worker(|worker| {
                    halves(worker, leaves, &|worker| {
                        worker.block_on(worker.spawn(crate::awaits::late_leaf()))
                    })
                })
            }
        }

        /// Joins down to single leaves.
        fn halves(worker: &$Worker, leaves: u64, leaf: &(impl Fn(&$Worker) -> u64 + Sync)) -> u64 {
            if leaves <= 1 {
                return leaf(worker);
            }
            let half = leaves / 2;
            let (first, second) = worker.join(
                |worker| halves(worker, half, leaf),
                |worker| halves(worker, leaves - half, leaf),
            );
            first + second
        }
    };
}

pub(super) use joining;
