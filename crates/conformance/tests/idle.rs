//! Idle costs nothing: two seconds without work leave every thread's CPU time and context switches as they were, in
//! every kind of executor.
//!
//! Alone in its program: other tests' threads would be seen, too.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::future::pending;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use terrace_executor::{
    Builder, Executor, Shutdown, StaticExecutor, ThreadExecutor, block_on, current,
};
use terrace_local::{LocalExecutor, LocalSpawner, StaticLocalExecutor};
use terrace_testing::watchdog;
use terrace_thread::ThreadSpawner;

/// The threads whose names begin with it are watched.
const NAME: &str = "quiet-";
/// Tasks that each kind runs before it is left alone.
const TASKS: usize = 100;
const WORKERS: usize = 3;

/// A thread's CPU time and context switches so far, and whether it sleeps.
#[derive(Debug, PartialEq)]
struct Used {
    name: String,
    state: String,
    /// On a CPU, in ns.
    time: String,
    /// Context switches of both kinds.
    switches: Vec<String>,
}

/// One thread of this process; `None` if it has ended, or is not watched.
fn used(path: &Path) -> Option<Used> {
    let name = std::fs::read_to_string(path.join("comm")).ok()?;
    let status = std::fs::read_to_string(path.join("status")).ok()?;
    let lines = |word: &str| {
        let lines = status.lines().filter(|line| line.contains(word));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let time = std::fs::read_to_string(path.join("schedstat")).unwrap_or_default();
    name.starts_with(NAME).then(|| Used {
        name,
        state: lines("State:").concat(),
        time: time.split(' ').next().unwrap_or_default().to_owned(),
        switches: lines("ctxt_switches"),
    })
}

fn threads() -> BTreeMap<String, Used> {
    let entries = std::fs::read_dir("/proc/self/task").expect("procfs");
    let paths = entries.map(|entry| entry.expect("readable").path());
    paths
        .filter_map(|path| Some((path.display().to_string(), used(&path)?)))
        .collect()
}

/// Starts threads that are watched, and knows how many.
#[derive(Default)]
struct Watched(usize);

impl Watched {
    fn start(&mut self, name: &str, body: impl FnOnce() + Send + 'static) {
        self.0 += 1;
        let thread = thread::Builder::new().name(format!("{NAME}{name}"));
        thread.spawn(body).expect("a thread can be started");
    }

    /// Settings for an executor whose workers are watched.
    fn workers(&mut self, name: &'static str) -> Builder {
        self.0 += WORKERS;
        let name = move |index| format!("{NAME}{name}-{index}");
        Builder::new().workers(WORKERS).thread_name(name)
    }

    /// A thread that makes a single-thread executor and drives it by `drive`; the spawner comes from `spawner`.
    fn local<E: 'static>(
        &mut self,
        name: &str,
        make: fn() -> E,
        spawner: fn(&E) -> LocalSpawner,
        drive: fn(E),
    ) -> LocalSpawner {
        let (send, receive) = channel();
        self.start(name, move || {
            let executor = make();
            send.send(spawner(&executor)).expect("waited for");
            drive(executor);
        });
        receive.recv().expect("sent")
    }
}

/// Waits until every thread has lain down (the sentinel looks for some milliseconds after the last was active), then for two
/// seconds.
fn assert_idle(watched: usize) {
    let mut before = threads();
    loop {
        thread::sleep(Duration::from_millis(100));
        let now = threads();
        let asleep = now.values().all(|thread| thread.state.contains('S'));
        if now == before && now.len() == watched && asleep {
            break;
        }
        before = now;
    }
    thread::sleep(Duration::from_secs(2));
    assert_eq!(threads(), before);
}

#[test]
fn every_kind_is_idle_for_nothing() {
    let _watchdog = watchdog();
    static TICKED: StaticExecutor = StaticExecutor::new();
    static DRIVEN: Executor<'static> = Executor::new();
    // Never dropped: that would wait for its task.
    static WAITING: OnceLock<Executor<'static>> = OnceLock::new();
    let mut watched = Watched::default();

    // Executors with workers; one worker waits in a task, without end.
    let executor = watched.workers("exec").build();
    let leaked = watched
        .workers("static")
        .try_build_static()
        .expect("starts");
    let waiting = WAITING.get_or_init(|| watched.workers("waits").build());
    let (entered, enters) = channel();
    waiting
        .spawn(async move {
            entered.send(current().is_some()).expect("waited for");
            block_on(pending::<()>());
        })
        .detach();
    assert_eq!(enters.recv(), Ok(true));

    // Executors driven by futures, and by threads that wait.
    watched.start("run", || block_on(DRIVEN.run(pending())));
    watched.start("tick", || {
        block_on(async {
            loop {
                TICKED.tick().await;
            }
        });
    });
    let threadless = Builder::new().workers(0).build();
    let shut = Builder::new().workers(WORKERS).build();
    shut.shutdown(Shutdown::RunQueued, None).expect("no limit");
    watched.start("waiter", || block_on(pending()));

    // Executors of one thread.
    let locals = [
        watched.local(
            "local-run",
            LocalExecutor::new,
            LocalExecutor::spawner,
            |executor| block_on(executor.run(pending())),
        ),
        watched.local(
            "local-tick",
            LocalExecutor::new,
            LocalExecutor::spawner,
            |executor| {
                block_on(async {
                    loop {
                        executor.tick().await;
                    }
                });
            },
        ),
        watched.local(
            "slocal-run",
            || &*Box::leak(Box::new(StaticLocalExecutor::new())),
            |executor: &&'static StaticLocalExecutor| executor.spawner(),
            |executor| block_on(executor.run(pending())),
        ),
    ];
    let (send, receive) = channel();
    watched.start("pinned", move || {
        send.send(ThreadSpawner::current()).expect("waited for");
        block_on(pending())
    });
    let pinned = receive.recv().expect("sent");
    let (send, receive) = channel();
    watched.start("texec", move || {
        let queue = ThreadExecutor::new();
        let ticker = queue.ticker().expect("on its own thread");
        send.send(block_on(async {
            let task = queue.spawn(async { 1 });
            ticker.tick().await;
            task.await
        }))
        .expect("waited for");
        block_on(ticker.tick());
    });
    assert_eq!(receive.recv(), Ok(1));

    // The facade, and a thread that waits in a scope of it.
    #[cfg(feature = "multi_threaded")]
    let pool: &'static terrace_tasks::TaskPool = {
        let builder = terrace_tasks::TaskPoolBuilder::new().num_threads(WORKERS);
        let name = format!("{NAME}pool");
        watched.0 += WORKERS;
        Box::leak(Box::new(builder.thread_name(name).build()))
    };
    #[cfg(feature = "multi_threaded")]
    watched.start("scope", move || {
        pool.scope(|scope| scope.spawn(pending::<()>()));
    });

    for _ in 0..TASKS {
        for executor in [&executor, waiting, &threadless, &shut, &DRIVEN] {
            block_on(executor.spawn(async {}));
        }
        block_on(leaked.spawn(async {}));
        block_on(TICKED.spawn(async {}));
        for local in &locals {
            block_on(local.spawn(async {}));
        }
        block_on(pinned.spawn(async {}));
        #[cfg(feature = "multi_threaded")]
        block_on(pool.spawn(async {}));
    }
    // While two workers are busy, the third one watches the scope that waits. It must not go on when they have done.
    #[cfg(feature = "multi_threaded")]
    {
        let works = || async {
            let since = std::time::Instant::now();
            while since.elapsed() < Duration::from_millis(20) {}
        };
        let busy = [pool.spawn(works()), pool.spawn(works())];
        busy.into_iter().for_each(block_on);
    }
    assert_idle(watched.0);
}
