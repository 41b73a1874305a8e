//! `terrace-queue`: the ring of one worker, the shared queue, the inbox.

use std::collections::VecDeque;
use std::hint::black_box;
use std::sync::Mutex;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use terrace_queue::{Boxed, Inbox, Injector, Node, Ring};

type Item = Box<u64>;

/// A queue that has one owner and lets others steal. The benches own both ends.
trait Stealable {
    const NAME: &str;
    fn new() -> Self;
    fn push(&self, item: Item);
    fn pop(&self) -> Option<Item>;
    /// Takes a batch from `victim`, returns one of it and keeps the rest.
    fn steal_from(&self, victim: &Self) -> Option<Item>;
}

impl Stealable for Ring<Item> {
    const NAME: &str = "ring";

    fn new() -> Self {
        Ring::new()
    }

    fn push(&self, item: Item) {
        // SAFETY: only the bench's one thread uses the ring.
        let owner = unsafe { self.owner() };
        assert!(owner.push(item).is_ok(), "a bench stays below the capacity");
    }

    fn pop(&self) -> Option<Item> {
        // SAFETY: as in `push`.
        unsafe { self.owner() }.pop()
    }

    fn steal_from(&self, victim: &Self) -> Option<Item> {
        // SAFETY: as in `push`.
        let owner = unsafe { self.owner() };
        victim.steal_into(&owner)
    }
}

impl Stealable for crossbeam_deque::Worker<Item> {
    const NAME: &str = "crossbeam_fifo";

    fn new() -> Self {
        crossbeam_deque::Worker::new_fifo()
    }

    fn push(&self, item: Item) {
        self.push(item);
    }

    fn pop(&self) -> Option<Item> {
        self.pop()
    }

    fn steal_from(&self, victim: &Self) -> Option<Item> {
        victim.stealer().steal_batch_and_pop(self).success()
    }
}

/// A queue that anybody may push to and pop from.
trait Shared {
    const NAME: &str;
    fn new() -> Self;
    fn push(&self, item: Item);
    fn pop(&self) -> Option<Item>;
}

macro_rules! shared {
    ($($Queue:ty, $name:literal, $new:expr, $push:expr, $pop:expr;)+) => {$(
        impl Shared for $Queue {
            const NAME: &str = $name;

            fn new() -> Self {
                $new
            }

            fn push(&self, item: Item) {
                $push(self, item);
            }

            fn pop(&self) -> Option<Item> {
                $pop(self)
            }
        }
    )+};
}

shared! {
    Injector<Item>, "injector", Injector::new(), Injector::push, Injector::pop;
    crossbeam_deque::Injector<Item>, "crossbeam_injector", crossbeam_deque::Injector::new(),
        crossbeam_deque::Injector::push, |q: &Self| q.steal().success();
    Mutex<VecDeque<Item>>, "mutex", Mutex::default(),
        |q: &Self, item| q.lock().expect("nobody panics").push_back(item),
        |q: &Self| q.lock().expect("nobody panics").pop_front();
}

const AMOUNTS: [u64; 2] = [1, 64];

fn ring_push_pop<Q: Stealable>(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("queue/push_pop");
    for amount in AMOUNTS {
        let queue = Q::new();
        group.throughput(Throughput::Elements(amount));
        group.bench_function(BenchmarkId::new(Q::NAME, amount), |b| {
            let mut items: Vec<Item> = (0..amount).map(Box::new).collect();
            b.iter(|| {
                items.drain(..).for_each(|item| queue.push(item));
                items.extend(std::iter::from_fn(|| queue.pop()));
                black_box(&items);
            });
        });
    }
    group.finish();
}

fn ring_steal<Q: Stealable>(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("queue/steal");
    for amount in AMOUNTS {
        let (victim, thief) = (Q::new(), Q::new());
        group.throughput(Throughput::Elements(amount));
        group.bench_function(BenchmarkId::new(Q::NAME, amount), |b| {
            let mut items: Vec<Item> = (0..amount).map(Box::new).collect();
            b.iter(|| {
                items.drain(..).for_each(|item| victim.push(item));
                while let Some(item) = thief.steal_from(&victim) {
                    items.push(item);
                    items.extend(std::iter::from_fn(|| thief.pop()));
                }
                black_box(&items);
            });
        });
    }
    group.finish();
}

fn shared_push_pop<Q: Shared>(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("queue/shared_push_pop");
    for amount in AMOUNTS {
        let queue = Q::new();
        group.throughput(Throughput::Elements(amount));
        group.bench_function(BenchmarkId::new(Q::NAME, amount), |b| {
            let mut items: Vec<Item> = (0..amount).map(Box::new).collect();
            b.iter(|| {
                items.drain(..).for_each(|item| queue.push(item));
                items.extend(std::iter::from_fn(|| queue.pop()));
                black_box(&items);
            });
        });
    }
    group.finish();
}

/// As `shared_push_pop`; the owner of an inbox takes everything at once.
fn inbox_push_take(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("queue/shared_push_pop");
    for amount in AMOUNTS {
        let inbox = Inbox::<Boxed<u64>>::new();
        group.throughput(Throughput::Elements(amount));
        group.bench_function(BenchmarkId::new("inbox", amount), |b| {
            let mut items: Vec<_> = (0..amount).map(Node::boxed).collect();
            b.iter(|| {
                items.drain(..).for_each(|item| inbox.push(item));
                items.extend(inbox.take());
                black_box(&items);
            });
        });
    }
    group.finish();
}

criterion_group!(
    benches,
    ring_push_pop::<Ring<Item>>,
    ring_push_pop::<crossbeam_deque::Worker<Item>>,
    ring_steal::<Ring<Item>>,
    ring_steal::<crossbeam_deque::Worker<Item>>,
    shared_push_pop::<Injector<Item>>,
    inbox_push_take,
    shared_push_pop::<crossbeam_deque::Injector<Item>>,
    shared_push_pop::<Mutex<VecDeque<Item>>>,
);
criterion_main!(benches);
