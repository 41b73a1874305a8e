//! Threads that each run an executor's `run`.

use std::marker::PhantomData;
use std::thread::{self, JoinHandle};

use async_channel::{Receiver, Sender};

use crate::Owned;
use crate::local::Ticked;
use crate::spawn::{Contender, Spawner};

/// Threads that run something until dropped, which joins them.
struct Drivers {
    stop: Option<Sender<()>>,
    threads: Vec<JoinHandle<()>>,
}

impl Drivers {
    /// `drive` runs until the receiver says that the channel is closed.
    fn new(threads: usize, drive: impl Fn(Receiver<()>) + Copy + Send + 'static) -> Self {
        let (stop, stopped) = async_channel::bounded(1);
        let start = |_| {
            let stopped = stopped.clone();
            thread::spawn(move || drive(stopped))
        };
        Self {
            threads: (0..threads).map(start).collect(),
            stop: Some(stop),
        }
    }
}

impl Drop for Drivers {
    fn drop(&mut self) {
        drop(self.stop.take());
        for thread in self.threads.drain(..) {
            thread.join().expect("a bench thread panicked");
        }
    }
}

/// The common interface of both libraries' executors: futures run them, on any number of threads.
pub trait Driven: Sync + 'static {
    /// Its name in rows.
    const NAME: &'static str;

    /// One without threads.
    fn bare() -> Owned<Self>
    where
        Self: Sized;

    /// Runs tasks until the future is done.
    fn drive<T>(&self, future: impl Future<Output = T>) -> impl Future<Output = T>;

    /// Runs a task, if one is ready.
    fn try_tick(&self) -> bool;
}

/// How a thread blocks on a future.
pub trait Block: 'static {
    /// Polls the future until it is ready.
    fn block_on<T>(future: impl Future<Output = T>) -> T;
}

/// The thread sleeps.
pub struct Parked;

impl Block for Parked {
    fn block_on<T>(future: impl Future<Output = T>) -> T {
        futures_lite::future::block_on(future)
    }
}

/// The thread waits for sockets.
pub struct InReactor;

impl Block for InReactor {
    fn block_on<T>(future: impl Future<Output = T>) -> T {
        async_io::block_on(future)
    }
}

/// An executor that threads run, until the row ends.
pub struct Threads<E: 'static, B = Parked> {
    // The threads end before the executor is dropped: fields are dropped in this order.
    _drivers: Drivers,
    executor: Owned<E>,
    block: PhantomData<B>,
}

impl<E: Driven, B: Block> Contender for Threads<E, B>
where
    &'static E: Spawner,
{
    const NAME: &'static str = E::NAME;
    type Spawner = &'static E;

    fn new(workers: usize) -> Self {
        let owned = E::bare();
        let executor = owned.get();
        let drive = move |stopped: Receiver<()>| {
            B::block_on(executor.drive(stopped.recv())).expect_err("nothing is sent");
        };
        Self {
            _drivers: Drivers::new(workers, drive),
            executor: owned,
            block: PhantomData,
        }
    }

    fn spawner(&self) -> &'static E {
        self.executor.get()
    }

    fn run<T>(&self, future: impl Future<Output = T>) -> T {
        Parked::block_on(future)
    }
}

impl<E: Driven> Ticked for Threads<E>
where
    &'static E: Spawner,
{
    fn try_tick(&self) -> bool {
        self.executor.get().try_tick()
    }
}

/// Executors whose methods have the same names in both libraries, spawn_many not in all; and the types that tick.
macro_rules! driven {
    ($($Executor:ty as $Ticks:ty, $task:ident, $name:literal, $bare:expr $(, $spawn_many:ident)?;)+) => {$(
        impl Driven for $Executor {
            const NAME: &'static str = $name;

            fn bare() -> Owned<Self> {
                $bare
            }

            fn drive<T>(&self, future: impl Future<Output = T>) -> impl Future<Output = T> {
                self.run(future)
            }

            fn try_tick(&self) -> bool {
                <$Ticks>::try_tick(self)
            }
        }

        impl Spawner for &'static $Executor {
            type Task<T: Send + 'static> = $task::Task<T>;

            fn spawn<T: Send + 'static>(
                self,
                future: impl Future<Output = T> + Send + 'static,
            ) -> Self::Task<T> {
                <$Executor>::spawn(self, future)
            }

            fn detach<T: Send + 'static>(task: Self::Task<T>) {
                task.detach();
            }

            $(fn spawn_many<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
                self,
                futures: impl Iterator<Item = F>,
                tasks: &mut Vec<Self::Task<T>>,
            ) {
                <$Executor>::$spawn_many(self, futures, tasks);
            })?
        }
    )+};
}

driven! {
    terrace_executor::Executor<'static> as terrace_executor::Executor<'static>, terrace_executor, "executor_run",
        Owned::row(terrace_executor::Executor::new()), spawn_many;
    terrace_executor::StaticExecutor as terrace_executor::Executor<'static>, terrace_executor, "static_executor_run",
        Owned::Ever(terrace_executor::Executor::new().leak()), spawn_many;
    async_executor::Executor<'static> as async_executor::Executor<'static>, async_executor, "async_executor",
        Owned::row(async_executor::Executor::new()), spawn_many;
    async_executor::StaticExecutor as async_executor::StaticExecutor, async_executor, "static_async_executor",
        Owned::Ever(async_executor::Executor::new().leak());
}
