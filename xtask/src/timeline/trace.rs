//! Reads a trace in Chrome's JSON format, as `terrace-trace` writes it.

use std::collections::HashMap;

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde::Deserialize;

use super::picture::{CAUSES, INSTANTS, Item, KINDS, Lane, Picture, Site, Woken};

/// What stands in the traces that this can read.
const WRITER: &str = "terrace-trace 1";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Trace {
    #[serde(default)]
    other_data: Other,
    trace_events: Vec<Event>,
}

#[derive(Default, Deserialize)]
struct Other {
    writer: Option<String>,
    #[serde(default)]
    length: f64,
}

#[derive(Deserialize)]
struct Event {
    ph: String,
    #[serde(default)]
    tid: u64,
    #[serde(default)]
    ts: f64,
    #[serde(default)]
    dur: f64,
    #[serde(default)]
    cat: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    args: Values,
}

#[derive(Default, Deserialize)]
struct Values {
    name: Option<String>,
    #[serde(default)]
    worker: bool,
    #[serde(default)]
    lost: u64,
    #[serde(default)]
    task: u64,
    site: Option<String>,
    #[serde(default)]
    amount: u64,
    #[serde(default)]
    open: bool,
    queued: Option<Queued>,
}

#[derive(Deserialize)]
struct Queued {
    why: String,
    at: f64,
    thread: u64,
    by: u64,
}

/// What a trace shows.
pub(super) fn read(text: &str) -> Result<Picture> {
    let trace: Trace = serde_json::from_str(text).map_err(|error| explain(text, error))?;
    match &trace.other_data.writer {
        Some(writer) if writer == WRITER => {}
        Some(writer) => bail!("`{writer}` has written it, and this reads traces of `{WRITER}`"),
        None => bail!(
            "another program has written it: `otherData` names no writer, and this reads traces of `{WRITER}`"
        ),
    }
    let mut picture = Picture {
        length: nanoseconds(trace.other_data.length),
        sites: vec![Site::default()],
        lanes: Vec::new(),
    };
    let mut sites = HashMap::new();
    for (at, event) in trace.trace_events.into_iter().enumerate() {
        let what = format!(
            "event {} of the trace (`{}`, `{}`)",
            at + 1,
            event.ph,
            event.name
        );
        add(&mut picture, &mut sites, event).context(what)?;
    }
    let lanes = picture.lanes.len();
    let woken = |lane: &Lane| {
        lane.items
            .iter()
            .filter_map(|item| item.woken)
            .map(|woken| woken.lane)
            .max()
    };
    let last = picture.lanes.iter().filter_map(woken).max();
    ensure!(
        last.is_none_or(|last| (last as usize) < lanes),
        "it ends before the thread that wakes a task has begun"
    );
    Ok(picture)
}

/// Where the text stops being a trace.
fn explain(text: &str, error: serde_json::Error) -> anyhow::Error {
    let (line, column) = (error.line(), error.column());
    if text.trim().is_empty() {
        anyhow!("it is empty")
    } else if error.is_eof() {
        anyhow!(
            "it ends in the middle, in line {line}, column {column}: the program may have ended while it wrote, or the copy is not complete"
        )
    } else {
        anyhow!("{error}")
    }
}

fn nanoseconds(micros: f64) -> u64 {
    (micros * 1000.0).round() as u64
}

fn add(picture: &mut Picture, sites: &mut HashMap<Site, u32>, event: Event) -> Result<()> {
    let values = event.args;
    match event.ph.as_str() {
        "M" if event.name == "thread_name" => {
            ensure!(
                event.tid == picture.lanes.len() as u64 + 1,
                "thread {} is out of order",
                event.tid
            );
            picture.lanes.push(Lane {
                name: values.name.context("the thread has no name")?,
                worker: values.worker,
                lost: values.lost,
                items: Vec::new(),
            });
        }
        "X" | "i" => {
            let kind = KINDS.iter().position(|kind| *kind == event.cat);
            let kind = kind.with_context(|| format!("`{}` is no kind of item", event.cat))? as u8;
            ensure!(
                (event.ph == "i") == (kind >= INSTANTS),
                "a `{}` is of another phase",
                event.cat
            );
            let site = values.site.map_or(0, |place| {
                let site = Site {
                    name: event.name,
                    place,
                };
                *sites.entry(site.clone()).or_insert_with(|| {
                    picture.sites.push(site);
                    picture.sites.len() as u32 - 1
                })
            });
            let start = nanoseconds(event.ts);
            let item = Item {
                kind,
                start,
                length: nanoseconds(event.dur),
                open: values.open,
                task: values.task,
                site,
                amount: values.amount,
                woken: values.queued.map(woken).transpose()?,
            };
            let lane = (event.tid as usize)
                .checked_sub(1)
                .and_then(|lane| picture.lanes.get_mut(lane));
            let items = &mut lane.context("its thread has not begun")?.items;
            let before = items.last().map_or(0, |item| item.start);
            ensure!(before <= start, "it comes after one that is later");
            items.push(item);
        }
        // Flows say again what the items say.
        "M" | "s" | "f" => {}
        phase => bail!("`{phase}` is no phase that `{WRITER}` writes"),
    }
    Ok(())
}

fn woken(queued: Queued) -> Result<Woken> {
    let cause = CAUSES.iter().position(|cause| *cause == queued.why);
    let lane = queued
        .thread
        .checked_sub(1)
        .context("thread 0 wakes nothing")?;
    Ok(Woken {
        cause: cause.with_context(|| format!("`{}` is no reason to be queued", queued.why))? as u8,
        at: nanoseconds(queued.at),
        lane: u32::try_from(lane)?,
        by: queued.by,
    })
}

#[cfg(test)]
mod tests {
    use super::read;

    const TRACE: &str = r#"{"otherData":{"writer":"terrace-trace 1","length":9.5},"traceEvents":[
{"ph":"M","pid":1,"tid":0,"name":"process_name","args":{"name":"terrace"}},
{"ph":"M","pid":1,"tid":1,"name":"thread_name","args":{"name":"<main>","worker":true,"lost":3}},
{"ph":"X","pid":1,"tid":1,"ts":1.250,"dur":2.001,"cat":"poll","name":"a::b","args":{"task":7,"site":"a.rs:1:2","queued":{"why":"spawned","at":0.500,"thread":1,"by":0}}},
{"ph":"f","bp":"e","pid":1,"tid":1,"ts":1.250,"id":1,"name":"wake","cat":"wake"},
{"ph":"i","s":"t","pid":1,"tid":1,"ts":4.000,"cat":"steal","name":"steal","args":{"amount":2}}
]}"#;

    fn error(text: &str) -> String {
        format!("{:#}", read(text).expect_err("it is no trace"))
    }

    #[test]
    fn items_come_out_of_a_trace() {
        let picture = read(TRACE).unwrap();
        assert_eq!(picture.length, 9500);
        let [lane] = &picture.lanes[..] else {
            panic!("one lane")
        };
        assert_eq!(
            (lane.name.as_str(), lane.worker, lane.lost),
            ("<main>", true, 3)
        );
        let [poll, steal] = &lane.items[..] else {
            panic!("two items")
        };
        assert_eq!(
            (poll.start, poll.length, poll.task, poll.kind),
            (1250, 2001, 7, 0)
        );
        assert_eq!(picture.sites[poll.site as usize].place, "a.rs:1:2");
        assert_eq!(poll.woken.unwrap().at, 500);
        assert_eq!((steal.amount, steal.kind), (2, 7));
        let mut page = Vec::new();
        picture.write_page(&mut page).unwrap();
        let page = String::from_utf8(page).unwrap();
        assert!(page.contains(r#"["a::b","a.rs:1:2"]"#) && page.contains(r#""\u003cmain>""#));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let cut = error(&TRACE[..TRACE.len() - 30]);
        assert!(cut.starts_with("it ends in the middle, in line 6"), "{cut}");
        assert_eq!(error("  \n"), "it is empty");
        assert!(error("[1, 2]").contains("line 1 column"));
        assert!(error("no trace").contains("line 1 column 2"));
        let foreign = error(r#"{"traceEvents":[]}"#);
        assert!(
            foreign.starts_with("another program has written it"),
            "{foreign}"
        );
        let newer = error(&TRACE.replace("terrace-trace 1", "terrace-trace 2"));
        assert!(
            newer.starts_with("`terrace-trace 2` has written it"),
            "{newer}"
        );
        let lane = error(&TRACE.replace(r#""tid":1,"ts":4"#, r#""tid":9,"ts":4"#));
        assert_eq!(
            lane,
            "event 5 of the trace (`i`, `steal`): its thread has not begun"
        );
        let kind = error(&TRACE.replace(r#""cat":"poll""#, r#""cat":"nap""#));
        assert_eq!(
            kind,
            "event 3 of the trace (`X`, `a::b`): `nap` is no kind of item"
        );
        let late = error(&TRACE.replace("\"ts\":4.000", "\"ts\":1.000"));
        assert!(late.ends_with("it comes after one that is later"), "{late}");
        let waker = error(&TRACE.replace(r#""thread":1"#, r#""thread":2"#));
        assert!(waker.starts_with("it ends before the thread"), "{waker}");
        let why = error(&TRACE.replace("\"why\":\"spawned\"", "\"why\":\"bored\""));
        assert!(why.ends_with("`bored` is no reason to be queued"), "{why}");
    }
}
