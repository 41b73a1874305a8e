//! A scenario, and its parts.

/// One thing that must end, and end well.
#[derive(Clone, Copy)]
pub(crate) struct Scenario {
    /// Unique.
    pub(crate) name: &'static str,
    /// One line: what passing it shows.
    pub(crate) shows: &'static str,
    /// Whether the stock `bevy_tasks` passes it, too.
    pub(crate) stock: bool,
    /// Panics if something is wrong. Runs on the main thread, once a process.
    pub(crate) run: fn(),
}

/// A scenario that also holds on the stock crate.
pub(crate) const fn common(name: &'static str, shows: &'static str, run: fn()) -> Scenario {
    Scenario {
        name,
        shows,
        stock: true,
        run,
    }
}

/// A scenario that the stock crate fails, hangs in, or passes only by chance.
#[cfg(feature = "multi_threaded")]
pub(crate) const fn ours(name: &'static str, shows: &'static str, run: fn()) -> Scenario {
    Scenario {
        name,
        shows,
        stock: false,
        run,
    }
}
