//! Joins: a binary tree whose nodes work for a while, and Fibonacci numbers. So many threads run them, those that sleep not
//! counted: chili's caller and that of `fork_guest` are one of them, the callers of the others sleep.

use std::hint::black_box;
use std::num::NonZero;
use std::time::Duration;

use chili::Scope;
use terrace_executor::{Executor, Worker, block_on};

use super::problems::{Problem, SERIAL, SIDE, merge, next, row, split, visit};
use super::work;

/// A node of a binary tree.
pub struct Node {
    value: u64,
    children: Option<Box<[Node; 2]>>,
}

impl Node {
    /// A full tree of so many levels.
    pub fn tree(levels: u32) -> Self {
        let children = || Box::new([Self::tree(levels - 1), Self::tree(levels - 1)]);
        Self {
            value: 1,
            children: (levels > 1).then(children),
        }
    }

    /// Its work: so many steps of about a nanosecond.
    fn visit(&self, steps: u64) -> u64 {
        let mut item = 0;
        work(&mut item, steps);
        self.value + black_box(item)
    }
}

/// A pool with joins.
pub trait Joins: 'static {
    /// Its name in rows.
    const NAME: &'static str;

    /// With that many threads.
    fn new(workers: usize) -> Self;

    /// Sums a tree up.
    fn tree(&self, root: &'static Node, steps: u64) -> u64;

    /// The Fibonacci number, a join a call.
    fn fib(&self, number: u64) -> u64;
}

/// The walks of a pool whose place goes from closure to closure.
macro_rules! walks {
    ($walks:ident, $place:ty, |$with:ident, $a:ident, $b:ident| $join:expr) => {
        mod $walks {
            use super::*;

            pub(super) fn tree($with: $place, node: &Node, steps: u64) -> u64 {
                let value = node.visit(steps);
                let Some(children) = &node.children else {
                    return value;
                };
                let $a = |place: $place| tree(place, &children[0], steps);
                let $b = |place: $place| tree(place, &children[1], steps);
                let (left, right) = $join;
                value + left + right
            }

            pub(super) fn fib($with: $place, number: u64) -> u64 {
                if number < 2 {
                    return number;
                }
                let $a = |place: $place| fib(place, number - 1);
                let $b = |place: $place| fib(place, number - 2);
                let (one, two) = $join;
                one + two
            }

            pub(super) fn quicksort($with: $place, items: &mut [u32]) {
                if items.len() <= SERIAL {
                    return items.sort_unstable();
                }
                let (low, high) = split(items);
                let $a = |place: $place| quicksort(place, low);
                let $b = |place: $place| quicksort(place, high);
                $join;
            }

            pub(super) fn merge_sort($with: $place, items: &mut [u32], room: &mut [u32]) {
                if items.len() <= SERIAL {
                    return items.sort_unstable();
                }
                let middle = items.len() / 2;
                let (low, high) = items.split_at_mut(middle);
                let (low_room, high_room) = room.split_at_mut(middle);
                let $a = |place: $place| merge_sort(place, low, low_room);
                let $b = |place: $place| merge_sort(place, high, high_room);
                $join;
                merge(items, room, middle);
            }

            pub(super) fn matmul($with: $place, product: &mut [f32], rows: &[f32], right: &[f32]) {
                if product.len() == SIDE {
                    return row(product, rows, right);
                }
                let middle = product.len() / SIDE / 2 * SIDE;
                let (upper, lower) = product.split_at_mut(middle);
                let (upper_rows, lower_rows) = rows.split_at(middle);
                let $a = |place: $place| matmul(place, upper, upper_rows, right);
                let $b = |place: $place| matmul(place, lower, lower_rows, right);
                $join;
            }

            pub(super) fn unbalanced($with: $place, seed: u64, nodes: u64) -> u64 {
                if nodes == 0 {
                    return 0;
                }
                let value = visit(1, 10);
                let (few, many) = (nodes / 8, nodes - 1 - nodes / 8);
                // On which side the many are changes from node to node.
                let (one, other) = match seed % 2 {
                    0 => (few, many),
                    _ => (many, few),
                };
                let $a = |place: $place| unbalanced(place, next(seed), one);
                let $b = |place: $place| unbalanced(place, next(seed ^ 1), other);
                let (one, other) = $join;
                value + one + other
            }

            pub(super) fn halves($with: $place, leaves: u64, steps: u64) -> u64 {
                if leaves == 1 {
                    return visit(1, steps);
                }
                let $a = |place: $place| halves(place, leaves / 2, steps);
                let $b = |place: $place| halves(place, leaves - leaves / 2, steps);
                let (one, other) = $join;
                one + other
            }

            pub(super) fn solve($with: $place, problem: &mut Problem) {
                match problem {
                    Problem::Quicksort(items) => quicksort($with, items),
                    Problem::MergeSort(items, room) => merge_sort($with, items, room),
                    Problem::Matmul {
                        product,
                        left,
                        right,
                    } => matmul($with, product, left, right),
                    Problem::Unbalanced { nodes, sum } => *sum = unbalanced($with, 1, *nodes),
                    Problem::Halves { leaves, steps, sum } => *sum = halves($with, *leaves, *steps),
                }
            }
        }
    };
}

/// Solves a problem again and again, and checks the first result.
pub fn solve<J: Solves>(pool: J, mut problem: Problem) -> impl FnMut() {
    pool.solve(&mut problem);
    problem.check();
    move || {
        problem.again();
        pool.solve(black_box(&mut problem));
    }
}

/// A pool whose caller is blocked until the problem is solved.
pub trait Solves: Joins {
    /// Solves the problem.
    fn solve(&self, problem: &mut Problem);
}

impl Solves for Guest {
    fn solve(&self, problem: &mut Problem) {
        self.0.with_worker(|worker| ours::solve(worker, problem));
    }
}

impl Solves for Chili {
    fn solve(&self, problem: &mut Problem) {
        chilis::solve(&mut self.0.scope(), problem);
    }
}

impl Solves for RayonJoins {
    fn solve(&self, problem: &mut Problem) {
        self.0.install(|| rayons::solve((), problem));
    }
}

walks!(ours, &Worker, |worker, a, b| worker.join(a, b));
walks!(chilis, &mut Scope<'_>, |scope, a, b| scope.join(a, b));
walks!(rayons, (), |_here, a, b| in_rayon(a, b));

fn in_rayon<A: Send, B: Send>(
    a: impl FnOnce(()) -> A + Send,
    b: impl FnOnce(()) -> B + Send,
) -> (A, B) {
    rayon_core::join(|| a(()), || b(()))
}

/// Ours.
pub struct Ours(Executor<'static>);

impl Joins for Ours {
    const NAME: &'static str = "fork";

    fn new(workers: usize) -> Self {
        Self(Executor::builder().workers(workers).build())
    }

    fn tree(&self, root: &'static Node, steps: u64) -> u64 {
        let sum = async move { Worker::with_current(|worker| ours::tree(worker, root, steps)) };
        block_on(self.0.spawn(sum))
    }

    fn fib(&self, number: u64) -> u64 {
        let sum = async move { Worker::with_current(|worker| ours::fib(worker, number)) };
        block_on(self.0.spawn(sum))
    }
}

/// Ours, where the caller is one of the threads, as chili's is.
pub struct Guest(Executor<'static>);

impl Joins for Guest {
    const NAME: &'static str = "fork_guest";

    fn new(workers: usize) -> Self {
        Self(Executor::builder().workers(workers - 1).build())
    }

    fn tree(&self, root: &'static Node, steps: u64) -> u64 {
        self.0.with_worker(|worker| ours::tree(worker, root, steps))
    }

    fn fib(&self, number: u64) -> u64 {
        self.0.with_worker(|worker| ours::fib(worker, number))
    }
}

/// chili's pool.
pub struct Chili(chili::ThreadPool);

impl Joins for Chili {
    const NAME: &'static str = "chili";

    fn new(workers: usize) -> Self {
        Self(chili::ThreadPool::with_config(chili::Config {
            thread_count: NonZero::new(workers),
            ..chili::Config::default()
        }))
    }

    fn tree(&self, root: &'static Node, steps: u64) -> u64 {
        chilis::tree(&mut self.0.scope(), root, steps)
    }

    fn fib(&self, number: u64) -> u64 {
        chilis::fib(&mut self.0.scope(), number)
    }
}

/// rayon's pool.
pub struct RayonJoins(rayon_core::ThreadPool);

impl Joins for RayonJoins {
    const NAME: &'static str = "rayon";

    fn new(workers: usize) -> Self {
        let pool = rayon_core::ThreadPoolBuilder::new().num_threads(workers);
        Self(pool.build().expect("the threads start"))
    }

    fn tree(&self, root: &'static Node, steps: u64) -> u64 {
        self.0.install(|| rayons::tree((), root, steps))
    }

    fn fib(&self, number: u64) -> u64 {
        self.0.install(|| rayons::fib((), number))
    }
}

/// Sums a tree of so many levels up, whose nodes work for so many steps. The tree is leaked: threads of any pool see it.
pub fn tree<J: Joins>(pool: J, levels: u32, steps: u64) -> impl FnMut() {
    let root: &'static Node = Box::leak(Box::new(Node::tree(levels)));
    move || {
        black_box(pool.tree(black_box(root), steps));
    }
}

/// A Fibonacci number.
pub fn fib<J: Joins>(pool: J, number: u64) -> impl FnMut() {
    move || {
        black_box(pool.fib(black_box(number)));
    }
}

/// One join, and a millisecond of sleep: the CPU time says what a pool costs that has almost nothing to do.
pub fn trickle<J: Joins>(pool: J) -> impl FnMut() {
    move || {
        black_box(pool.fib(black_box(2)));
        std::thread::sleep(Duration::from_millis(1));
    }
}
