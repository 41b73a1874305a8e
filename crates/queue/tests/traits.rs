//! The auto traits that the public types promise.

use static_assertions::{assert_impl_all, assert_not_impl_any};
use std::cell::Cell;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::rc::Rc;
use terrace_queue::fork::{
    Depth, ForkDeque, Full, Latch, Nest, Owner as ForkOwner, Popped, Root, Stolen,
};
use terrace_queue::{
    Boxed, Inbox, Injector, Overflow, OwnedRing, Owner, Ring, RunQueue, SlotTable,
};

/// Sendable, not shareable.
type Unshared = Cell<u32>;

assert_impl_all!(Ring<Unshared>: Send, Sync, Unpin, UnwindSafe, RefUnwindSafe);
assert_not_impl_any!(Ring<Rc<u32>>: Send, Sync);

assert_impl_all!(Owner<'static, Unshared>: Send, Unpin, UnwindSafe);
assert_not_impl_any!(Owner<'static, u32>: Sync, Clone);
assert_not_impl_any!(Owner<'static, Rc<u32>>: Send);

assert_impl_all!(OwnedRing<Unshared>: Send, Unpin, UnwindSafe);
assert_not_impl_any!(OwnedRing<u32>: Clone);
assert_not_impl_any!(OwnedRing<Rc<u32>>: Send);

assert_impl_all!(Injector<Unshared>: Send, Sync, Unpin, UnwindSafe, RefUnwindSafe);
assert_not_impl_any!(Injector<Rc<u32>>: Send, Sync);

assert_impl_all!(Inbox<Boxed<Unshared>>: Send, Sync, Unpin, UnwindSafe, RefUnwindSafe);
assert_not_impl_any!(Inbox<Boxed<Rc<u32>>>: Send, Sync);

assert_impl_all!(RunQueue<Unshared>: Send, Unpin, UnwindSafe, RefUnwindSafe);
assert_not_impl_any!(RunQueue<u32>: Sync);
assert_not_impl_any!(RunQueue<Rc<u32>>: Send);

assert_impl_all!(Overflow<u32>: Send, Sync, Unpin, UnwindSafe, RefUnwindSafe, std::error::Error);

assert_impl_all!(ForkDeque<&'static u32>: Send, Sync, Unpin, UnwindSafe, RefUnwindSafe);
assert_not_impl_any!(ForkDeque<*const u32>: Send, Sync);
assert_not_impl_any!(ForkDeque<&'static Unshared>: Send, Sync);

assert_impl_all!(ForkOwner<'static, &'static u32>: Send, Unpin, UnwindSafe);
assert_not_impl_any!(ForkOwner<'static, &'static u32>: Sync, Clone);
assert_not_impl_any!(ForkOwner<'static, *const u32>: Send);

assert_not_impl_any!(Depth: Copy, Clone);
assert_impl_all!(Full: Send, Sync, std::error::Error);
assert_impl_all!(Popped: Send, Sync, Copy);
assert_impl_all!(Stolen<&'static u32>: Send, Sync, Copy);

assert_impl_all!(SlotTable<u32, 1>: Send, Sync, Unpin);
assert_impl_all!(Latch<u32>: Send, Sync, Unpin);
assert_impl_all!(Nest: Send, Sync, Unpin);
assert_impl_all!(Root: Send, Sync, Copy);
