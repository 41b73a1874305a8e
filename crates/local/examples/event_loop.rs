//! An executor of one thread inside another library's event loop: a window system, an engine, a browser.
//!
//! ```sh
//! cargo run -p terrace-local --example event_loop
//! ```
//!
//! The loop sleeps in its own queue of events only. The `set_on_ready` hook posts an event when tasks become ready, on
//! any thread. The loop answers each event with `run_for`, which makes a few polls, so that tasks and input take turns. If tasks
//! are left then, the hook posts the next event.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Poll, Waker};
use std::thread;

use terrace_local::LocalExecutor;

/// Polls of tasks between two events of input.
const POLLS_AN_EVENT: usize = 2;

/// What the loop receives.
enum Event {
    /// The executor has something to run.
    TasksReady,
    /// Input.
    Key(char),
}

/// Runs `work` in a thread of its own; a task awaits its result. It stands for any remote waker.
fn in_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> impl Future<Output = T> {
    let shared = Arc::new(Mutex::new((None, None::<Waker>)));
    let theirs = Arc::clone(&shared);
    thread::spawn(move || {
        let value = work();
        let waker = {
            let mut shared = theirs.lock().expect("no holder panics");
            shared.0 = Some(value);
            shared.1.take()
        };
        waker.map(Waker::wake)
    });
    poll_fn(move |context| {
        let mut shared = shared.lock().expect("no holder panics");
        match shared.0.take() {
            Some(value) => Poll::Ready(value),
            None => {
                shared.1 = Some(context.waker().clone());
                Poll::Pending
            }
        }
    })
}

fn main() {
    let (sender, events) = mpsc::channel();
    let executor = LocalExecutor::new();
    let bell = sender.clone();
    executor.set_on_ready(move || {
        // An error says that the loop has ended.
        let _ended = bell.send(Event::TasksReady);
    });

    // Tasks of the loop's thread share data without locks.
    let pages = Rc::new(RefCell::new(Vec::new()));
    for number in 1..=3 {
        let pages = Rc::clone(&pages);
        let load = async move {
            let page = in_thread(move || format!("page {number}")).await;
            pages.borrow_mut().push(page);
        };
        executor.spawn(load).detach();
    }

    thread::spawn(move || {
        for key in "keys".chars() {
            // An error says that the loop has ended.
            let _ended = sender.send(Event::Key(key));
        }
    });

    let mut typed = String::new();
    while !executor.is_empty() || typed.len() < 4 {
        match events.recv().expect("the executor keeps a sender") {
            Event::TasksReady => {
                executor.run_for(POLLS_AN_EVENT);
            }
            Event::Key(key) => typed.push(key),
        }
    }

    pages.borrow_mut().sort();
    println!("typed {typed:?} while {:?} were loaded", pages.borrow());
    assert_eq!(*pages.borrow(), ["page 1", "page 2", "page 3"]);
    assert_eq!(typed, "keys");
}
