//! Eager children: the first poll in the call that spawns, and everything that may go otherwise there.

mod ends;
mod first_poll;
mod limits;
mod random;

use terrace_local::LocalExecutor;

/// An executor of each kind runs `body`.
fn each_kind(body: impl Fn(&LocalExecutor<'static>)) {
    body(&LocalExecutor::new());
    body(LocalExecutor::new().leak());
}
