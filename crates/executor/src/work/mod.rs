//! Where a pool's work lies, and in which order each kind of looker takes it.
//!
//! [`source`] defines each place of work once, with two functions. `take` takes a piece of work out of it. `sight`
//! tells a thread that is about to sleep what lies there. [`order`] lists the places for each kind of looker. A
//! looker's search and its look before a sleep both follow that one list. So a looker sees, before it sleeps, all work
//! that it can take. `tests` proves it for every order, with an item in each place in turn.

pub(crate) mod found;
pub(crate) mod order;
pub(crate) mod sentinel;
pub(crate) mod source;
pub(crate) mod steal;
#[cfg(test)]
mod tests;
