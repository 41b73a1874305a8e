//! Joins: a binary tree whose nodes work for a while, and Fibonacci numbers. So many threads run them, those that sleep not
//! counted: chili's caller and that of `fork_guest` are one of them, the callers of the others sleep.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Mutex;
use std::time::Duration;

use super::problems::Problem;
use super::work;

/// A node of a binary tree.
pub struct Node {
    value: u64,
    pub(super) children: Option<Box<[Node; 2]>>,
}

/// What one node takes of the heap: the allocator's part of a pair is as large as a word.
const NODE: u64 = 24;

impl Node {
    /// A full tree of so many levels. It is leaked: threads of any pool see it, and all rows of a process.
    fn leaked(levels: u32) -> &'static Self {
        static TREES: Mutex<BTreeMap<u32, &'static Node>> = Mutex::new(BTreeMap::new());
        let mut trees = TREES.lock().expect("no tree has panicked");
        trees
            .entry(levels)
            .or_insert_with(|| Box::leak(Box::new(Self::tree(levels))))
    }

    fn tree(levels: u32) -> Self {
        let children = || Box::new([Self::tree(levels - 1), Self::tree(levels - 1)]);
        Self {
            value: 1,
            children: (levels > 1).then(children),
        }
    }

    /// Its work: so many steps of about a nanosecond.
    pub(super) fn visit(&self, steps: u64) -> u64 {
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

    /// Sums a tree up. The half `FIRST` of each node's children is the first closure of a join.
    fn tree<const FIRST: usize>(&self, root: &'static Node, steps: u64) -> u64;

    /// The Fibonacci number, a join a call.
    fn fib(&self, number: u64) -> u64;
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

/// Nodes of a tree of so many levels.
pub fn nodes(levels: u32) -> u64 {
    (1 << levels) - 1
}

/// Whether the machine has the memory for a tree of so many levels; says so if it has not.
pub fn fits(levels: u32) -> bool {
    let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse().ok());
    let (wanted, nodes) = ((nodes(levels) * NODE) >> 20, nodes(levels));
    let there = kibibytes.map_or(u64::MAX, |kibibytes: u64| kibibytes >> 10);
    if wanted > there {
        eprintln!(
            "the trees of {nodes} nodes are left out: they take {wanted} MiB, {there} MiB are free"
        );
    }
    wanted <= there
}

/// Sums a tree of so many levels up, whose nodes work for so many steps. See [`Joins::tree`] for the order.
pub fn tree<J: Joins, const FIRST: usize>(pool: J, levels: u32, steps: u64) -> impl FnMut() {
    let root = Node::leaked(levels);
    // The work of a node adds nothing to its value.
    assert_eq!(pool.tree::<FIRST>(root, 0), nodes(levels));
    move || {
        black_box(pool.tree::<FIRST>(black_box(root), steps));
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
