//! Runs behaviours one by one, each on a thread of its own, under a watchdog.

use std::sync::mpsc::{RecvTimeoutError, channel};

use terrace_testing::limit;

/// The failure, if there is one.
pub(crate) fn failure(name: &str, check: impl FnOnce() + Send + 'static) -> Option<String> {
    // It prints the name before: the last name printed is the behaviour that ended the process.
    eprintln!("{name}");
    let (done, end) = channel();
    let thread = std::thread::Builder::new().name(name.to_owned());
    let thread = thread
        .spawn(move || {
            check();
            // The watchdog may have given up.
            let _listened = done.send(());
        })
        .expect("a thread can be started");
    if let Err(RecvTimeoutError::Timeout) = end.recv_timeout(limit() * 2) {
        return Some(format!("{name}: hangs"));
    }
    let payload = thread.join().err()?;
    let text = payload
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| payload.downcast_ref::<&str>().copied());
    Some(format!(
        "{name}: {}",
        text.unwrap_or("a panic without text")
    ))
}
