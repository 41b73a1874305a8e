//! What a program sees and leaves: pools, events, and the jobs that have not ended.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex};
use std::thread;

use rayon_core::{ThreadPool, ThreadPoolBuilder};

/// The world of one program.
pub(crate) struct World {
    pub(crate) pools: Vec<ThreadPool>,
    events: Mutex<Vec<String>>,
    /// Jobs that were spawned and have not ended.
    open: Mutex<u64>,
    none_open: Condvar,
}

impl World {
    /// Pools of these sizes. The process has a global pool of `global` threads.
    pub(crate) fn new(global: usize, sizes: &[usize]) -> &'static Self {
        // The handlers of the pools need the world.
        let handler = |payload| {
            world().event(format!("handler: {}", shown(payload)));
            world().end();
        };
        let builder = |name: String, threads: usize| {
            ThreadPoolBuilder::new()
                .num_threads(threads)
                .thread_name(move |index| format!("{name}-{index}"))
                .panic_handler(handler)
        };
        let global = builder("global".to_owned(), global).build_global();
        global.expect("it is the first");
        let pool =
            |(place, threads): (usize, &usize)| builder(format!("pool{place}"), *threads).build();
        let pools: Result<_, _> = sizes.iter().enumerate().map(pool).collect();
        let world = Box::leak(Box::new(Self {
            pools: pools.expect("they start"),
            events: Mutex::default(),
            open: Mutex::default(),
            none_open: Condvar::new(),
        }));
        WORLD.set(world).ok().expect("a process runs one program");
        world
    }

    pub(crate) fn event(&self, text: String) {
        self.events.lock().unwrap().push(text);
    }

    /// A job is going to be spawned, or `jobs` of them.
    pub(crate) fn begin(&self, jobs: usize) {
        *self.open.lock().unwrap() += jobs as u64;
    }

    /// A job has ended that was spawned, or its panic has come to the handler.
    pub(crate) fn end(&self) {
        let mut open = self.open.lock().unwrap();
        *open -= 1;
        if *open == 0 {
            self.none_open.notify_all();
        }
    }

    /// Waits until no job is left that was spawned.
    pub(crate) fn settle(&self) {
        let open = self.open.lock().unwrap();
        let none = self.none_open.wait_while(open, |open| *open > 0);
        drop(none.unwrap());
    }

    /// Prints the events so far; sorted if their order says nothing.
    pub(crate) fn print(&self, sorted: bool) {
        let mut events = std::mem::take(&mut *self.events.lock().unwrap());
        if sorted {
            events.sort();
        }
        events.iter().for_each(|line| println!("  {line}"));
    }
}

static WORLD: std::sync::OnceLock<&World> = std::sync::OnceLock::new();

/// The world of this process.
pub(crate) fn world() -> &'static World {
    WORLD.get().expect("the program makes it first")
}

/// The pool of the current thread by its threads' names, with a remark if the indices are wrong.
pub(crate) fn place() -> String {
    let current = thread::current();
    let name = current.name().unwrap_or("?");
    let Some((pool, index)) = name.rsplit_once('-') else {
        let none = rayon_core::current_thread_index().is_none();
        return if none {
            name.to_owned()
        } else {
            format!("{name}, with an index")
        };
    };
    let seen = rayon_core::current_thread_index();
    let threads = rayon_core::current_num_threads();
    let right = seen == index.parse().ok() && seen.is_some_and(|seen| seen < threads);
    let remark = if right { "" } else { ", wrong index" };
    format!("{pool} of {threads}{remark}")
}

/// The result of `f`, or what it panicked with.
pub(crate) fn outcome<R>(f: impl FnOnce() -> R) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(f)).map_err(shown)
}

/// What a panic carries: the number of a [`Panic`](crate::plan::Node::Panic), or a text.
fn shown(payload: Box<dyn Any + Send>) -> String {
    match payload.downcast::<u64>() {
        Ok(number) => format!("panic {number}"),
        Err(payload) => match payload.downcast::<String>() {
            Ok(text) => *text,
            Err(payload) => payload.downcast_ref::<&str>().unwrap_or(&"?").to_string(),
        },
    }
}
