//! [`Spill`]: where a full ring's items go.

/// Where the older half of a full [`Ring`](crate::Ring) goes: an [`Injector`](crate::Injector), or a queue made of several.
///
/// It may use the ring: no item of the half is in there any more.
///
/// # Examples
///
/// ```
/// use std::cell::RefCell;
/// use terrace_queue::{OwnedRing, Ring, Spill};
///
/// /// Keeps the spilt items on the thread.
/// struct List(RefCell<Vec<usize>>);
///
/// impl Spill<usize> for List {
///     fn spill(&self, items: impl Iterator<Item = usize>) {
///         self.0.borrow_mut().extend(items);
///     }
/// }
///
/// let (mut ring, list) = (OwnedRing::new(), List(RefCell::default()));
/// let owner = ring.owner();
/// for n in 0..=Ring::<usize>::CAPACITY {
///     owner.push_or_overflow(n, &list);
/// }
/// assert_eq!(list.0.borrow().first(), Some(&0));
/// ```
pub trait Spill<T> {
    /// Appends items, oldest first. The iterator does not panic. Items that are not taken out of it are dropped, and such a
    /// destructor may. [`Spill`] has an example.
    fn spill(&self, items: impl Iterator<Item = T>);
}
