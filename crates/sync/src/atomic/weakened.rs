//! Orderings that are weaker than in the source, chosen when a model starts. With them `cargo xtask loom --sweep` makes
//! a mutant of every ordering with one build.
//!
//! | variable | effect |
//! |---|---|
//! | `TERRACE_SWEEP=FILE:LINE:COLUMN:PLACE:FROM:TO,…` | the access called there with `FROM` gets `TO` |
//! | `TERRACE_SWEEP_RECORD=FILE` | the first use of each ordering appends `FILE:LINE:COLUMN:PLACE:ORDERING` |
//!
//! `FILE:LINE:COLUMN` is where the access is called. `PLACE` is 0 for its only ordering and for that of a successful exchange,
//! 1 for that of a failed one. A fence counts as an access.

use core::panic::Location;
use std::borrow::ToOwned;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::Write;
use std::string::String;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::vec::Vec;

use core::sync::atomic::Ordering;

/// The settings of the environment.
struct Sweep {
    /// By line and column.
    weakened: HashMap<(u32, u32), Vec<Weakened>>,
    recorder: Option<Mutex<Recorder>>,
}

struct Weakened {
    file: String,
    place: u8,
    from: Ordering,
    to: Ordering,
}

struct Recorder {
    seen: HashSet<(&'static Location<'static>, u8, Ordering)>,
    file: File,
}

/// The ordering that the access called here uses in place of `order`.
#[track_caller]
pub(super) fn order(place: u8, order: Ordering) -> Ordering {
    static SWEEP: OnceLock<Sweep> = OnceLock::new();
    let sweep = SWEEP.get_or_init(Sweep::from_environment);
    // This is the usual case, and models come here at each access.
    if sweep.weakened.is_empty() && sweep.recorder.is_none() {
        return order;
    }
    let caller = Location::caller();
    if let Some(recorder) = &sweep.recorder {
        let mut recorder = recorder.lock().unwrap_or_else(PoisonError::into_inner);
        if recorder.seen.insert((caller, place, order)) {
            // One write, as other processes may append to the same file.
            let line = std::format!("{caller}:{place}:{order:?}\n");
            let written = recorder.file.write_all(line.as_bytes());
            written.expect("the file of TERRACE_SWEEP_RECORD can be written");
        }
    }
    let here = sweep.weakened.get(&(caller.line(), caller.column()));
    let mut here = here.into_iter().flatten();
    let weakened = here.find(|w| w.place == place && w.from == order && w.file == caller.file());
    weakened.map_or(order, |w| w.to)
}

impl Sweep {
    fn from_environment() -> Self {
        let recorder = std::env::var_os("TERRACE_SWEEP_RECORD").map(|path| {
            let file = File::options().append(true).create(true).open(path);
            Mutex::new(Recorder {
                seen: HashSet::new(),
                file: file.expect("the file of TERRACE_SWEEP_RECORD can be written"),
            })
        });
        let mut weakened = HashMap::<_, Vec<_>>::new();
        let text = std::env::var("TERRACE_SWEEP").unwrap_or_default();
        for word in text.split(',').filter(|word| !word.is_empty()) {
            let (at, what) = Weakened::parse(word).unwrap_or_else(|| {
                panic!("TERRACE_SWEEP consists of FILE:LINE:COLUMN:PLACE:FROM:TO, not {word:?}")
            });
            weakened.entry(at).or_default().push(what);
        }
        Self { weakened, recorder }
    }
}

impl Weakened {
    /// With its line and column.
    fn parse(text: &str) -> Option<((u32, u32), Self)> {
        let mut words = text.rsplitn(6, ':');
        let to = named(words.next()?)?;
        let from = named(words.next()?)?;
        let place = words.next()?.parse().ok()?;
        let column = words.next()?.parse().ok()?;
        let line = words.next()?.parse().ok()?;
        let file = words.next()?.to_owned();
        let weakened = Self {
            file,
            place,
            from,
            to,
        };
        Some(((line, column), weakened))
    }
}

/// The ordering of this name.
fn named(name: &str) -> Option<Ordering> {
    use Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
    let mut all = [Relaxed, Acquire, Release, AcqRel, SeqCst].into_iter();
    all.find(|order| std::format!("{order:?}") == name)
}
