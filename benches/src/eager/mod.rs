//! Trees of children that are mostly done at once: CPython's benchmark `async_tree`, on ours and on peers.
//!
//! A node spawns six children and waits for them, six levels deep: 55,987 tasks. The leaves differ by [`Leaf`].
//!
//! [`Calls`] awaits each child as it makes it. That is the tree alone: a box for each node, its future written there, and its poll.
//! Each contender has this part, so no contender can need less. In instructions it is 0.38 of `FuturesUnordered`, 0.29 of our queued
//! children, and 0.34 of our eager ones with a wake (`cargo xtask bench --layer eager --metric instr`). So on this tree no
//! implementation comes down to a quarter of `FuturesUnordered`, or of ours.

mod child;
mod joins;
mod timer;
mod tree;

pub use child::{TURN, called_children, eager_children};
pub use joins::{Await, Calls, EagerSpawner, Futures, JoinSet, LocalJoinSet, Started, Way};
pub use tree::{Leaf, tree, tree_of_futures};

use std::pin::Pin;

/// A node of the tree.
pub type Node = Pin<Box<dyn Future<Output = ()> + Send>>;

/// How a node runs its children and waits for them.
pub trait Join: Copy + Send + Sync + 'static {
    /// Starts the children, and ends after them.
    fn join(self, children: impl Iterator<Item = Node> + Send) -> impl Future<Output = ()> + Send;
}
