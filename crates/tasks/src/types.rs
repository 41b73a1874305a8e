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
//! It is passed on as it is:
//!
//! ```
//! use terrace_tasks::Scope;
//! fn passed<'r, 's, 'e: 's>(scope: &'r Scope<'s, 'e, ()>) -> &'r Scope<'s, 'e, ()> { scope }
//! ```
