//! The threads of a pool, and how a program starts them.

use std::sync::Arc;
use std::{fmt, io, thread};

use terrace_executor::HostedWorker;

use crate::registry::Registry;

/// A thread of a pool that is to be started: what [`ThreadPoolBuilder::spawn_handler`](crate::ThreadPoolBuilder::spawn_handler) gets.
///
/// If it is dropped without a call of [`run`](Self::run), the pool has one thread less.
pub struct ThreadBuilder {
    pub(crate) name: Option<String>,
    pub(crate) stack_size: Option<usize>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) index: usize,
    pub(crate) worker: HostedWorker,
}

impl ThreadBuilder {
    /// The index of the thread in its pool, below the number of threads.
    pub fn index(&self) -> usize {
        self.index
    }

    /// The name that [`ThreadPoolBuilder::thread_name`](crate::ThreadPoolBuilder::thread_name) gave it.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The stack size in bytes that [`ThreadPoolBuilder::stack_size`](crate::ThreadPoolBuilder::stack_size) asks for.
    pub fn stack_size(&self) -> Option<usize> {
        self.stack_size
    }

    /// Runs jobs of the pool on the calling thread, until the pool ends.
    pub fn run(self) {
        self.registry.run_member(self.index, self.worker);
    }
}

impl fmt::Debug for ThreadBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadBuilder")
            .field("pool", &self.registry.id())
            .field("index", &self.index)
            .field("name", &self.name)
            .field("stack_size", &self.stack_size)
            .finish()
    }
}

mod sealed {
    /// Only this crate implements the trait below.
    pub trait Sealed {
        /// Whether the program has no part in how the threads are started.
        const IS_DEFAULT: bool;
    }
}

/// How the threads of a pool are started.
pub trait ThreadSpawn: sealed::Sealed {
    /// Starts one.
    ///
    /// # Errors
    /// When the system starts no thread.
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()>;
}

/// By the standard library.
#[derive(Debug, Default)]
pub struct DefaultSpawn;

impl sealed::Sealed for DefaultSpawn {
    const IS_DEFAULT: bool = true;
}

impl ThreadSpawn for DefaultSpawn {
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        named(&thread).spawn(|| thread.run()).map(drop)
    }
}

/// By a closure of the program.
#[derive(Debug)]
pub struct CustomSpawn<F>(pub(crate) F);

impl<F> sealed::Sealed for CustomSpawn<F> {
    const IS_DEFAULT: bool = false;
}

impl<F> ThreadSpawn for CustomSpawn<F>
where
    F: FnMut(ThreadBuilder) -> io::Result<()>,
{
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        (self.0)(thread)
    }
}

/// A builder of the standard library, for this thread.
pub(crate) fn named(thread: &ThreadBuilder) -> thread::Builder {
    let mut builder = thread::Builder::new();
    if let Some(name) = thread.name() {
        builder = builder.name(name.to_owned());
    }
    if let Some(bytes) = thread.stack_size() {
        builder = builder.stack_size(bytes);
    }
    builder
}
