//! What a join costs that no thread steals: the nodes of a binary tree are summed by joins, and by plain calls.
//!
//!     cargo run --release -p terrace-executor --example fork_cost -- [DEPTH [WORKERS [join | plain | flat]]]
//!
//! With a mode the example runs that one once, for `valgrind --tool=callgrind`: the difference of two depths is the cost of the
//! nodes in between.

use std::env::args;
use std::hint::black_box;
use std::time::{Duration, Instant};

use terrace_executor::{Builder, Worker};

struct Node {
    value: u64,
    children: Option<Box<(Node, Node)>>,
}

fn tree(depth: u32) -> Node {
    Node {
        value: 1,
        children: (depth > 0).then(|| Box::new((tree(depth - 1), tree(depth - 1)))),
    }
}

#[inline(never)]
fn by_joins(worker: &Worker, node: &Node) -> u64 {
    let Some(children) = &node.children else {
        return node.value;
    };
    let (left, right) = worker.join(
        |worker| by_joins(worker, &children.0),
        |worker| by_joins(worker, &children.1),
    );
    node.value + left + right
}

#[inline(never)]
fn by_calls(node: &Node) -> u64 {
    let Some(children) = &node.children else {
        return node.value;
    };
    // The order of a join: the half that is forked runs last.
    let right = by_calls(&children.1);
    node.value + by_calls(&children.0) + right
}

/// As many joins as a tree has nodes, one after the other.
fn flat(worker: &Worker, depth: u32) -> u64 {
    (0..2_u64 << depth).fold(0, |sum, number| {
        let (a, b) = worker.join(|_| black_box(number), |_| black_box(1));
        sum + (a & b)
    })
}

fn least(mut run: impl FnMut() -> u64) -> Duration {
    let timed = |_| {
        let since = Instant::now();
        black_box(run());
        since.elapsed()
    };
    (0..20).map(timed).min().expect("20 runs")
}

fn main() {
    let mut args = args().skip(1);
    let depth = args
        .next()
        .map_or(16, |depth| depth.parse().expect("a number"));
    let workers = args
        .next()
        .map_or(1, |workers| workers.parse().expect("a number"));
    let executor = Builder::new().workers(workers).build();
    let root = tree(depth);
    executor.with_worker(|worker| match args.next().as_deref() {
        Some("join") => println!("{}", by_joins(worker, &root)),
        Some("plain") => println!("{}", by_calls(&root)),
        Some("flat") => println!("{}", flat(worker, depth)),
        Some(other) => panic!("{other} is no mode"),
        None => {
            let joins = f64::from((1_u32 << depth) - 1);
            let per_join = |time: Duration| time.as_nanos() as f64 / joins;
            let plain = per_join(least(|| by_calls(black_box(&root))));
            println!("plain calls  {plain:6.2} ns a node with children");
            let forked = per_join(least(|| by_joins(worker, black_box(&root))));
            println!("joins        {forked:6.2} ns");
            let flat = per_join(least(|| flat(worker, depth))) / 2.0;
            println!("flat joins   {flat:6.2} ns");
        }
    });
}
