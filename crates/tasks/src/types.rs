//! Programs that must not compile.
//!
//! A scope leaves its call; a task borrows a value declared inside; a task borrows mutably a value that another one reads:
//!
//! ```compile_fail,E0521
//! let mut outside = None;
//! terrace_tasks::TaskPool::new().scope::<_, ()>(|scope| outside = Some(scope));
//! ```
//!
//! ```compile_fail,E0373
//! terrace_tasks::TaskPool::new().scope(|scope| {
//!     let inside = String::new();
//!     scope.spawn(async { inside.len() });
//! });
//! ```
//!
//! ```compile_fail,E0502
//! let mut number = 1;
//! terrace_tasks::TaskPool::new().scope(|scope| {
//!     let read = &number;
//!     scope.spawn(async move { println!("{read}") });
//!     scope.spawn(async { number += 1 });
//! });
//! ```
//!
//! A scope's lifetimes are not changed:
//!
//! ```compile_fail
//! use terrace_tasks::Scope;
//! fn shorter<'s, 'a: 's, 'b: 'a>(scope: &'s Scope<'a, 'b, ()>) -> &'s Scope<'s, 'b, ()> { scope }
//! ```
//!
//! ```compile_fail
//! use terrace_tasks::Scope;
//! fn shorter<'s, 'a: 's, 'b: 'a>(scope: &'s Scope<'s, 'b, ()>) -> &'s Scope<'s, 'a, ()> { scope }
//! ```
//!
//! ```compile_fail
//! use terrace_tasks::Scope;
//! fn longer<'r, 'a: 'r, 'b: 'a, 'e: 'b>(scope: &'r Scope<'a, 'e, ()>) -> &'r Scope<'b, 'e, ()> { scope }
//! ```
//!
//! ```compile_fail
//! use terrace_tasks::Scope;
//! fn longer<'s, 'a: 's, 'b: 'a>(scope: &'s Scope<'s, 'a, ()>) -> &'s Scope<'s, 'b, ()> { scope }
//! ```
//!
//! It is passed on as it is:
//!
//! ```
//! use terrace_tasks::Scope;
//! fn passed<'r, 's, 'e: 's>(scope: &'r Scope<'s, 'e, ()>) -> &'r Scope<'s, 'e, ()> { scope }
//! ```
//!
//! The view of a thread's executor is not kept beyond its call, and its tasks borrow nothing:
//!
//! ```compile_fail,E0521
//! let mut outside = None;
//! terrace_tasks::TaskPool::new().with_local_executor(|executor| outside = Some(executor));
//! ```
//!
//! ```compile_fail,E0597
//! terrace_tasks::TaskPool::new().with_local_executor(|executor| {
//!     let number = 1;
//!     let read = &number;
//!     executor.spawn(async move { println!("{read}") }).detach();
//! });
//! ```
//!
//! Its lifetime, which names the executor and gives nothing out of it, may be made shorter, not longer:
//!
//! ```
//! use terrace_tasks::LocalExecutor;
//! fn shorter<'a, 'b: 'a>(executor: LocalExecutor<'b>) -> LocalExecutor<'a> { executor }
//! ```
//!
//! ```compile_fail
//! use terrace_tasks::LocalExecutor;
//! fn longer<'a, 'b: 'a>(executor: LocalExecutor<'a>) -> LocalExecutor<'b> { executor }
//! ```
