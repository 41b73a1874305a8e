//! The values that a scope keeps.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

use terrace_executor::Builder;
use terrace_fork::{Scope, scope};
use terrace_testing::{CountingAllocator, allocations, freed, on_own_thread, on_stack_of};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// A kept value as crates that build on this one keep it: it refers to the scope and to values kept before.
struct Facade<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    before: Option<&'scope Facade<'scope, 'env>>,
}

#[test]
fn kept_values_refer_to_the_scope_and_to_each_other() {
    on_own_thread(|| {
        let executor = Builder::new().workers(2).build();
        let count = AtomicUsize::new(0);
        scope(&executor, |scope| {
            let first = scope.keep(Facade {
                scope,
                before: None,
            });
            let second = scope.keep(Facade {
                scope,
                before: Some(first),
            });
            let count = &count;
            for facade in [first, second] {
                facade.scope.spawn(async move {
                    let depth = std::iter::successors(Some(facade), |f| f.before).count();
                    count.fetch_add(depth, Ordering::Relaxed);
                    facade.scope.spawn(async move {
                        let late = facade.scope.keep([1, 2]);
                        count.fetch_add(late.iter().sum(), Ordering::Relaxed);
                    });
                });
            }
        });
        assert_eq!(count.into_inner(), 1 + 2 + 3 + 3);
    });
}

/// No worker runs the child before the body has ended.
#[test]
fn a_child_reads_a_kept_value_behind_the_body() {
    on_own_thread(|| {
        let executor = Builder::new().workers(0).build();
        scope(&executor, |scope| {
            // The first value lies in the scope's frame if it is small; this one is boxed.
            let kept = scope.keep([1; 100]);
            scope.spawn(async move { assert_eq!(*kept, [1; 100]) });
        });
    });
}

#[test]
fn many_kept_values_are_freed_on_a_small_stack() {
    on_own_thread(|| {
        let executor = Builder::new().workers(0).build();
        let body = move || {
            let before = (allocations(), freed());
            scope(&executor, |scope| {
                for n in 0..400_000_usize {
                    assert_eq!(*scope.keep(n), n);
                }
            });
            let (allocated, freed) = (allocations() - before.0, freed() - before.1);
            assert!(allocated >= 399_999, "the first needs no box");
            assert!(allocated - freed < 100, "the executor keeps a few");
        };
        on_stack_of(64 << 10, body);
    });
}

/// Types without a size have no memory of their own.
#[test]
fn a_value_without_a_size_is_kept() {
    on_own_thread(|| {
        let executor = Builder::new().workers(0).build();
        scope(&executor, |scope| {
            let unit: &() = scope.keep(());
            scope.spawn(async move { assert_eq!(*unit, ()) });
        });
    });
}

/// A value whose destructor reads its sibling is declared outside the scope: it is dropped where its owner says.
#[test]
fn values_with_destructors_are_borrowed_instead() {
    struct Reads<'a>(&'a Cell<u32>);
    impl Drop for Reads<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }
    on_own_thread(|| {
        let executor = Builder::new().workers(1).build();
        let read = Cell::new(0);
        let sum = AtomicUsize::new(0);
        {
            let owner = Reads(&read);
            let numbers = vec![1, 2, 3];
            scope(&executor, |scope| {
                let kept = scope.keep(&numbers);
                scope.spawn(async {
                    sum.fetch_add(kept.iter().sum(), Ordering::Relaxed);
                });
            });
            assert_eq!(owner.0.get(), 0);
        }
        assert_eq!(read.get(), 1);
        assert_eq!(sum.into_inner(), 6);
    });
}
