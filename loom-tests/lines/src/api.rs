//! What the program asks the model: to count, and to wait without a cost.

use std::fmt::Write as _;
use std::sync::Mutex;

use crate::turns::{self, Reason};

/// How many of the hottest lines are told, and how many places of each.
const HOTTEST: usize = 300;
const PLACES: usize = 3;

/// Starts to count, from zero.
#[unsafe(no_mangle)]
extern "C" fn lines_begin() {
    turns::with(|world, _| {
        world.totals = Default::default();
        world.directory.reset();
        world.is_counting = true;
    });
}

/// Stops counting, and prints `NAME OPERATIONS RMWS LINES WAKES BARRIERS` and the hottest lines, each as
/// `COUNT PLACE:TIMES,…`, all separated by tabs.
///
/// # Safety
/// `name` points to `length` bytes of UTF-8.
#[unsafe(no_mangle)]
unsafe extern "C" fn lines_end(name: *const u8, length: usize, operations: u64) {
    // SAFETY: the caller answers for it.
    let name = unsafe { std::slice::from_raw_parts(name, length) };
    let name = String::from_utf8_lossy(name);
    let line = turns::with(|world, _| {
        world.is_counting = false;
        let all = world.totals;
        let mut line = format!(
            "{name}\t{operations}\t{}\t{}\t{}\t{}",
            all.rmws, all.lines, all.wakes, all.barriers
        );
        for hot in world.directory.hottest().into_iter().take(HOTTEST) {
            let places = hot.places.iter().take(PLACES);
            let places = places.map(|(place, times)| format!("{place:#x}:{times}"));
            let places = Vec::from_iter(places).join(",");
            let _infallible = write!(line, "\t{} {places}", hot.count);
        }
        line
    });
    println!("{}", line.unwrap_or_default());
}

/// Notes `count` more.
#[unsafe(no_mangle)]
extern "C" fn lines_note(count: u64) {
    turns::with(|world, _| {
        world.notes += count;
        let notes = world.notes;
        world.unblock(
            usize::MAX,
            |reason| matches!(reason, Reason::Notes(wanted) if wanted <= notes),
        );
    });
}

/// Waits until at least `wanted` notes were made since the start of the program.
#[unsafe(no_mangle)]
extern "C" fn lines_wait(wanted: u64) {
    if turns::with(|world, _| world.notes < wanted) == Some(true) {
        turns::block(Reason::Notes(wanted), None);
    }
}

/// How many notes were made.
#[unsafe(no_mangle)]
extern "C" fn lines_notes() -> u64 {
    turns::with(|world, _| world.notes).unwrap_or_default()
}

/// Computes for some steps of 10 ns, without an access to memory.
#[unsafe(no_mangle)]
extern "C" fn lines_compute(steps: u64) {
    turns::pause(steps);
}

/// Waits until no other thread can run.
#[unsafe(no_mangle)]
extern "C" fn lines_settle() {
    while turns::with(|world, _| world.is_alone()) == Some(false) {
        turns::step();
    }
}

/// The threads' handles in the system, by their numbers in the model.
pub(crate) static HANDLES: Mutex<Vec<(libc::pthread_t, usize)>> = Mutex::new(Vec::new());
