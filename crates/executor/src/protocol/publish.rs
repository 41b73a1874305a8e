//! What a protocol answers to a thread that has queued an item. Not an API; public for the models.

/// When the item is published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the item may have to be published now"]
pub enum Publish {
    /// The thread that has queued it publishes it now.
    Now,
    /// The protocol says who publishes it later, if anyone has to.
    Later,
}
