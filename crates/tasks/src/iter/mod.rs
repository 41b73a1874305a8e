//! Iterators whose items come in batches, and a pool task for each batch.

mod adapters;
mod impls;
mod iterator;

pub use adapters::{
    Chain, Cloned, Copied, Cycle, Filter, FilterMap, FlatMap, Flatten, Fuse, Inspect, Map,
};
pub use iterator::ParallelIterator;
