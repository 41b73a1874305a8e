//! The module `inspect` without records: nothing is left of it, and the functions return what they get.

use core::panic::Location;
use core::time::Duration;
use std::string::String;
use std::vec::Vec;

use crate::report::Task;

/// Whether each task has a record.
pub const ENABLED: bool = false;

/// No records.
pub struct Table;

impl Table {
    pub fn new(_: u64, _: fn(u64) -> (u64, Option<usize>)) -> Self {
        Self
    }

    pub fn look(
        &self,
        _: impl Fn(usize) -> Option<usize>,
        _: impl Fn(u64) -> Option<String>,
    ) -> (Option<Vec<Task>>, bool) {
        (None, false)
    }
}

/// No place.
#[derive(Clone, Copy)]
pub struct Began;

impl Began {
    #[inline(always)]
    pub fn here(_: impl FnOnce() -> u64) -> Self {
        Self
    }
}

/// No time.
#[derive(Default)]
pub struct Since;

impl Since {
    #[inline(always)]
    pub fn set(&self, _: Began) {}

    pub fn look(&self) -> Option<(&'static Location<'static>, Duration)> {
        None
    }
}

pub type Recorded<F> = F;

#[inline(always)]
pub fn task<F>(_: &Table, future: F) -> F {
    future
}

#[inline(always)]
pub fn child<'t, F>(_: impl FnOnce() -> &'t Table, _: &'static str, _: *const (), future: F) -> F {
    future
}

#[inline(always)]
pub fn call<F>(_: &Table, _: &'static str, _: *const (), call: F) -> F {
    call
}

pub fn name_of(_: u64) -> Option<String> {
    None
}

/// A wait of which no record is kept.
pub struct Waiting;

#[inline(always)]
pub fn waits(_: &'static str) -> Waiting {
    Waiting
}
