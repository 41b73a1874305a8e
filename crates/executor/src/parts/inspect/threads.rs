//! The names of threads that have polled a task or opened a scope, by their ids.

use std::collections::BTreeMap;

use terrace_sync::time::CpuClock;
use terrace_sync::{Mutex, thread};

use crate::parts::patiently::patiently;

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
    static NOTED: Noted = noted();
}

fn noted() -> Noted {
    let id = terrace_thread::id().get();
    let own = thread::current();
    let number = CpuClock::of_this_thread().and_then(|clock| clock.thread());
    let name = match (own.name(), number) {
        (Some(name), _) => name.to_owned(),
        (None, Some(number)) => format!("unnamed, {number}"),
        (None, None) => "unnamed".to_owned(),
    };
    THREADS.lock().insert(id, name);
    Noted(id)
}

/// The calling thread's id, whose name is known from now on. A lock at the first call.
pub(crate) fn note() -> u64 {
    // A thread that ends, and whose locals are gone, stays without a name.
    let noted = NOTED.try_with(|noted| noted.0);
    noted.unwrap_or_else(|_| terrace_thread::id().get())
}

/// The name of the thread with this id, if it is known.
pub(crate) fn name_of(id: u64) -> Option<String> {
    patiently(&THREADS)?.get(&id).cloned()
}
