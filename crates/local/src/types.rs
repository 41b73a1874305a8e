//! Programs that must not compile: a task borrows what its executor outlives, or an executor changes its lifetime.
//!
//! The borrowed value is declared after the executor, and before it:
//!
//! ```compile_fail,E0597
//! let executor = terrace_local::LocalExecutor::new();
//! let number = 1;
//! executor.spawn(async { println!("{}", &number) }).detach();
//! ```
//!
//! ```
//! let number = 1;
//! let executor = terrace_local::LocalExecutor::new();
//! executor.spawn(async { println!("{}", &number) }).detach();
//! ```
//!
//! The destructor of a task reads what its sibling owns, and the executor may drop the sibling first:
//!
//! ```compile_fail,E0505
//! struct Reads<'a>(&'a String);
//! impl Drop for Reads<'_> { fn drop(&mut self) { println!("{}", self.0); } }
//! let text = String::new();
//! let executor = terrace_local::LocalExecutor::new();
//! let reads = Reads(&text);
//! executor.spawn(async move { drop(reads) }).detach();
//! executor.spawn(async move { drop(text) }).detach();
//! ```
//!
//! No conversion changes the executor's lifetime, in either direction:
//!
//! ```compile_fail
//! fn shorter<'a, 'b: 'a>(executor: terrace_local::LocalExecutor<'b>) -> terrace_local::LocalExecutor<'a> { executor }
//! ```
//!
//! ```compile_fail
//! fn longer<'a, 'b: 'a>(executor: terrace_local::LocalExecutor<'a>) -> terrace_local::LocalExecutor<'b> { executor }
//! ```
