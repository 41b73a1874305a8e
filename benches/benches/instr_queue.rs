//! Instructions of `terrace-queue` and its peers under callgrind: one thread, 64 items.

#![expect(
    missing_docs,
    non_snake_case,
    reason = "gungraun's macros make items; the parts of their names are separated by two underscores"
)]

use concurrent_queue::ConcurrentQueue;
use gungraun::{library_benchmark, library_benchmark_group, main};
use terrace_benches::counted::{Job, warm};
use terrace_benches::queue::{
    CrossbeamFifo, CrossbeamLifo, Fork, Item, Mutexed, Own, St3Fifo, St3Forks, St3Lifo, batch,
    deep, flat, inbox as inbox_of, nested, push_pop as push_pop_of, shared_push_pop,
    steal as steal_of,
};
use terrace_queue::{Boxed, Inbox, Injector};

#[library_benchmark]
#[bench::ring__64(warm(push_pop_of::<Own>()))]
#[bench::crossbeam__64(warm(push_pop_of::<CrossbeamFifo>()))]
#[bench::st3_fifo__64(warm(push_pop_of::<St3Fifo>()))]
#[bench::st3_lifo__64(warm(push_pop_of::<St3Lifo>()))]
fn push_pop(mut job: Job) -> Job {
    job();
    job
}

#[library_benchmark]
#[bench::ring__64(warm(steal_of::<Own>()))]
#[bench::crossbeam__64(warm(steal_of::<CrossbeamFifo>()))]
#[bench::st3_fifo__64(warm(steal_of::<St3Fifo>()))]
#[bench::st3_lifo__64(warm(steal_of::<St3Lifo>()))]
fn steal(mut job: Job) -> Job {
    job();
    job
}

#[library_benchmark]
#[bench::injector__64(warm(shared_push_pop::<Injector<Item>>()))]
#[bench::crossbeam__64(warm(shared_push_pop::<crossbeam_deque::Injector<Item>>()))]
#[bench::concurrent_queue__64(warm(shared_push_pop::<ConcurrentQueue<Item>>()))]
#[bench::mutex__64(warm(shared_push_pop::<Mutexed<Item>>()))]
fn injector(mut job: Job) -> Job {
    job();
    job
}

#[library_benchmark]
#[bench::injector__64(warm(batch::<Injector<Item>>()))]
#[bench::crossbeam__64(warm(batch::<crossbeam_deque::Injector<Item>>()))]
#[bench::concurrent_queue__64(warm(batch::<ConcurrentQueue<Item>>()))]
fn injector_batch(mut job: Job) -> Job {
    job();
    job
}

#[library_benchmark]
#[bench::inbox__64(warm(inbox_of::<Inbox<Boxed<usize>>>()))]
#[bench::crossbeam__64(warm(inbox_of::<crossbeam_deque::Injector<Box<usize>>>()))]
#[bench::concurrent_queue__64(warm(inbox_of::<ConcurrentQueue<Box<usize>>>()))]
#[bench::mutex__64(warm(inbox_of::<Mutexed<Box<usize>>>()))]
fn inbox(mut job: Job) -> Job {
    job();
    job
}

#[library_benchmark]
#[bench::fork__64(warm(nested::<Fork>()))]
#[bench::crossbeam_lifo__64(warm(nested::<CrossbeamLifo>()))]
#[bench::st3_lifo__64(warm(nested::<St3Forks>()))]
fn fork_nested(mut job: Job) -> Job {
    job();
    job
}

#[library_benchmark]
#[bench::fork__64(warm(flat::<Fork>()))]
#[bench::crossbeam_lifo__64(warm(flat::<CrossbeamLifo>()))]
#[bench::st3_lifo__64(warm(flat::<St3Forks>()))]
fn fork_flat(mut job: Job) -> Job {
    job();
    job
}

#[library_benchmark]
#[bench::fork__64(warm(deep::<Fork>()))]
#[bench::crossbeam_lifo__64(warm(deep::<CrossbeamLifo>()))]
#[bench::st3_lifo__64(warm(deep::<St3Forks>()))]
fn fork_deep(mut job: Job) -> Job {
    job();
    job
}

library_benchmark_group!(
    name = rows,
    benchmarks = [
        push_pop,
        steal,
        injector,
        injector_batch,
        inbox,
        fork_nested,
        fork_flat,
        fork_deep
    ]
);
main!(library_benchmark_groups = [rows]);
