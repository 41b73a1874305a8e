//! Programs that must not compile, each beside one that does and differs in a line.
//!
//! A kept value reads its sibling in its destructor:
//!
//! ```compile_fail,E0080
//! struct Reads<'a>(Option<&'a Reads<'a>>, u32);
//! impl Drop for Reads<'_> {
//!     fn drop(&mut self) { println!("{:?}", self.0.map(|sibling| sibling.1)); }
//! }
//! let executor = terrace_executor::Builder::new().workers(0).build();
//! terrace_fork::scope(&executor, |scope| {
//!     let first = scope.keep(Reads(None, 1));
//!     scope.keep(Reads(Some(first), 2));
//! });
//! ```
//!
//! The same without a destructor:
//!
//! ```
//! struct Reads<'a>(Option<&'a Reads<'a>>, u32);
//! let executor = terrace_executor::Builder::new().workers(0).build();
//! terrace_fork::scope(&executor, |scope| {
//!     let first = scope.keep(Reads(None, 1));
//!     let second = scope.keep(Reads(Some(first), 2));
//!     assert_eq!(second.1 + second.0.unwrap().1, 3);
//! });
//! ```
//!
//! A kept value spawns in its destructor:
//!
//! ```compile_fail,E0080
//! use terrace_fork::Scope;
//! struct Spawns<'scope, 'env>(&'scope Scope<'scope, 'env>);
//! impl Drop for Spawns<'_, '_> {
//!     fn drop(&mut self) { self.0.spawn(async {}); }
//! }
//! let executor = terrace_executor::Builder::new().workers(0).build();
//! terrace_fork::scope(&executor, |scope| {
//!     scope.keep(Spawns(scope));
//! });
//! ```
//!
//! A spawner leaves its scope, by the result and by a variable outside:
//!
//! ```compile_fail
//! let executor = terrace_executor::Builder::new().workers(0).build();
//! let spawner = terrace_fork::scope(&executor, |scope| scope.spawner());
//! ```
//!
//! ```compile_fail,E0521
//! let executor = terrace_executor::Builder::new().workers(0).build();
//! let mut outside = None;
//! terrace_fork::scope(&executor, |scope| outside = Some(scope.spawner()));
//! ```
//!
//! Neither type changes its lifetimes:
//!
//! ```compile_fail
//! fn shorter<'a, 'b: 'a>(spawner: terrace_fork::Spawner<'b>) -> terrace_fork::Spawner<'a> { spawner }
//! ```
//!
//! ```compile_fail
//! fn longer<'a, 'b: 'a>(spawner: terrace_fork::Spawner<'a>) -> terrace_fork::Spawner<'b> { spawner }
//! ```
//!
//! ```compile_fail
//! use terrace_fork::Scope;
//! fn shorter<'s, 'a: 's, 'b: 'a>(scope: &'s Scope<'s, 'b>) -> &'s Scope<'s, 'a> { scope }
//! ```
//!
//! ```compile_fail
//! use terrace_fork::Scope;
//! fn longer<'s, 'a: 's, 'b: 'a>(scope: &'s Scope<'s, 'a>) -> &'s Scope<'s, 'b> { scope }
//! ```
//!
//! ```compile_fail
//! use terrace_fork::Scope;
//! fn shorter<'r, 'a: 'r, 'b: 'a, 'e: 'b>(scope: &'r Scope<'b, 'e>) -> &'r Scope<'a, 'e> { scope }
//! ```
//!
//! ```compile_fail
//! use terrace_fork::Scope;
//! fn longer<'r, 'a: 'r, 'b: 'a, 'e: 'b>(scope: &'r Scope<'a, 'e>) -> &'r Scope<'b, 'e> { scope }
//! ```
//!
//! Each is passed on as it is:
//!
//! ```
//! use terrace_fork::{Scope, Spawner};
//! fn passed<'r, 's, 'e: 's>(scope: &'r Scope<'s, 'e>) -> &'r Scope<'s, 'e> { scope }
//! fn copied<'s>(spawner: Spawner<'s>) -> Spawner<'s> { spawner }
//! ```
//!
//! A task of a `ThreadExecutor` borrows a value that is declared behind the executor, and before it:
//!
//! ```compile_fail,E0597
//! let executor = terrace_executor::ThreadExecutor::new();
//! let number = 1;
//! executor.spawn(async { println!("{}", &number) }).detach();
//! ```
//!
//! ```
//! let number = 1;
//! let executor = terrace_executor::ThreadExecutor::new();
//! executor.spawn(async { println!("{}", &number) }).detach();
//! ```
//!
//! A ticker, or a `Config`, outlives the executor that it names:
//!
//! ```compile_fail,E0505
//! let executor = terrace_executor::ThreadExecutor::new();
//! let ticker = executor.ticker().unwrap();
//! drop(executor);
//! ticker.try_tick();
//! ```
//!
//! ```compile_fail,E0597
//! let mut config = terrace_fork::Config::default();
//! {
//!     let external = terrace_executor::ThreadExecutor::new();
//!     config.external = Some(external.queue());
//! }
//! let executor = terrace_executor::Builder::new().workers(0).build();
//! terrace_fork::scope_with(&executor, config, |_| {});
//! ```
//!
//! An open scope, and its handle, outlive their executor:
//!
//! ```compile_fail,E0505
//! let executor = terrace_executor::Builder::new().workers(0).build();
//! let open = terrace_executor::scope::OpenScope::open(&executor, terrace_executor::scope::ScopeKind::of::<()>());
//! drop(executor);
//! open.wait(&[]);
//! ```
//!
//! ```compile_fail,E0505
//! let executor = terrace_executor::Builder::new().workers(0).build();
//! let open = terrace_executor::scope::OpenScope::open(&executor, terrace_executor::scope::ScopeKind::of::<()>());
//! let handle = open.handle();
//! open.wait(&[]);
//! drop(executor);
//! let used = handle;
//! ```
//!
//! An open scope is declared before its executor, and behind it:
//!
//! ```compile_fail,E0597
//! let open;
//! {
//!     let executor = terrace_executor::Builder::new().workers(0).build();
//!     open = terrace_executor::scope::OpenScope::open(&executor, terrace_executor::scope::ScopeKind::of::<()>());
//! }
//! open.wait(&[]);
//! ```
//!
//! ```
//! let executor = terrace_executor::Builder::new().workers(0).build();
//! let open = terrace_executor::scope::OpenScope::open(&executor, terrace_executor::scope::ScopeKind::of::<()>());
//! open.wait(&[]);
//! ```
//!
//! An open scope is waited for on its own thread:
//!
//! ```compile_fail,E0277
//! let executor = terrace_executor::Builder::new().workers(0).build();
//! let open = terrace_executor::scope::OpenScope::open(&executor, terrace_executor::scope::ScopeKind::of::<()>());
//! std::thread::scope(|threads| {
//!     threads.spawn(move || open.wait(&[]));
//! });
//! ```
//!
//! Their lifetimes, which name a pool and give nothing out of it, may be made shorter, not longer:
//!
//! ```
//! use terrace_executor::scope::{OpenScope, ScopeHandle};
//! fn shorter_scope<'a, 'b: 'a>(scope: OpenScope<'b>) -> OpenScope<'a> { scope }
//! fn shorter_handle<'a, 'b: 'a>(handle: ScopeHandle<'b>) -> ScopeHandle<'a> { handle }
//! ```
//!
//! ```compile_fail
//! use terrace_executor::scope::OpenScope;
//! fn longer<'a, 'b: 'a>(scope: OpenScope<'a>) -> OpenScope<'b> { scope }
//! ```
//!
//! ```compile_fail
//! use terrace_executor::scope::ScopeHandle;
//! fn longer<'a, 'b: 'a>(handle: ScopeHandle<'a>) -> ScopeHandle<'b> { handle }
//! ```
//!
//! An executor's lifetime is not changed, in either direction:
//!
//! ```compile_fail
//! use terrace_executor::Executor;
//! fn longer<'e, 'a, 'b: 'a>(executor: &'e Executor<'a>) -> &'e Executor<'b> { executor }
//! ```
//!
//! ```compile_fail
//! use terrace_executor::ThreadExecutor;
//! fn shorter<'a, 'b: 'a>(executor: ThreadExecutor<'b>) -> ThreadExecutor<'a> { executor }
//! ```
//!
//! ```compile_fail
//! use terrace_executor::ThreadExecutor;
//! fn longer<'a, 'b: 'a>(executor: ThreadExecutor<'a>) -> ThreadExecutor<'b> { executor }
//! ```
//!
//! Nor is that of a ticker's tasks. Its borrow of the executor may be made shorter, not longer:
//!
//! ```compile_fail
//! use terrace_executor::Ticker;
//! fn shorter<'e, 'a, 'b: 'a>(ticker: Ticker<'b, 'e>) -> Ticker<'a, 'e> { ticker }
//! ```
//!
//! ```compile_fail
//! use terrace_executor::Ticker;
//! fn longer<'e, 'a, 'b: 'a>(ticker: Ticker<'a, 'e>) -> Ticker<'b, 'e> { ticker }
//! ```
//!
//! ```
//! use terrace_executor::Ticker;
//! fn shorter<'t, 'a, 'b: 'a>(ticker: Ticker<'t, 'b>) -> Ticker<'t, 'a> { ticker }
//! ```
//!
//! ```compile_fail
//! use terrace_executor::Ticker;
//! fn longer<'t, 'a, 'b: 'a>(ticker: Ticker<'t, 'a>) -> Ticker<'t, 'b> { ticker }
//! ```
//!
//! A `Config` names queues and no more: its lifetime may be made shorter, not longer:
//!
//! ```
//! use terrace_fork::Config;
//! fn shorter<'a, 'b: 'a>(config: Config<'b>) -> Config<'a> { config }
//! ```
//!
//! ```compile_fail
//! use terrace_fork::Config;
//! fn longer<'a, 'b: 'a>(config: Config<'a>) -> Config<'b> { config }
//! ```
//!
//! A task's destructor reads its sibling, which the executor may drop first:
//!
//! ```compile_fail,E0505
//! struct Reads<'a>(&'a String);
//! impl Drop for Reads<'_> { fn drop(&mut self) { println!("{}", self.0); } }
//! let text = String::new();
//! let executor = terrace_executor::ThreadExecutor::new();
//! let reads = Reads(&text);
//! executor.spawn(async move { drop(reads) }).detach();
//! executor.spawn(async move { drop(text) }).detach();
//! ```
//!
//! ```compile_fail,E0505
//! struct Reads<'a>(&'a String);
//! impl Drop for Reads<'_> { fn drop(&mut self) { println!("{}", self.0); } }
//! let text = String::new();
//! let executor = terrace_executor::Executor::new();
//! let reads = Reads(&text);
//! executor.spawn(async move { drop(reads) }).detach();
//! executor.spawn(async move { drop(text) }).detach();
//! ```
//!
//! A child's destructor reads its sibling, which the scope may drop first:
//!
//! ```compile_fail,E0505
//! struct Reads<'a>(&'a String);
//! impl Drop for Reads<'_> { fn drop(&mut self) { println!("{}", self.0); } }
//! let executor = terrace_executor::Builder::new().workers(0).build();
//! let text = String::new();
//! let reads = Reads(&text);
//! terrace_fork::scope(&executor, |scope| {
//!     scope.spawn(async move { drop(reads) });
//!     scope.spawn(async move { drop(text) });
//! });
//! ```
//!
//! ```
//! struct Reads<'a>(&'a String);
//! impl Drop for Reads<'_> { fn drop(&mut self) { println!("{}", self.0); } }
//! let executor = terrace_executor::Builder::new().workers(0).build();
//! let text = String::new();
//! let reads = Reads(&text);
//! terrace_fork::scope(&executor, |scope| {
//!     scope.spawn(async move { drop(reads) });
//! });
//! ```
