//! [`Spill`]: where a full ring's items go.

/// Where the older half of a full [`Ring`](crate::Ring) goes: an [`Injector`](crate::Injector), or a queue made of several.
///
/// It may use the ring: no item of the half is in there any more.
pub trait Spill<T> {
    /// Appends items, oldest first. The iterator does not panic. Items that are not taken out of it are dropped, and such a
    /// destructor may.
    fn spill(&self, items: impl Iterator<Item = T>);
}
