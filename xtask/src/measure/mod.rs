//! The measuring engine that the bench commands share: building the benches of a tree, running one of
//! them, and the statistics of rounds.

pub(crate) mod build;
pub(crate) mod child;
pub(crate) mod criterion;
pub(crate) mod id;
pub(crate) mod instr;
pub(crate) mod machine;
pub(crate) mod share;
pub(crate) mod stats;
