//! Threads that compute, and a main thread that alone may touch the window: each sends it tasks by a `ThreadSpawner`.
//!
//! ```sh
//! cargo run -p terrace-thread --example main_thread
//! ```
//!
//! The main thread sleeps in the window system's own loop. `set_notify` tells it how to be woken there: the hook posts an
//! event, and the loop calls `tick` until nothing is queued.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use terrace_thread::{Notify, ThreadSpawner, has_work, set_notify, tick};

/// Threads that compute.
const THREADS: u32 = 3;
/// Reports that each sends.
const REPORTS: u32 = 4;

/// Stands for a window, which is not `Send`: it stays on the thread that made it.
#[derive(Default)]
struct Window {
    lines: RefCell<Vec<String>>,
}

thread_local! {
    static WINDOW: Window = Window::default();
}

/// Posts an event to the window system's loop.
struct Bell(Sender<()>);

impl Notify for Bell {
    fn notify(&self) {
        // An error says that the loop has ended.
        let _ended = self.0.send(());
    }
}

fn main() {
    let (bell, events) = channel();
    set_notify(Arc::new(Bell(bell)));

    let main_thread = ThreadSpawner::current();
    let workers: Vec<_> = (0..THREADS)
        .map(|number| {
            let main_thread = main_thread.clone();
            thread::spawn(move || {
                for report in 0..REPORTS {
                    let line = format!("thread {number}: report {report}");
                    // The closure runs on the main thread, so the future may use what is not `Send`.
                    let show =
                        || async { WINDOW.with(|window| window.lines.borrow_mut().push(line)) };
                    main_thread.spawn_with(show).detach();
                }
            })
        })
        .collect();

    let shown = || WINDOW.with(|window| window.lines.borrow().len());
    while shown() < (THREADS * REPORTS) as usize {
        events.recv().expect("the hook keeps the sender");
        while has_work() {
            tick();
        }
    }
    for worker in workers {
        worker.join().expect("a worker does not panic");
    }

    let mut lines = WINDOW.with(|window| window.lines.take());
    // Reports of one thread came in order; the order between threads is left to chance.
    lines.sort();
    println!("{}", lines.join("\n"));
    assert_eq!(lines.len(), (THREADS * REPORTS) as usize);
}
