//! The last events of each thread: what it has begun, and which futures began and ended on it. Printed at a fault.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use terrace_sync::Arc;
use terrace_sync::unmodelled::Weak;

/// Events that are kept of a thread.
const KEPT: usize = 24;
/// Events of a thread that a fault prints, where more are kept; the panicking thread's are printed whole.
const PRINTED: usize = 8;

/// What happened, to the account of this number if it concerns one, and when.
type Event = (Instant, &'static str, Option<u64>);

struct Thread {
    name: String,
    events: Mutex<VecDeque<Event>>,
}

/// The threads that live and have had an event.
static THREADS: Mutex<Vec<Weak<Thread>>> = Mutex::new(Vec::new());
static START: OnceLock<Instant> = OnceLock::new();

terrace_sync::thread_local! {
    static OWN: Arc<Thread> = {
        let current = std::thread::current();
        let name = format!("{} {:?}", current.name().unwrap_or("thread"), current.id());
        let own = Arc::new(Thread { name, events: Mutex::default() });
        let mut threads = locked(&THREADS);
        threads.retain(|thread| thread.strong_count() > 0);
        threads.push(Arc::downgrade(&own));
        drop(threads);
        own
    };
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notes an event of the calling thread.
pub(crate) fn note(what: &'static str, account: Option<u64>) {
    START.get_or_init(Instant::now);
    // The last words of a thread-local may come after this one has gone.
    let _gone = OWN.try_with(|own| {
        let mut events = locked(&own.events);
        if events.len() == KEPT {
            events.pop_front();
        }
        events.push_back((Instant::now(), what, account));
    });
}

/// The last events of each thread, the calling one first.
pub(crate) fn dump() -> String {
    let mut text = String::from("the last events of each thread, in ms since the start:\n");
    let own = OWN.try_with(Arc::clone).ok();
    if let Some(own) = &own {
        write(&mut text, own, KEPT);
    }
    let others: Vec<_> = locked(&THREADS).iter().filter_map(Weak::upgrade).collect();
    for other in others {
        if !own.as_ref().is_some_and(|own| Arc::ptr_eq(own, &other)) {
            write(&mut text, &other, PRINTED);
        }
    }
    text
}

fn write(text: &mut String, thread: &Thread, most: usize) {
    let start = *START.get_or_init(Instant::now);
    let events = locked(&thread.events);
    if events.is_empty() {
        return;
    }
    write!(text, "  {}:", thread.name).expect("a string takes it");
    for (when, what, account) in events.iter().skip(events.len().saturating_sub(most)) {
        let when = when.duration_since(start).as_secs_f64() * 1e3;
        write!(text, " {when:.3} {what}").expect("a string takes it");
        if let Some(number) = account {
            write!(text, " #{number}").expect("a string takes it");
        }
        text.push(';');
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_last_events_are_kept_of_each_thread() {
        std::thread::Builder::new()
            .name(String::from("eventful"))
            .spawn(|| {
                super::note("begins", None);
                for number in 0..2 * super::KEPT as u64 {
                    super::note("opens", Some(number));
                }
                let text = super::dump();
                assert!(text.contains("eventful"), "{text}");
                assert!(
                    text.contains("opens #47;") && !text.contains("opens #23;"),
                    "{text}"
                );
                assert!(!text.contains("begins"), "{text}");
            })
            .unwrap()
            .join()
            .unwrap();
        assert!(!super::dump().contains("eventful"), "it has ended");
    }
}
