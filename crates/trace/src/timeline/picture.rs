//! What a timeline shows, and the page that shows it. `cargo xtask timeline` compiles this file, too: it uses nothing of the crate but `quoted.rs`.

use std::io::{self, Write};
use std::string::String;
use std::vec::Vec;

use crate::quoted::Quoted;

/// The kinds of items, by their number. The last three have no length.
pub(crate) const KINDS: [&str; 10] = [
    "poll",
    "first poll",
    "sleep",
    "scope",
    "join",
    "job",
    "blocking call",
    "steal",
    "wakes worker",
    "queued",
];
/// From this kind on items are instants.
pub(crate) const INSTANTS: u8 = 7;
/// Why a task was queued, by number. The first lane is the normal one.
pub(crate) const CAUSES: [&str; 9] = [
    "spawned",
    "woken",
    "woken in its own poll",
    "spawned, high lane",
    "woken, high lane",
    "woken in its own poll, high lane",
    "spawned, background lane",
    "woken, background lane",
    "woken in its own poll, background lane",
];

/// How a task came into the queue out of which it was polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Woken {
    /// An index into [`CAUSES`].
    pub(crate) cause: u8,
    /// When, in nanoseconds.
    pub(crate) at: u64,
    /// The lane of the thread that queued it.
    pub(crate) lane: u32,
    /// The task that this thread polled; 0 is none.
    pub(crate) by: u64,
}

/// Something that a thread did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Item {
    /// An index into [`KINDS`].
    pub(crate) kind: u8,
    /// In nanoseconds since the beginning of the timeline.
    pub(crate) start: u64,
    /// In nanoseconds.
    pub(crate) length: u64,
    /// Whether it had not ended when the timeline was taken.
    pub(crate) open: bool,
    /// The task's number; 0 is none.
    pub(crate) task: u64,
    /// An index into the picture's sites; 0 is not known.
    pub(crate) site: u32,
    /// Of a steal, how many tasks; of a wake, which worker.
    pub(crate) amount: u64,
    pub(crate) woken: Option<Woken>,
}

/// A thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lane {
    pub(crate) name: String,
    pub(crate) worker: bool,
    /// Records that were overwritten.
    pub(crate) lost: u64,
    /// By their start.
    pub(crate) items: Vec<Item>,
}

/// A type or name, and a line, of tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Site {
    pub(crate) name: String,
    pub(crate) place: String,
}

/// What a timeline shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Picture {
    /// In nanoseconds.
    pub(crate) length: u64,
    /// The first one is that of no task.
    pub(crate) sites: Vec<Site>,
    pub(crate) lanes: Vec<Lane>,
}

/// The parts of the page.
const HTML: &str = include_str!("page/page.html");
const CSS: &str = include_str!("page/page.css");
/// In this order; each is a part of one program.
const JS: [&str; 4] = [
    include_str!("page/read.js"),
    include_str!("page/summary.js"),
    include_str!("page/draw.js"),
    include_str!("page/page.js"),
];

impl Picture {
    /// Writes the page: one file, which needs nothing else.
    ///
    /// # Errors
    /// Those of `out`.
    pub(crate) fn write_page(&self, out: &mut impl Write) -> io::Result<()> {
        let mut rest = HTML;
        while let Some((before, after)) = rest.split_once("<!--") {
            let (what, after) = after.split_once("-->").unwrap_or((after, ""));
            out.write_all(before.as_bytes())?;
            match what {
                "css" => out.write_all(CSS.as_bytes())?,
                "js" => JS
                    .iter()
                    .try_for_each(|part| out.write_all(part.as_bytes()))?,
                "data" => self.write_data(out)?,
                _ => {}
            }
            rest = after;
        }
        out.write_all(rest.as_bytes())
    }

    /// Writes the data of the page.
    fn write_data(&self, out: &mut impl Write) -> io::Result<()> {
        write!(out, "{{\"length\":{},\"kinds\":", self.length)?;
        write_texts(out, &KINDS)?;
        write!(out, ",\"instants\":{INSTANTS},\"causes\":")?;
        write_texts(out, &CAUSES)?;
        write!(out, ",\"sites\":[")?;
        for (at, site) in self.sites.iter().enumerate() {
            write!(out, "{}", if at == 0 { "" } else { "," })?;
            write_texts(out, &[&site.name, &site.place])?;
        }
        write!(out, "],\"lanes\":[")?;
        for (at, lane) in self.lanes.iter().enumerate() {
            write!(
                out,
                "{}{{\"name\":{},\"worker\":{},\"lost\":{},\"items\":{},\"data\":\"",
                if at == 0 { "" } else { "," },
                Quoted(&lane.name),
                lane.worker,
                lane.lost,
                lane.items.len()
            )?;
            write_base64(out, &encode(&lane.items))?;
            write!(out, "\"}}")?;
        }
        write!(out, "]}}")
    }
}

/// The items of a lane in bytes: numbers of 7 bits a byte, the lowest first. `page/read.js` reads them.
///
/// | number | of | meaning |
/// |---|---|---|
/// | 1 | all | kind; 16 more if woken, 32 if there is an amount, 64 if open |
/// | 2 | all | nanoseconds since the start of the item before |
/// | 3 | those with a length | nanoseconds |
/// | 4 | all | task, less that of the item before, with a sign |
/// | 5 | all | site |
/// | 6 to 9 | woken | cause, nanoseconds before the start, lane, and the waker's task, less this one's, with a sign |
/// | 10 | with an amount | amount |
fn encode(items: &[Item]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(items.len() * 12);
    let (mut start, mut task) = (0, 0);
    for item in items {
        let flag = |set: bool, flag: u64| if set { flag } else { 0 };
        let flags =
            flag(item.woken.is_some(), 16) | flag(item.amount != 0, 32) | flag(item.open, 64);
        number(&mut bytes, u64::from(item.kind) | flags);
        number(&mut bytes, item.start.saturating_sub(start));
        if item.kind < INSTANTS {
            number(&mut bytes, item.length);
        }
        number(&mut bytes, difference(item.task, task));
        number(&mut bytes, u64::from(item.site));
        if let Some(woken) = item.woken {
            number(&mut bytes, u64::from(woken.cause));
            number(&mut bytes, item.start.saturating_sub(woken.at));
            number(&mut bytes, u64::from(woken.lane));
            number(&mut bytes, difference(woken.by, item.task));
        }
        if item.amount != 0 {
            number(&mut bytes, item.amount);
        }
        (start, task) = (item.start, item.task);
    }
    bytes
}

fn number(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// A difference as a number: twice its value, less one if it is negative.
fn difference(value: u64, from: u64) -> u64 {
    let difference = value.wrapping_sub(from) as i64;
    (difference << 1 ^ difference >> 63) as u64
}

fn write_base64(out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = Vec::with_capacity(bytes.len() * 4 / 3 + 4);
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        let digits = [18, 12, 6, 0].map(|shift| DIGITS[(bits >> shift & 63) as usize]);
        text.extend_from_slice(&digits[..=three.len()]);
        text.extend(std::iter::repeat_n(b'=', 3 - three.len()));
    }
    out.write_all(&text)
}

fn write_texts(out: &mut impl Write, texts: &[&str]) -> io::Result<()> {
    for (at, text) in texts.iter().enumerate() {
        write!(out, "{}{}", if at == 0 { "[" } else { "," }, Quoted(text))?;
    }
    write!(out, "]")
}

#[cfg(test)]
mod tests {
    use super::{difference, number, write_base64};
    use std::vec::Vec;

    #[test]
    fn numbers_are_packed() {
        let mut bytes = Vec::new();
        number(&mut bytes, 127);
        number(&mut bytes, 128);
        assert_eq!(bytes, [127, 128, 1]);
        number(&mut bytes, u64::MAX);
        assert_eq!(bytes.len(), 3 + 10);
        assert_eq!(
            [difference(5, 3), difference(3, 5), difference(0, 0)],
            [4, 3, 0]
        );
    }

    #[test]
    fn base64_is_padded() {
        let coded = |bytes: &[u8]| {
            let mut out = Vec::new();
            write_base64(&mut out, bytes).unwrap();
            out
        };
        assert_eq!(coded(b""), b"");
        assert_eq!(coded(b"f"), b"Zg==");
        assert_eq!(coded(b"fo"), b"Zm8=");
        assert_eq!(coded(b"foo"), b"Zm9v");
        assert_eq!(coded(&[255, 254, 253, 252]), b"//79/A==");
    }
}
