//! [`named`]: a name and the place of the spawn, for a task that wants them.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use core::cell::Cell;
use core::fmt;
use core::future::Future;
use core::mem::ManuallyDrop;
use core::panic::Location;
use core::pin::Pin;
use core::task::{Context, Poll};

use pin_project_lite::pin_project;

/// What [`named`] knows of a task.
/// # Examples
///
/// ```
/// use terrace_local::{LocalExecutor, TaskName, named};
///
/// let executor = LocalExecutor::new();
/// let task = executor.spawn(named("reader", async { TaskName::current().unwrap() }));
/// let name = futures_lite::future::block_on(executor.run(task));
/// assert!(name.to_string().starts_with("reader (spawned at "));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TaskName {
    name: Cow<'static, str>,
    site: &'static Location<'static>,
}

impl TaskName {
    /// The name. [`named`] has an example.
    #[must_use = "the call only reads a value"]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where [`named`] was called. [`named`] has an example.
    #[must_use = "the call only reads a value"]
    pub fn site(&self) -> &'static Location<'static> {
        self.site
    }

    /// The name of the innermost [`named`] future that the current thread polls; `None` if it polls none. A task without a name that the
    /// thread polls inside of a named one has that one's. A copy: a name that is no literal costs an allocation.
    /// [`named`] has an example.
    #[must_use = "the call only reads a value"]
    pub fn current() -> Option<Self> {
        let name = replace(None);
        let copy = name.as_deref().cloned();
        replace(name);
        copy
    }
}

impl fmt::Display for TaskName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (spawned at {})", self.name, self.site)
    }
}

terrace_sync::thread_local! {
    /// The name of the innermost named future that this thread polls, lent by it. It has no destructor, so that destructors of other
    /// thread-locals may use it. It is empty outside of polls, whether it was made anew or not.
    static CURRENT: Cell<ManuallyDrop<Option<Box<TaskName>>>> = const { Cell::new(ManuallyDrop::new(None)) };
}

/// Makes a name the current one, and returns the one before.
fn replace(name: Option<Box<TaskName>>) -> Option<Box<TaskName>> {
    ManuallyDrop::into_inner(CURRENT.with(|current| current.replace(ManuallyDrop::new(name))))
}

/// Gives a future a name, and remembers where this was called. [`TaskName::current`] tells both inside of its polls, for instance in a
/// panic hook or a logger. Any text is a name, also an empty one or one with NULs.
///
/// One allocation, and a few loads and stores a poll. A task that has no name pays nothing, neither space nor time.
///
/// # Examples
///
/// ```
/// use terrace_local::{LocalExecutor, TaskName, named};
///
/// let executor = LocalExecutor::new();
/// let task = executor.spawn(named("reader", async { TaskName::current() }));
/// let name = futures_lite::future::block_on(executor.run(task)).unwrap();
/// assert_eq!((name.name(), name.site().file()), ("reader", file!()));
/// assert_eq!(TaskName::current(), None);
/// ```
#[doc(alias = "task::Builder")]
#[track_caller]
pub fn named<F: Future>(name: impl Into<Cow<'static, str>>, future: F) -> Named<F> {
    let name = TaskName {
        name: name.into(),
        site: Location::caller(),
    };
    Named {
        future,
        name: Some(Box::new(name)),
    }
}

pin_project! {
    /// A future with a name. [`named`] has an example.
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Named<F> {
        #[pin]
        future: F,
        // The thread that polls the future has it during the poll.
        name: Option<Box<TaskName>>,
    }
}

/// Puts the names back where they came from, also when a poll unwinds.
struct Polled<'n> {
    own: &'n mut Option<Box<TaskName>>,
    outer: Option<Box<TaskName>>,
}

impl Drop for Polled<'_> {
    fn drop(&mut self) {
        let outer = self.outer.take();
        *self.own = replace(outer);
    }
}

impl<F: Future> Future for Named<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let name = this.name.take();
        if let Some(name) = name.as_ref().filter(|_| terrace_trace::TIMELINE) {
            terrace_trace::polls_named(&name.name, name.site);
        }
        let outer = replace(name);
        let _polled = Polled {
            own: this.name,
            outer,
        };
        this.future.poll(context)
    }
}

impl<F> fmt::Debug for Named<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Named")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
