//! Looking at panics.

/// The text of a panic.
pub(crate) fn text(payload: Box<dyn std::any::Any + Send>) -> String {
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => payload
            .downcast_ref::<&str>()
            .unwrap_or(&"not a text")
            .to_string(),
    }
}
