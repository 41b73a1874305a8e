//! Where tasks were spawned, and what they are: a table of the process, to which records refer by a small index.

use core::panic::Location;
use std::borrow::{Cow, ToOwned};
use std::vec::Vec;

use terrace_sync::OnceLock;
use terrace_sync::atomic::{AtomicUsize, Ordering};

/// Entries, of which the first stays empty.
const SITES: usize = 4096;
/// So many entries a look-up tries.
const TRIES: usize = 32;
/// So many entries may have names that the program has given: it may make up a new one for each task.
const NAMES: usize = SITES / 2;

/// A line, and the type or name of what is spawned there.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    pub(crate) location: &'static Location<'static>,
    /// Owned, if the program has given it.
    pub(crate) name: Cow<'static, str>,
}

/// Entries with such names, or attempts at one.
static NAMED: AtomicUsize = AtomicUsize::new(0);
static TABLE: [OnceLock<Site>; SITES] = [const { OnceLock::new() }; SITES];

/// The index of a line and a type. No lock and no allocation but for the first time.
#[inline]
pub(crate) fn of_type(location: &'static Location<'static>, name: &'static str) -> u16 {
    let address = core::ptr::from_ref(location).addr();
    let hash = address ^ name.as_ptr().addr().rotate_left(16) ^ name.len();
    let is_it = |site: &Site| {
        core::ptr::eq(site.location, location)
            && matches!(site.name, Cow::Borrowed(of) if core::ptr::eq(of, name))
    };
    find(hash, is_it, || {
        Some(Site {
            location,
            name: Cow::Borrowed(name),
        })
    })
}

/// The index of a name that the program has given. Copies the name at the first time; 0 if there are too many
/// names already.
pub(crate) fn of_name(location: &'static Location<'static>, name: &str) -> u16 {
    let address = core::ptr::from_ref(location).addr();
    let hash = name.bytes().fold(address, |hash, byte| {
        (hash ^ usize::from(byte)).wrapping_mul(0x0100_0193)
    });
    let is_it = |site: &Site| {
        core::ptr::eq(site.location, location)
            && matches!(&site.name, Cow::Owned(given) if given == name)
    };
    find(hash, is_it, || {
        // Ordering: Relaxed, a count that orders nothing.
        let has_room = NAMED.fetch_add(1, Ordering::Relaxed) < NAMES;
        has_room.then(|| Site {
            location,
            name: Cow::Owned(name.to_owned()),
        })
    })
}

/// The index of the entry that fits, made if there is none and `make` makes one; 0 if there is none then, or the table has no room.
#[inline]
fn find(hash: usize, is_it: impl Fn(&Site) -> bool, make: impl FnOnce() -> Option<Site>) -> u16 {
    let hash = hash.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as usize) >> (usize::BITS - 12);
    for at in (hash..hash + TRIES)
        .map(|at| at % SITES)
        .filter(|at| *at != 0)
    {
        // The number of entries fits in 16 bits.
        match TABLE[at].get() {
            Some(site) if is_it(site) => return at as u16,
            Some(_) => {}
            None => return fill(at, is_it, make),
        }
    }
    0
}

/// Fills an entry that was empty. Another thread may be faster; if that is with something else, the next look-up tries further on.
#[cold]
fn fill(at: usize, is_it: impl Fn(&Site) -> bool, make: impl FnOnce() -> Option<Site>) -> u16 {
    let Some(site) = make() else { return 0 };
    if is_it(TABLE[at].get_or_init(|| site)) {
        at as u16
    } else {
        0
    }
}

/// All entries that there are, by index.
pub(crate) fn all() -> Vec<Option<Site>> {
    TABLE.iter().map(|site| site.get().cloned()).collect()
}
