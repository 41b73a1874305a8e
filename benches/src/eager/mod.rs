//! Trees of children that are mostly done at once: CPython's benchmark `async_tree`, on ours and on peers.
//!
//! A node spawns six children and waits for them, six levels deep: 55,987 tasks. The leaves differ by [`Leaf`].

mod joins;
mod timer;
mod tree;

pub use joins::{Await, EagerSpawner, Futures, JoinSet, LocalJoinSet, Started, Way};
pub use tree::{Leaf, tree, tree_of_futures};

use std::pin::Pin;

/// A node of the tree.
pub type Node = Pin<Box<dyn Future<Output = ()> + Send>>;

/// How a node runs its children and waits for them.
pub trait Join: Copy + Send + Sync + 'static {
    /// Starts the children, and ends after them.
    fn join(self, children: impl Iterator<Item = Node> + Send) -> impl Future<Output = ()> + Send;
}
