//! The names of threads that have polled a task or opened a scope, by their ids, and since when a thread does something.

use core::cell::OnceCell;
use core::panic::Location;
use core::time::Duration;
use std::collections::BTreeMap;
use std::format;
use std::string::String;

use terrace_sync::report::patiently;
use terrace_sync::time::{CpuClock, Instant};
use terrace_sync::{Mutex, thread};

terrace_sync::global! {
    static THREADS: Mutex<BTreeMap<u64, String>> = Mutex::new(BTreeMap::new());
}

/// The entry of a thread, until the thread ends.
struct Noted(u64);

impl Drop for Noted {
    fn drop(&mut self) {
        THREADS.lock().remove(&self.0);
    }
}

terrace_sync::thread_local! {
    static NOTED: OnceCell<Noted> = const { OnceCell::new() };
}

fn noted(id: u64) -> Noted {
    let own = thread::current();
    let number = CpuClock::of_this_thread().and_then(|clock| clock.thread());
    let name = match (own.name(), number) {
        (Some(name), _) => name.into(),
        (None, Some(number)) => format!("unnamed, {number}"),
        (None, None) => "unnamed".into(),
    };
    THREADS.lock().insert(id, name);
    Noted(id)
}

/// The name of the calling thread, which has this id, is known from now on. A lock at the first call.
pub(super) fn note(id: u64) {
    // A thread that ends, and whose locals are gone, stays without a name.
    let _ended = NOTED.try_with(|own| {
        own.get_or_init(|| noted(id));
    });
}

/// The name of the thread with this id, if it is known.
#[must_use = "the call only reads a value"]
pub fn name_of(id: u64) -> Option<String> {
    patiently(&THREADS)?.get(&id).cloned()
}

/// Where in the program something began, and when.
#[derive(Clone, Copy)]
pub struct Began {
    site: &'static Location<'static>,
    at: Instant,
}

impl Began {
    /// The line that called the caller, on the calling thread. `thread` is asked for its id.
    #[track_caller]
    pub fn here(thread: impl FnOnce() -> u64) -> Self {
        note(thread());
        Self {
            site: Location::caller(),
            at: Instant::now(),
        }
    }
}

/// When a thread began what it does, and where.
#[derive(Default)]
pub struct Since(Mutex<Option<Began>>);

impl Since {
    /// It begins something else.
    pub fn set(&self, began: Began) {
        *self.0.lock() = Some(began);
    }

    /// The line, and for how long the thread has done so.
    pub fn look(&self) -> Option<(&'static Location<'static>, Duration)> {
        let Began { site, at } = (*patiently(&self.0)?)?;
        Some((site, at.elapsed()))
    }
}
