//! The handshakes between threads, each on its own and generic over what it guards, so that the loom models run it.

pub mod end;
pub mod job;
pub mod publish;
pub mod scope;
