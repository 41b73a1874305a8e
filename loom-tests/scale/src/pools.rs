//! The pools: ours and its peers, by what their operations have in common. Each lives as long as the program.

use std::future::Future;

use terrace_executor::Executor;

/// A pool that starts jobs.
pub(crate) trait Starts: Sync + 'static {
    /// Runs the job on a worker. No thread awaits it.
    fn start(&'static self, job: impl FnOnce() + Send + 'static);
}

/// A pool of tasks.
pub(crate) trait Tasks: Sync + 'static {
    /// Spawns a task; the future returned is ready at its end.
    fn spawn(
        &'static self,
        future: impl Future<Output = ()> + Send + 'static,
    ) -> impl Future<Output = ()> + Send + 'static;

    /// Spawns a task that no thread awaits.
    fn detach(&'static self, future: impl Future<Output = ()> + Send + 'static);
}

impl<P: Tasks> Starts for P {
    fn start(&'static self, job: impl FnOnce() + Send + 'static) {
        self.detach(async { job() });
    }
}

/// A pool whose workers fork and join.
pub(crate) trait Jobs: Starts {
    /// Runs both, on a worker.
    fn join(a: impl FnOnce() + Send, b: impl FnOnce() + Send);

    /// Runs so many children and waits for them, on a worker.
    fn scope(children: usize, child: fn());
}

pub(crate) struct Terrace(Executor<'static>);

impl Terrace {
    pub(crate) fn new(workers: usize) -> &'static Self {
        let pool = Executor::builder().workers(workers).build();
        Box::leak(Box::new(Self(pool)))
    }
}

impl Tasks for Terrace {
    fn spawn(
        &'static self,
        future: impl Future<Output = ()> + Send + 'static,
    ) -> impl Future<Output = ()> + Send + 'static {
        self.0.spawn(future)
    }

    fn detach(&'static self, future: impl Future<Output = ()> + Send + 'static) {
        self.0.spawn(future).detach();
    }
}

impl Jobs for Terrace {
    fn join(a: impl FnOnce() + Send, b: impl FnOnce() + Send) {
        terrace_fork::join(a, b);
    }

    fn scope(children: usize, child: fn()) {
        terrace_fork::here::scope(|scope| {
            (0..children).for_each(|_| scope.spawn(async move { child() }));
        });
    }
}

pub(crate) struct AsyncExecutor(async_executor::Executor<'static>);

impl AsyncExecutor {
    pub(crate) fn new(workers: usize) -> &'static Self {
        let pool: &'static Self = Box::leak(Box::new(Self(async_executor::Executor::new())));
        for _ in 0..workers {
            let forever = pool.0.run(std::future::pending::<()>());
            std::thread::spawn(move || futures_lite::future::block_on(forever));
        }
        pool
    }
}

impl Tasks for AsyncExecutor {
    fn spawn(
        &'static self,
        future: impl Future<Output = ()> + Send + 'static,
    ) -> impl Future<Output = ()> + Send + 'static {
        self.0.spawn(future)
    }

    fn detach(&'static self, future: impl Future<Output = ()> + Send + 'static) {
        self.0.spawn(future).detach();
    }
}

pub(crate) struct Tokio(tokio::runtime::Runtime);

impl Tokio {
    pub(crate) fn new(workers: usize) -> &'static Self {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let pool = builder.worker_threads(workers).build();
        Box::leak(Box::new(Self(pool.expect("threads start"))))
    }
}

impl Tasks for Tokio {
    fn spawn(
        &'static self,
        future: impl Future<Output = ()> + Send + 'static,
    ) -> impl Future<Output = ()> + Send + 'static {
        let task = self.0.spawn(future);
        async { task.await.expect("no task panics") }
    }

    fn detach(&'static self, future: impl Future<Output = ()> + Send + 'static) {
        drop(self.0.spawn(future));
    }
}

pub(crate) struct Rayon(rayon_core::ThreadPool);

impl Rayon {
    pub(crate) fn new(workers: usize) -> &'static Self {
        let builder = rayon_core::ThreadPoolBuilder::new().num_threads(workers);
        Box::leak(Box::new(Self(builder.build().expect("threads start"))))
    }
}

impl Starts for Rayon {
    fn start(&'static self, job: impl FnOnce() + Send + 'static) {
        self.0.spawn(job);
    }
}

impl Jobs for Rayon {
    fn join(a: impl FnOnce() + Send, b: impl FnOnce() + Send) {
        rayon_core::join(a, b);
    }

    fn scope(children: usize, child: fn()) {
        rayon_core::scope(|scope| (0..children).for_each(|_| scope.spawn(move |_| child())));
    }
}
