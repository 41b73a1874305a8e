//! What a pool, or all pools of the process, look like at one moment, and what may be stuck there. The executor fills in the data: `Dump`
//! of `terrace-executor` is a [`Report`].
//!
//! | file       | has                                              |
//! |------------|--------------------------------------------------|
//! | `data`     | what is known of a pool                          |
//! | `suspects` | which of it may be the reason that nothing moves |
//! | `text`     | the text, its suspects first                     |
//! | `json`     | the JSON                                         |

mod data;
mod json;
mod suspects;
mod text;

use core::fmt;
use std::string::String;
use std::vec::Vec;

pub use data::{Doing, Join, Phase, Pool, Scope, State, System, Task, Worker};
pub use text::count;

/// Pools at one moment.
#[derive(Clone, PartialEq, Eq)]
pub struct Report {
    suspects: Vec<String>,
    pools: Vec<Pool>,
    /// Whether there may be pools that are not shown: their list was locked.
    partial: bool,
}

impl Report {
    /// On these pools.
    #[must_use = "a report is returned, and not printed"]
    pub fn new(pools: Vec<Pool>, partial: bool) -> Self {
        Self {
            suspects: suspects::of(&pools),
            pools,
            partial,
        }
    }

    /// Which parts may be the reason that nothing moves, the likeliest first.
    #[must_use = "the call only reads a value"]
    pub fn suspects(&self) -> &[String] {
        &self.suspects
    }

    /// The report as one line of JSON.
    #[must_use = "the text is returned, and not printed"]
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        json::object(
            &mut out,
            &[
                ("suspects", &self.suspects),
                ("pools", &self.pools),
                ("partial", &self.partial),
            ],
        );
        out
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        text::write(f, &self.suspects, &self.pools, self.partial)
    }
}
