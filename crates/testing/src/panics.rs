//! Looking at panics.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The text of a panic.
#[must_use]
pub fn text(payload: &(dyn Any + Send)) -> &str {
    match payload.downcast_ref::<String>() {
        Some(text) => text,
        None => payload
            .downcast_ref::<&str>()
            .copied()
            .unwrap_or("not a text"),
    }
}

/// The text of the panic that a call ends with.
///
/// # Panics
/// If it does not panic.
pub fn text_of<T>(call: impl FnOnce() -> T) -> String {
    text(&*payload_of(call)).to_owned()
}

/// The payload that a call panics with.
///
/// # Panics
/// If it does not panic.
pub fn payload_of<T>(call: impl FnOnce() -> T) -> Box<dyn Any + Send> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(_) => panic!("a panic was expected"),
        Err(payload) => payload,
    }
}
