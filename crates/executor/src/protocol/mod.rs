//! The handshakes between threads, each on its own and generic over what it guards, so that the loom models run it.

pub mod alarm;
pub mod broadcast;
pub mod deferred_publish;
pub mod fork;
pub mod holders;
pub mod lifo_slot;
pub mod permits;
pub mod publish;
pub mod quiet;
pub mod scope;
pub mod sight;
