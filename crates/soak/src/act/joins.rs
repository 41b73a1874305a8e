//! Joins, and scopes whose children are of every kind.

use terrace_executor::Worker;
use terrace_fork::MemberScope;
use terrace_sync::atomic::{AtomicU64, Ordering};
use terrace_testing::Random;

use super::Actor;
use crate::account::Account;
use crate::futures::life;
use crate::wakery::Counter;

/// A leaf of a tree of joins, or a child of a scope.
struct Leaf {
    account: Account,
    counter: Counter,
    random: Random,
}

impl Leaf {
    /// Computes, blocks its thread, waits, or forks further.
    fn run(mut self, worker: &Worker) -> u64 {
        match self.random.below(10) {
            0 => spin(self.random.below(20_000)),
            1 => std::thread::sleep(self.random.micros(60)),
            2 => return u64::from(worker.block_on(life(self.account, self.counter, self.random))),
            3 => _ = worker.yield_now(),
            4 => {
                let sum = AtomicU64::new(0);
                worker.scope(|scope| {
                    for _ in 0..3 {
                        scope.spawn(|worker: &Worker| {
                            let (a, b) = worker.join(|_| 1, |_| 0);
                            sum.fetch_add(a + b, Ordering::Relaxed);
                        });
                    }
                });
                assert_eq!(sum.into_inner(), 3, "closures of a scope are lost");
            }
            _ => {}
        }
        self.account.finish();
        1
    }
}

fn spin(times: usize) {
    (0..times).for_each(|_| std::hint::spin_loop());
}

/// Halves the leaves by joins. Returns how many have run.
fn tree(worker: &Worker, mut leaves: Vec<Leaf>) -> u64 {
    if leaves.len() > 1 {
        let others = leaves.split_off(leaves.len() / 2);
        let (some, more) =
            worker.join(|worker| tree(worker, leaves), |worker| tree(worker, others));
        return some + more;
    }
    leaves.into_iter().map(|leaf| leaf.run(worker)).sum()
}

impl Actor {
    fn leaves(&mut self, act: &'static str, most: usize) -> Vec<Leaf> {
        let amount = self.random.below(most);
        let leaf = |_| Leaf {
            account: self.ledger.open(act),
            counter: self.counter.clone(),
            random: self.random.split(),
        };
        (0..amount).map(leaf).collect()
    }

    /// Takes part in a pool, in a tree of joins.
    pub(super) fn join(&mut self) {
        let executor = self.executor();
        let leaves = self.leaves("join", 24);
        let expected = leaves.len() as u64;
        let ran = executor.with_worker(|worker| tree(worker, leaves));
        assert_eq!(ran, expected, "halves of joins are lost");
    }

    /// Waits in a scope of closures and futures, here and there.
    pub(super) fn scope_of_kinds(&mut self) {
        let executor = self.executor();
        let leaves = self.leaves("scope_of_kinds", 12);
        let expected = leaves.len() as u64;
        let sum = &AtomicU64::new(0);
        let ran = move |leaf: Leaf, worker: &Worker| {
            _ = sum.fetch_add(leaf.run(worker), Ordering::Relaxed)
        };
        let parts = &AtomicU64::new(0);
        terrace_fork::scope(&executor, |scope| {
            for mut leaf in leaves {
                match leaf.random.below(5) {
                    0 => scope.spawn_local(move |worker: &Worker| ran(leaf, worker)),
                    1 => scope.spawn(async move {
                        let Leaf {
                            account,
                            counter,
                            random,
                        } = leaf;
                        let lived = life(account, counter, random).await;
                        sum.fetch_add(u64::from(lived), Ordering::Relaxed);
                    }),
                    2 => {
                        scope.spawn_broadcast(|_| _ = parts.fetch_add(1, Ordering::Relaxed));
                        scope.spawn(move |worker: &Worker| ran(leaf, worker));
                    }
                    _ => scope.spawn(move |worker: &Worker| ran(leaf, worker)),
                }
            }
        });
        assert_eq!(
            sum.load(Ordering::Relaxed),
            expected,
            "children of a scope are lost"
        );
    }
}
