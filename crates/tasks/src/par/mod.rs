//! Data on a pool: slices, vectors, ranges and chunks, without a pool at each call and without turbofish.

mod consume;
pub(crate) mod parts;
mod sort;
mod source;

pub use consume::{Batches, Par};
pub use source::{IntoSource, Source};
