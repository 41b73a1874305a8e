//! [`outputs`]: futures that run side by side, and what they return.

use std::future::Future;

use terrace_executor::Executor;

use crate::scope::scope;

/// Runs futures as the children of a [`scope`], and returns their outputs in order. Futures and outputs may borrow from the caller.
///
/// Two allocations, and one for each future.
///
/// # Panics
/// As [`scope_with`](crate::scope_with): with the panic of the first future that panicked, in their order.
///
/// # Examples
///
/// ```
/// let executor = terrace_executor::Builder::new().workers(2).build();
/// let text = String::from("outputs may borrow");
/// let words = text.split(' ').map(|word| async move { &word[..1] });
/// assert_eq!(terrace_fork::outputs(&executor, words), ["o", "m", "b"]);
/// ```
#[doc(alias = "join_all")]
pub fn outputs<F>(
    executor: &Executor<'static>,
    futures: impl IntoIterator<Item = F>,
) -> Vec<F::Output>
where
    F: Future<Output: Send> + Send,
{
    let futures: Vec<F> = futures.into_iter().collect();
    let mut places: Vec<Option<F::Output>> = futures.iter().map(|_| None).collect();
    scope(executor, |scope| {
        for (future, place) in futures.into_iter().zip(&mut places) {
            scope.spawn_into(place, future);
        }
    });
    let taken = places.into_iter();
    taken
        .map(|place| place.expect("a scope returns after each child has its output"))
        .collect()
}
