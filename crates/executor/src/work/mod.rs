//! Where a pool's work lies, and in which order each kind of looker takes it.
//!
//! [`source`] defines each place of work once, with two functions: `take` takes a piece of work out of it, `sight` tells a
//! thread that is about to sleep what lies there. [`order`] lists the places for each kind of looker; the search of a looker
//! and what keeps it awake are both made from its one list. So what a looker can take is visible to it before it sleeps;
//! `tests` proves it for every order, with an item in each place in turn.

pub(crate) mod found;
pub(crate) mod order;
pub(crate) mod scan;
pub(crate) mod source;
pub(crate) mod stalled;
#[cfg(test)]
mod tests;
