//! Runs behaviours one by one, each on a thread of its own, under a watchdog.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use terrace_conformance::{Behaviour, Kind};

/// Far more than any behaviour needs, sanitized.
const GENEROUS: Duration = Duration::from_secs(120);

/// What went wrong, if anything.
pub(crate) fn failure<K: Kind>(behaviour: Behaviour<K>) -> Option<String> {
    let name = behaviour.name;
    // Said before: what ends the process is the last one named.
    eprintln!("{}: {name}", K::name());
    let (done, end) = channel();
    let thread = std::thread::Builder::new().name(format!("{}: {name}", K::name()));
    let thread = thread
        .spawn(move || {
            behaviour.check();
            // The watchdog may have given up.
            let _listened = done.send(());
        })
        .expect("a thread can be started");
    if let Err(RecvTimeoutError::Timeout) = end.recv_timeout(GENEROUS) {
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

/// The failures among the behaviours that the kind can show; at least one behaviour is checked.
pub(crate) fn failures<K: Kind>(behaviours: Vec<Behaviour<K>>) -> Vec<String> {
    let mut checked = 0;
    let applying = behaviours.into_iter().filter(Behaviour::applies);
    let failures: Vec<_> = applying
        .inspect(|_| checked += 1)
        .filter_map(failure)
        .collect();
    assert_ne!(checked, 0, "nothing is checked");
    failures
}
