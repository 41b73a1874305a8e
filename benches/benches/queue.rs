//! `terrace-queue`: the ring of one worker, the shared queue, the inbox.

use concurrent_queue::ConcurrentQueue;
use criterion::{Criterion, criterion_group, criterion_main};
use terrace_benches::Rows;
use terrace_benches::queue::{
    self, BATCH, Batched, CrossbeamFifo, CrossbeamLifo, Deque, FORKS, Fork, Forks, HalfAfterGlobal,
    Item, Mail, Mutexed, OneBeforeGlobal, Order, Own, RoundThenHalf, Shared, St3Fifo, St3Forks,
    St3Lifo, Start,
};
use terrace_queue::{Boxed, Inbox, Injector};

/// Items that each thread of a contended row pushes.
const ITEMS: usize = 1_000;

fn deque<D: Deque>(rows: &mut Rows<'_>) {
    let (name, remote) = (D::NAME, format!("{BATCH}-t2"));
    rows.row("push_pop", name, BATCH, queue::push_pop::<D>);
    rows.row("steal", name, BATCH, queue::steal::<D>);
    rows.row("remote_idle", name, &remote, queue::remote_idle::<D>);
    rows.row("remote_busy", name, &remote, queue::remote_busy::<D>);
}

fn injector<Q: Shared>(rows: &mut Rows<'_>) {
    let name = Q::NAME;
    rows.row("injector", name, BATCH, queue::shared_push_pop::<Q>);
    for threads in [2, 4] {
        let param = format!("{ITEMS}-t{threads}");
        rows.row("injector_contended", name, param, || {
            queue::contended::<Q>(threads, ITEMS)
        });
    }
}

fn batched<Q: Batched>(rows: &mut Rows<'_>) {
    rows.row("injector_batch", Q::NAME, BATCH, queue::batch::<Q>);
}

fn inbox<M: Mail>(rows: &mut Rows<'_>) {
    rows.row("inbox", M::NAME, BATCH, queue::inbox::<M>);
    for producers in [1, 4] {
        let param = format!("{ITEMS}-t{}", producers + 1);
        rows.row("inbox_remote", M::NAME, param, || {
            queue::inbox_remote::<M>(producers, ITEMS)
        });
    }
}

fn steal_order<O: Order>(rows: &mut Rows<'_>) {
    for workers in [2, 4] {
        for (name, start) in Start::ALL {
            rows.row("steal_order", O::NAME, format!("{name}-t{workers}"), || {
                queue::steal_order::<O>(workers, start)
            });
        }
    }
}

fn fork<F: Forks>(rows: &mut Rows<'_>) {
    rows.row("fork_nested", F::NAME, FORKS, queue::nested::<F>);
    rows.row("fork_flat", F::NAME, FORKS, queue::flat::<F>);
    rows.row("fork_deep", F::NAME, FORKS, queue::deep::<F>);
    rows.row("fork_forced", F::NAME, FORKS, queue::forced::<F>);
    rows.row("fork_asked", F::NAME, FORKS, queue::asked::<F>);
}

fn rows(criterion: &mut Criterion) {
    let rows = &mut Rows::new(criterion, "queue");
    deque::<Own>(rows);
    deque::<CrossbeamFifo>(rows);
    deque::<St3Fifo>(rows);
    deque::<St3Lifo>(rows);
    injector::<Injector<Item>>(rows);
    injector::<crossbeam_deque::Injector<Item>>(rows);
    injector::<ConcurrentQueue<Item>>(rows);
    injector::<Mutexed<Item>>(rows);
    batched::<Injector<Item>>(rows);
    batched::<crossbeam_deque::Injector<Item>>(rows);
    batched::<ConcurrentQueue<Item>>(rows);
    steal_order::<RoundThenHalf>(rows);
    steal_order::<HalfAfterGlobal>(rows);
    steal_order::<OneBeforeGlobal>(rows);
    fork::<Fork>(rows);
    fork::<CrossbeamLifo>(rows);
    fork::<St3Forks>(rows);
    inbox::<Inbox<Boxed<usize>>>(rows);
    inbox::<crossbeam_deque::Injector<Box<usize>>>(rows);
    inbox::<ConcurrentQueue<Box<usize>>>(rows);
    inbox::<Mutexed<Box<usize>>>(rows);
}

criterion_group!(benches, rows);
criterion_main!(benches);
