//! What threads record comes out of a snapshot, and of its trace. The timeline is that of the whole process, so this program has one test.
#![cfg(feature = "timeline")]

use std::collections::HashMap;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use terrace_trace::timeline::{self, Timeline};
use terrace_trace::{Mark, Span, inside};

/// Records of a ring.
const RECORDS: usize = 1 << 12;

/// Polls of a thread that writes while a snapshot is taken.
const BUSY: u32 = if cfg!(debug_assertions) {
    20_000
} else {
    200_000
};
/// Polls for a million events. A tenth in debug builds, which write slowly.
const MANY: u32 = if cfg!(debug_assertions) {
    34_000
} else {
    340_000
};

fn trace(timeline: &Timeline) -> Vec<Value> {
    let mut out = Vec::new();
    timeline.write_chrome(&mut out).unwrap();
    let mut trace: Value = serde_json::from_slice(&out).unwrap();
    let Value::Array(events) = trace["traceEvents"].take() else {
        panic!("no events");
    };
    check(&events);
    events
}

/// Each flow has one begin and one end, not before it. Times of a thread rise. Each thread has a name.
fn check(events: &[Value]) {
    let mut flows: HashMap<u64, Vec<(String, f64)>> = HashMap::new();
    let mut times: HashMap<u64, f64> = HashMap::new();
    let mut names: HashMap<u64, String> = HashMap::new();
    for event in events {
        let thread = event["tid"].as_u64().unwrap();
        let phase = event["ph"].as_str().unwrap();
        if phase == "M" {
            let name = event["args"]["name"].as_str().unwrap();
            names.insert(thread, name.to_owned());
            continue;
        }
        let at = event["ts"].as_f64().unwrap();
        let before = times.insert(thread, at).unwrap_or(0.0);
        assert!(at >= before, "{event} comes after {before}");
        assert!(names.contains_key(&thread), "{event} has no thread");
        if phase == "s" || phase == "f" {
            let flow = flows.entry(event["id"].as_u64().unwrap()).or_default();
            flow.push((phase.to_owned(), at));
        }
    }
    for (id, ends) in flows {
        let at = |phase: &str| {
            let mut of = ends.iter().filter(|(is, _)| is == phase);
            let at = of
                .next()
                .unwrap_or_else(|| panic!("flow {id} has no {phase}"))
                .1;
            assert!(of.next().is_none(), "flow {id} has two {phase}");
            at
        };
        assert!(at("s") <= at("f"), "flow {id} leads back");
    }
}

fn of_kind<'e>(events: &'e [Value], kind: &str) -> Vec<&'e Value> {
    events.iter().filter(|event| event["cat"] == kind).collect()
}

struct Work;

fn on_thread<T: Send + 'static>(name: &str, f: impl FnOnce() -> T + Send + 'static) -> T {
    let thread = thread::Builder::new().name(name.to_owned());
    thread.spawn(f).unwrap().join().unwrap()
}

#[test]
fn events_are_taken_and_written() {
    timeline::set_records_per_thread(RECORDS);

    // A spawn here, a poll there, with all that is known of it.
    let mark = Mark::spawned::<Work>();
    let line = line!() - 1;
    // A wake right after the spawn would be the way into the first queue.
    terrace_trace::wake(0);
    mark.woken();
    on_thread("poller", move || {
        terrace_trace::worker(2, 3);
        terrace_trace::park();
        thread::sleep(Duration::from_micros(50));
        terrace_trace::unpark();
        terrace_trace::steal(7);
        let outer = inside(Span::Scope);
        let poll = mark.polls();
        terrace_trace::polls_named("dishes", std::panic::Location::caller());
        let other = Mark::spawned::<[u8]>();
        other.queued_on_lane(true);
        drop(poll);
        drop(outer);
    });
    let taken = timeline::snapshot();
    let poller = taken
        .threads()
        .iter()
        .find(|thread| thread.name() == "poller")
        .unwrap();
    assert_eq!((poller.pool(), poller.worker()), (Some(2), Some(3)));
    assert_eq!(poller.lost(), 0);
    let events = trace(&taken);
    let polls = of_kind(&events, "poll");
    assert_eq!(polls.len(), 1);
    assert_eq!(polls[0]["name"], "dishes");
    let site = format!("{}:{line}:", file!());
    let found = polls[0]["args"]["site"].as_str().unwrap();
    assert!(found.starts_with(&site), "{found}");
    assert_eq!(polls[0]["args"]["queued"]["why"], "woken");
    assert!(of_kind(&events, "sleep")[0]["dur"].as_f64().unwrap() > 0.0);
    assert_eq!(of_kind(&events, "steal")[0]["args"]["amount"], 7);
    assert_eq!(of_kind(&events, "scope").len(), 1);
    let queued = of_kind(&events, "queued");
    assert_eq!(queued.len(), 1);
    assert_eq!(queued[0]["args"]["queued"]["why"], "spawned, high lane");
    assert_eq!(queued[0]["args"]["queued"]["by"], polls[0]["args"]["task"]);
    assert!(queued[0]["name"].as_str().unwrap().contains("u8"));

    // What was overwritten is counted, and its thread is told from the one that takes the ring over.
    on_thread("talker", || {
        for _ in 0..3 * RECORDS {
            terrace_trace::steal(1);
        }
    });
    let taken = timeline::snapshot();
    let thread = |name: &str| taken.threads().iter().find(|thread| thread.name() == name);
    let talker = thread("talker").unwrap();
    assert_eq!(talker.lost() as usize + talker.events(), 3 * RECORDS);
    assert!(talker.events() < RECORDS && talker.events() + 2 > RECORDS);
    assert!(thread("poller").is_none_or(|poller| poller.lost() > 0));
    trace(&taken);

    // While others write.
    let writers: Vec<_> = (0..3)
        .map(|_| {
            thread::spawn(|| {
                for _ in 0..BUSY {
                    let mark = Mark::spawned::<Work>();
                    drop(mark.polls());
                }
            })
        })
        .collect();
    while writers.iter().any(|writer| !writer.is_finished()) {
        trace(&timeline::snapshot());
    }
    for writer in writers {
        writer.join().unwrap();
    }

    // A page has no text that could end its script, and refers to nothing else.
    let mut page = Vec::new();
    timeline::snapshot().write_html(&mut page).unwrap();
    let page = String::from_utf8(page).unwrap();
    assert!(!page.contains("http") && !page.contains("<!--"));

    names();
    a_million();
    files();
}

/// Names that are made up for each task leave room for the lines of others.
fn names() {
    let here = std::panic::Location::caller();
    for number in 0..10_000 {
        let _poll = Mark::spawned::<Work>().polls();
        terrace_trace::polls_named(&format!("task {number}"), here);
    }
    let line = line!() + 1;
    drop(Mark::spawned::<[Work; 7]>().polls());
    let events = trace(&timeline::snapshot());
    let polls = of_kind(&events, "first poll");
    let is_it = |poll: &&&Value| {
        poll["args"]["site"]
            .as_str()
            .is_some_and(|site| site.contains(&format!("timeline.rs:{line}:")))
    };
    assert_eq!(polls.iter().filter(is_it).count(), 1);
}

/// A million events are written, and read again.
fn a_million() {
    timeline::set_records_per_thread(1 << 20);
    // The rings of threads that have ended are small. These threads hold them, as many as there may be, until the million is there.
    let (held, done) = (Barrier::new(9), Barrier::new(9));
    let (held, done) = (Arc::new(held), Arc::new(done));
    let hold = || {
        let (held, done) = (Arc::clone(&held), Arc::clone(&done));
        thread::spawn(move || {
            terrace_trace::steal(1);
            held.wait();
            done.wait();
        })
    };
    let small: Vec<_> = (0..8).map(|_| hold()).collect();
    held.wait();
    let mark = Mark::spawned::<Work>();
    on_thread("a million", move || {
        for _ in 0..MANY {
            mark.woken();
            drop(mark.polls());
        }
    });
    done.wait();
    for thread in small {
        thread.join().unwrap();
    }
    let events = trace(&timeline::snapshot());
    assert!(events.len() > 3 * MANY as usize, "{} events", events.len());
}

fn files() {
    let dir = std::env::temp_dir().join(format!("terrace-trace-{}", std::process::id()));
    std::fs::create_dir(&dir).unwrap();
    let (json, html) = (dir.join("a.json"), dir.join("a.html"));
    timeline::write_on_panic(json.clone());
    assert!(thread::spawn(|| panic!("on purpose")).join().is_err());
    assert!(
        std::fs::read_to_string(&json)
            .unwrap()
            .starts_with("{\"displayTimeUnit\"")
    );
    timeline::snapshot().write_file(&html).unwrap();
    assert!(
        std::fs::read_to_string(&html)
            .unwrap()
            .starts_with("<!doctype html>")
    );
    assert!(timeline::snapshot().write_file(&dir).is_err());
    std::fs::remove_dir_all(&dir).unwrap();
}
