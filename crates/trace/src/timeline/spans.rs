//! Makes items out of records: polls with who woke their task, sleeps, spans.

use std::borrow::ToOwned;
use std::collections::HashMap;
use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

use super::picture::{Item, Lane, Picture, Site, Woken};
use super::record::{Kind, number, site, span, unpack};
use super::taken::Timeline;
use super::threads::ThreadTimeline;

/// Indices into `picture::KINDS`.
const POLL: u8 = 0;
const FIRST_POLL: u8 = 1;
const SLEEP: u8 = 2;
const STEAL: u8 = 7;
const WAKES_WORKER: u8 = 8;
const QUEUED: u8 = 9;

/// What one thread is doing, as its records are read in order.
#[derive(Default)]
struct Doing {
    /// The items that have begun and not ended, the innermost last.
    open: Vec<usize>,
    sleep: Option<usize>,
    /// The task that its last record says it has spawned; 0 if that says something else.
    spawned: u64,
    /// When the thread's records begin.
    since: Option<u64>,
}

/// The items of all threads, as they are found.
struct Spans<'t> {
    timeline: &'t Timeline,
    picture: Picture,
    doing: Vec<Doing>,
    /// The tasks that are queued, as the items that they are if no thread polls them.
    queued: HashMap<u64, Item>,
    named: HashMap<(u32, u32), u32>,
}

/// What a thread is called: by its name, and by its pool where workers of several pools have that name.
fn name(thread: &ThreadTimeline, all: &[ThreadTimeline]) -> String {
    let is_of_another = |other: &ThreadTimeline| {
        other.name == thread.name && other.pool().is_some_and(|pool| thread.pool() != Some(pool))
    };
    match thread.pool() {
        Some(pool) if all.iter().any(is_of_another) => format!("{}, pool {pool}", thread.name),
        _ => thread.name.clone(),
    }
}

/// What `timeline` shows.
pub(super) fn picture(timeline: &Timeline) -> Picture {
    let sites = timeline.sites.iter().map(|site| match site {
        Some(site) => Site {
            name: spawned_type(&site.name).to_owned(),
            place: site.location.to_string(),
        },
        None => Site::default(),
    });
    let lanes = timeline.threads.iter().map(|thread| Lane {
        name: name(thread, &timeline.threads),
        worker: thread.worker.is_some(),
        lost: thread.lost,
        items: Vec::new(),
    });
    let mut spans = Spans {
        timeline,
        picture: Picture {
            length: 0,
            sites: sites.collect(),
            lanes: lanes.collect(),
        },
        doing: timeline.threads.iter().map(|_| Doing::default()).collect(),
        queued: HashMap::new(),
        named: HashMap::new(),
    };
    for (at, lane, word) in in_order(timeline) {
        if let Some((kind, payload)) = unpack(word) {
            spans.add(at, lane, kind, payload);
        }
    }
    spans.end()
}

/// All records by their time, in nanoseconds since the first one: each with its thread and its second word. Records of a thread keep
/// their order.
fn in_order(timeline: &Timeline) -> Vec<(u64, u32, u64)> {
    let mut all = Vec::with_capacity(timeline.threads.iter().map(|t| t.records.len()).sum());
    for (lane, thread) in timeline.threads.iter().enumerate() {
        let mut before = 0;
        for [ticks, word] in &thread.records {
            // A thread may move to a core whose counter is a few ticks behind.
            before = timeline.nanoseconds(*ticks).max(before);
            all.push((before, lane as u32, *word));
        }
    }
    all.sort_by_key(|(at, ..)| *at);
    all
}

impl Spans<'_> {
    fn add(&mut self, at: u64, lane: u32, kind: Kind, payload: u64) {
        let doing = &mut self.doing[lane as usize];
        doing.since.get_or_insert(at);
        let task = number(payload);
        let spawned = std::mem::replace(&mut doing.spawned, 0);
        match kind {
            Kind::Spawned => {
                doing.spawned = task;
                self.queue(at, lane, 0, payload);
            }
            // A spawned task comes into some queues as a woken one does.
            Kind::Woken if spawned == task => {}
            Kind::Woken => self.queue(at, lane, 1, payload),
            Kind::WokenInPoll => self.queue(at, lane, 2, payload),
            Kind::QueuedHigh | Kind::QueuedBackground => {
                let offset = if kind == Kind::QueuedHigh { 3 } else { 6 };
                let queued = self.queued.get_mut(&task);
                if let Some(woken) = queued.and_then(|item| item.woken.as_mut()) {
                    woken.cause = woken.cause % 3 + offset;
                }
            }
            Kind::Poll => {
                let queued = self.queued.remove(&task);
                let kind = if spawned == task && task != 0 {
                    FIRST_POLL
                } else {
                    POLL
                };
                let woken = queued.and_then(|item| item.woken);
                let of = of_task(kind, at, payload);
                self.begin(lane, Item { woken, ..of });
            }
            Kind::PollEnd => {
                let is_it = |item: &Item| item.kind <= FIRST_POLL && item.task == task;
                self.finish(lane, is_it, of_task(POLL, at, payload));
            }
            Kind::Begin | Kind::End => {
                let Some(span) = span(payload) else { return };
                // Spans are numbered from 1 on, in the order of their kinds behind sleeps.
                let of = item(SLEEP + span as u8, at);
                match kind {
                    Kind::Begin => self.begin(lane, of),
                    _ => self.finish(lane, |open| open.kind == of.kind, of),
                }
            }
            Kind::Park => {
                let items = &mut self.picture.lanes[lane as usize].items;
                doing.sleep.get_or_insert(items.len());
                if doing.sleep == Some(items.len()) {
                    items.push(Item {
                        open: true,
                        ..item(SLEEP, at)
                    });
                }
            }
            Kind::Unpark => {
                if let Some(sleep) = doing.sleep.take() {
                    close(&mut self.picture.lanes[lane as usize].items[sleep], at);
                }
            }
            Kind::Steal => self.happens(lane, STEAL, at, payload),
            Kind::WakeWorker => self.happens(lane, WAKES_WORKER, at, payload),
            Kind::Name => self.name(lane, u32::from(site(payload))),
        }
    }

    /// Something without a length.
    fn happens(&mut self, lane: u32, kind: u8, at: u64, amount: u64) {
        let of = item(kind, at);
        let items = &mut self.picture.lanes[lane as usize].items;
        items.push(Item { amount, ..of });
    }

    /// A task was queued.
    fn queue(&mut self, at: u64, lane: u32, cause: u8, payload: u64) {
        let by = self.polled(lane).map_or(0, |item| item.task);
        let woken = Some(Woken {
            cause,
            at,
            lane,
            by,
        });
        let of = of_task(QUEUED, at, payload);
        self.queued.insert(of.task, Item { woken, ..of });
    }

    /// The innermost poll of a thread.
    fn polled(&mut self, lane: u32) -> Option<&mut Item> {
        let items = &mut self.picture.lanes[lane as usize].items;
        let open = self.doing[lane as usize].open.iter().rev();
        let innermost = open.copied().find(|item| items[*item].kind <= FIRST_POLL)?;
        Some(&mut items[innermost])
    }

    fn begin(&mut self, lane: u32, item: Item) {
        let doing = &mut self.doing[lane as usize];
        let items = &mut self.picture.lanes[lane as usize].items;
        // It runs something, so it is awake.
        if let Some(sleep) = doing.sleep.take() {
            close(&mut items[sleep], item.start);
        }
        doing.open.push(items.len());
        items.push(Item { open: true, ..item });
    }

    /// Ends the innermost item that fits, and those inside of it. `cut` starts at that end, and is the item if its beginning was overwritten.
    fn finish(&mut self, lane: u32, fits: impl Fn(&Item) -> bool, cut: Item) {
        let at = cut.start;
        let doing = &mut self.doing[lane as usize];
        let items = &mut self.picture.lanes[lane as usize].items;
        match doing.open.iter().rposition(|item| fits(&items[*item])) {
            Some(found) => {
                for item in doing.open.drain(found..) {
                    close(&mut items[item], at);
                }
            }
            None => {
                // It began before all that the thread still has.
                let start = doing.since.unwrap_or(at);
                items.insert(
                    0,
                    Item {
                        start,
                        length: at - start,
                        ..cut
                    },
                );
                for index in doing.open.iter_mut().chain(&mut doing.sleep) {
                    *index += 1;
                }
            }
        }
    }

    /// The task that the thread polls has this name.
    fn name(&mut self, lane: u32, name: u32) {
        let Some(site) = self.polled(lane).map(|item| item.site) else {
            return;
        };
        let sites = &mut self.picture.sites;
        let index = *self.named.entry((site, name)).or_insert_with(|| {
            let of = |index: u32| sites.get(index as usize).cloned().unwrap_or_default();
            let (spawned, given) = (of(site), of(name));
            let place = if spawned.place.is_empty() {
                given.place
            } else {
                spawned.place
            };
            sites.push(Site {
                name: given.name,
                place,
            });
            sites.len() as u32 - 1
        });
        if let Some(item) = self.polled(lane) {
            item.site = index;
        }
    }

    /// All records have been read.
    fn end(mut self) -> Picture {
        let end = self.timeline.nanoseconds(self.timeline.end);
        for (doing, lane) in self.doing.iter().zip(&mut self.picture.lanes) {
            for index in doing.open.iter().chain(&doing.sleep) {
                let item = &mut lane.items[*index];
                item.length = end.saturating_sub(item.start);
            }
        }
        // What was queued and has not been polled.
        for item in self.queued.into_values() {
            if let Some(woken) = item.woken {
                self.picture.lanes[woken.lane as usize].items.push(item);
            }
        }
        for lane in &mut self.picture.lanes {
            lane.items.sort_by_key(|item| item.start);
        }
        self.picture.length = end;
        self.picture
    }
}

/// An item of the task in this payload.
fn of_task(kind: u8, start: u64, payload: u64) -> Item {
    Item {
        task: number(payload),
        site: u32::from(site(payload)),
        ..item(kind, start)
    }
}

/// An item of nothing in particular.
fn item(kind: u8, start: u64) -> Item {
    Item {
        kind,
        start,
        ..Item::default()
    }
}

fn close(item: &mut Item, at: u64) {
    item.length = at - item.start;
    item.open = false;
}

/// Wrappers that executors put around a future: the last of their parameters is what the program spawned.
const WRAPPERS: [&str; 7] = [
    "Pin", "Box", "Child", "Settled", "Named", "Here", "Recorded",
];

/// The type that the program spawned, out of that of the future which an executor polls: without the wrappers that executors put around
/// it.
///
/// # Examples
///
/// ```
/// use terrace_trace::timeline::spawned_type;
///
/// let polled = "core::pin::Pin<alloc::boxed::Box<game::Job<u32>>>";
/// assert_eq!(spawned_type(polled), "game::Job<u32>");
/// ```
#[must_use = "the call only reads a value"]
pub fn spawned_type(name: &str) -> &str {
    let mut name = name;
    while let Some((head, inner)) = name.strip_suffix('>').and_then(|name| name.split_once('<')) {
        let wrapper = head.rsplit("::").next().unwrap_or(head);
        if !WRAPPERS.contains(&wrapper) {
            break;
        }
        name = last_parameter(inner);
    }
    name
}

/// The last of the parameters in a list.
fn last_parameter(list: &str) -> &str {
    let mut depth = 0_i32;
    let mut begin = 0;
    let mut before = ' ';
    for (at, c) in list.char_indices() {
        match c {
            '<' | '(' | '[' => depth += 1,
            '>' if before == '-' => {}
            '>' | ')' | ']' => depth -= 1,
            ',' if depth == 0 => begin = at + 1,
            _ => {}
        }
        before = c;
    }
    list[begin..].trim()
}

#[cfg(test)]
mod tests {
    use super::spawned_type;

    #[test]
    fn wrappers_are_taken_off() {
        let child = "terrace_executor::scope::child::Child<core::pin::Pin<alloc::boxed::Box<my::f<A, (B, C)>::{{closure}}>>>";
        assert_eq!(spawned_type(child), "my::f<A, (B, C)>::{{closure}}");
        assert_eq!(
            spawned_type("a::Settled<b::Core<X>, c::Poll<fn() -> u8>>"),
            "c::Poll<fn() -> u8>"
        );
        let recorded = "terrace_trace::inspect::recorded::Recorded<my::Thing<X>>";
        assert_eq!(spawned_type(recorded), "my::Thing<X>");
        assert_eq!(spawned_type("my::Thing<X>"), "my::Thing<X>");
        assert_eq!(spawned_type("Box<"), "Box<");
    }
}
