//! The pages of the book, whose programs rustdoc runs. `cargo xtask book` checks that each page with a program is here.

macro_rules! pages {
    ($($name:ident $page:literal)*) => {
        $(
            #[doc = include_str!(concat!("../../../docs/book/src/", $page))]
            mod $name {}
        )*
    };
}

pages! {
    introduction "introduction.md"
    start_async "start/async.md"
    start_fork_join "start/fork-join.md"
    start_bevy "start/bevy.md"
    start_no_std "start/no_std.md"
    choose "choose.md"
    shutdown "guides/shutdown.md"
    blocking "guides/blocking.md"
    priorities "guides/priorities.md"
    event_loop "guides/event-loop.md"
    servers "guides/servers.md"
    data_parallel "guides/data-parallel.md"
    seeing "guides/seeing.md"
    loom "guides/loom.md"
    from_bevy_tasks "migrate/bevy_tasks.md"
    from_async_executor "migrate/async-executor.md"
    from_smol "migrate/smol.md"
    from_rayon "migrate/rayon.md"
    from_forte "migrate/forte.md"
    from_tokio "migrate/tokio.md"
    waiting "how/waiting.md"
}
