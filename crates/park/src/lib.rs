//! Every decision about sleeping and waking the workers of an executor.
#![doc = include_str!("../README.md")]
#![cfg_attr(
    docsrs,
    feature(doc_cfg),
    doc(auto_cfg(hide(terrace_loom, terrace_shuttle, terrace_count)))
)]

#[macro_use]
mod weaken;

mod call;
mod contain;
mod deadline;
mod doing;
mod driver;
mod drivers;
mod flag;
mod group;
mod groups;
mod hold;
mod idle;
mod members;
mod outcome;
mod parker;
mod polled;
mod restricted;
mod search;
mod seat;
mod sentinel;
mod token;
#[cfg(doctest)]
mod types;
mod wake;
mod word;

pub use doing::Doing;
pub use driver::Driver;
pub use hold::Held;
pub use idle::{Idle, Work};
pub use outcome::{Restricted, Wake, Woken};
pub use parker::{Parker, Unparker};
pub use token::Token;
pub use word::GROUP_CAPACITY;
