//! The interface of `rayon-core` 1.13, on Terrace's executor.
//!
//! | item of rayon-core                          | here                                                                       |
//! |---------------------------------------------|----------------------------------------------------------------------------|
//! | [`join`], [`join_context`]                  | `terrace_executor::Worker::join`: the fork deques of the executor          |
//! | a thread of a pool                          | a hosted worker of an executor without spares                              |
//! | [`spawn`], children of scopes               | a job in a queue of its thread; *tickets* in the executor bring threads to it |
//! | [`broadcast`], [`spawn_broadcast`]          | an inbox of each thread, looked at between jobs and in waits               |
//! | calls from threads that are in no pool      | `Executor::stand_in`, in the global pool; else a job in the pool's shared queue, and the caller sleeps |
//!
//! The README says what differs from the published crate.
#![doc = include_str!("../README.md")]

mod broadcast;
mod builder;
mod call;
mod children;
mod error;
mod job;
mod join;
mod locked;
mod member;
mod pool;
mod queue;
mod registry;
mod scope;
mod spawn;
mod threads;
mod ticket;
mod wait;

pub use crate::{
    broadcast::{BroadcastContext, broadcast, spawn_broadcast},
    builder::ThreadPoolBuilder,
    error::ThreadPoolBuildError,
    join::{FnContext, join, join_context},
    pool::{
        ThreadPool, Yield, current_num_threads, current_thread_has_pending_tasks,
        current_thread_index, yield_local, yield_now,
    },
    scope::{Scope, ScopeFifo, in_place_scope, in_place_scope_fifo, scope, scope_fifo},
    spawn::{spawn, spawn_fifo},
    threads::{ThreadBuilder, max_num_threads},
};
#[expect(deprecated, reason = "the published crate has them")]
pub use builder::{Configuration, initialize};
