//! The measuring engine that the bench commands share: building the benches of a tree, running them in rounds. The
//! statistics of rounds are `xtask-stats`.

pub(crate) mod build;
pub(crate) mod child;
pub(crate) mod criterion;
pub(crate) mod id;
pub(crate) mod instr;
pub(crate) mod machine;
pub(crate) mod rounds;
pub(crate) mod runs;
pub(crate) mod share;
pub(crate) mod wake;
