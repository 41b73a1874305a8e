//! The auto traits that the public types promise.

use static_assertions::{assert_impl_all, assert_not_impl_any};
use std::cell::Cell;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::rc::Rc;
use terrace_sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};
use terrace_sync::cell::UnsafeCell;
use terrace_sync::count::Counts;
use terrace_sync::thread::{Builder, JoinHandle, Thread};
use terrace_sync::{Mutex, MutexGuard, OnceLock};

assert_impl_all!(AtomicBool: Send, Sync, Unpin, UnwindSafe, RefUnwindSafe);
assert_impl_all!(AtomicU32: Send, Sync, Unpin, UnwindSafe, RefUnwindSafe);
assert_impl_all!(AtomicU64: Send, Sync, Unpin, UnwindSafe, RefUnwindSafe);
assert_impl_all!(AtomicUsize: Send, Sync, Unpin, UnwindSafe, RefUnwindSafe);
assert_impl_all!(AtomicPtr<Rc<u32>>: Send, Sync, Unpin, UnwindSafe, RefUnwindSafe);

assert_impl_all!(UnsafeCell<u32>: Send, Unpin, UnwindSafe);
assert_not_impl_any!(UnsafeCell<u32>: Sync, RefUnwindSafe);
assert_not_impl_any!(UnsafeCell<Rc<u32>>: Send);

assert_impl_all!(Mutex<Cell<u32>>: Send, Sync, Unpin, UnwindSafe, RefUnwindSafe);
assert_not_impl_any!(Mutex<Rc<u32>>: Send, Sync);
assert_impl_all!(MutexGuard<'static, u32>: Sync, Unpin, UnwindSafe, RefUnwindSafe);
assert_not_impl_any!(MutexGuard<'static, u32>: Send);

assert_impl_all!(OnceLock<u32>: Send, Sync, Unpin, UnwindSafe, RefUnwindSafe);
assert_not_impl_any!(OnceLock<Rc<u32>>: Send, Sync);
assert_not_impl_any!(OnceLock<Cell<u32>>: Sync);

assert_impl_all!(Thread: Send, Sync, Unpin, UnwindSafe, RefUnwindSafe);
assert_impl_all!(JoinHandle<u32>: Send, Sync, Unpin);
assert_impl_all!(Builder: Send, Sync, Unpin, UnwindSafe, RefUnwindSafe);
assert_impl_all!(Counts: Send, Sync, Unpin, UnwindSafe, RefUnwindSafe);
