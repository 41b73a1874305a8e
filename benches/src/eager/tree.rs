//! The tree, and its leaves.

use std::hint::black_box;

use super::{Join, Node, timer};
use crate::spawn::{Contender, Spawner};

/// Children of a node, and levels of nodes below the root.
const SIX: u64 = 6;

/// What the leaves do: CPython's variants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Leaf {
    /// Nothing.
    None,
    /// Each sleeps: a timer's thread wakes it.
    Io,
    /// Nine of ten have their result at hand, the others sleep.
    Memoization,
    /// Every second one computes, the others sleep.
    CpuIoMixed,
}

impl Leaf {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::None, Self::Io, Self::Memoization, Self::CpuIoMixed];

    /// The name of the workload.
    #[must_use]
    pub const fn workload(self) -> &'static str {
        match self {
            Self::None => "async_tree_none",
            Self::Io => "async_tree_io",
            Self::Memoization => "async_tree_memoization",
            Self::CpuIoMixed => "async_tree_cpu_io_mixed",
        }
    }

    async fn run(self, number: u64) {
        match self {
            Self::None => {}
            Self::Io => timer::sleep().await,
            Self::Memoization if !scatter(number).is_multiple_of(10) => {}
            Self::CpuIoMixed if scatter(number) % 2 == 1 => compute(number),
            Self::Memoization | Self::CpuIoMixed => timer::sleep().await,
        }
    }
}

/// A number that looks random, the same in each run.
fn scatter(number: u64) -> u64 {
    number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33
}

/// About a microsecond.
fn compute(number: u64) {
    let product = |product: u64, factor| black_box(product.wrapping_mul(factor));
    black_box((1..500).fold(number | 1, product));
}

fn node<J: Join>(join: J, leaf: Leaf, level: u64, number: u64) -> Node {
    Box::pin(async move {
        if level == 0 {
            return leaf.run(number).await;
        }
        let child = |child| node(join, leaf, level - 1, number * SIX + child);
        join.join((0..SIX).map(child)).await;
    })
}

/// The tree on a contender: its root is a task.
pub fn tree<C: Contender, J: Join>(
    contender: C,
    join: impl Fn(C::Spawner) -> J,
    leaf: Leaf,
) -> impl FnMut() {
    let spawner = contender.spawner();
    let join = join(spawner);
    move || contender.run(async { spawner.spawn(node(join, leaf, SIX, 0)).await })
}

/// The tree without tasks: futures in one another.
pub fn tree_of_futures<J: Join>(join: J, leaf: Leaf) -> impl FnMut() {
    move || futures_lite::future::block_on(node(join, leaf, SIX, 0))
}
