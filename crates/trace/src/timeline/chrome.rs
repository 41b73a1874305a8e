//! Writes a picture as a trace in Chrome's JSON format, which Perfetto reads.
//!
//! | in the trace | is |
//! |---|---|
//! | `M` | the names of the process and of threads, with what was overwritten |
//! | `X` | an item with a length |
//! | `i` | an instant |
//! | `s`, `f` | the begin of a flow at the thread that wakes, and its end at the poll |
//!
//! Times are microseconds, with three digits for nanoseconds. `cargo xtask timeline` reads all of this again.

use std::io::{self, Write};
use std::mem;
use std::vec::Vec;

use super::picture::{CAUSES, INSTANTS, Item, KINDS, Picture};
use crate::quoted::Quoted;

/// What stands in a trace that this crate wrote.
const WRITER: &str = "terrace-trace 1";

/// An event of a thread, and what orders events of one time.
type Event = (u64, u8, What);

#[derive(Clone, Copy)]
enum What {
    Item(usize),
    /// With its phase.
    Flow(&'static str, u64),
}

/// Microseconds.
struct Micros(u64);

impl std::fmt::Display for Micros {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}

pub(super) fn write(picture: &Picture, out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"writer\":\"{WRITER}\",\"length\":{}}},\"traceEvents\":[",
        Micros(picture.length)
    )?;
    write!(
        out,
        r#"{{"ph":"M","pid":1,"tid":0,"name":"process_name","args":{{"name":"terrace"}}}}"#
    )?;
    for (lane, events) in picture.lanes.iter().zip(events(picture)).enumerate() {
        let (lane, (of, events)) = (lane + 1, events);
        write!(
            out,
            ",\n{{\"ph\":\"M\",\"pid\":1,\"tid\":{lane},\"name\":\"thread_name\",\"args\":{{\"name\":{},\"worker\":{},\"lost\":{}}}}}",
            Quoted(&of.name),
            of.worker,
            of.lost
        )?;
        for (at, _, what) in events {
            match what {
                What::Item(item) => write_item(picture, lane, &of.items[item], out)?,
                What::Flow(phase, id) => write!(
                    out,
                    ",\n{{{phase},\"pid\":1,\"tid\":{lane},\"ts\":{},\"id\":{id},\"name\":\"wake\",\"cat\":\"wake\"}}",
                    Micros(at)
                )?,
            }
        }
    }
    out.write_all(b"\n]}\n")
}

/// The events of each lane, by their time.
fn events(picture: &Picture) -> Vec<Vec<Event>> {
    let mut events: Vec<Vec<Event>> = picture.lanes.iter().map(|_| Vec::new()).collect();
    let mut flow = 0;
    for (lane, of) in picture.lanes.iter().enumerate() {
        for (index, item) in of.items.iter().enumerate() {
            events[lane].push((item.start, 0, What::Item(index)));
            if let Some(woken) = item.woken.filter(|_| item.kind < INSTANTS) {
                flow += 1;
                let (begin, end) = (r#""ph":"s""#, r#""ph":"f","bp":"e""#);
                events[woken.lane as usize].push((woken.at, 1, What::Flow(begin, flow)));
                events[lane].push((item.start, 2, What::Flow(end, flow)));
            }
        }
    }
    for events in &mut events {
        // Items of one time stay in their order: the outer one first.
        events.sort_by_key(|(at, order, _)| (*at, *order));
    }
    events
}

fn write_item(picture: &Picture, lane: usize, item: &Item, out: &mut impl Write) -> io::Result<()> {
    let kind = KINDS[usize::from(item.kind)];
    let is_instant = item.kind >= INSTANTS;
    let site = picture
        .sites
        .get(item.site as usize)
        .filter(|site| !site.name.is_empty());
    let phase = if is_instant {
        r#""ph":"i","s":"t""#
    } else {
        r#""ph":"X""#
    };
    write!(
        out,
        ",\n{{{phase},\"pid\":1,\"tid\":{lane},\"ts\":{}",
        Micros(item.start)
    )?;
    if !is_instant {
        write!(out, ",\"dur\":{}", Micros(item.length))?;
    }
    let name = Quoted(site.map_or(kind, |site| &site.name));
    write!(out, ",\"cat\":\"{kind}\",\"name\":{name},\"args\":{{")?;
    let mut first = "";
    // Nothing before the first of them.
    let mut comma = || mem::replace(&mut first, ",");
    if item.task != 0 {
        write!(out, "{}\"task\":{}", comma(), item.task)?;
    }
    if let Some(site) = site {
        write!(out, "{}\"site\":{}", comma(), Quoted(&site.place))?;
    }
    if item.amount != 0 {
        write!(out, "{}\"amount\":{}", comma(), item.amount)?;
    }
    if item.open {
        write!(out, "{}\"open\":true", comma())?;
    }
    if let Some(woken) = item.woken {
        let cause = CAUSES[usize::from(woken.cause)];
        let (at, thread) = (Micros(woken.at), woken.lane + 1);
        write!(
            out,
            "{}\"queued\":{{\"why\":\"{cause}\",\"at\":{at},\"thread\":{thread},\"by\":{}}}",
            comma(),
            woken.by
        )?;
    }
    write!(out, "}}}}")
}
