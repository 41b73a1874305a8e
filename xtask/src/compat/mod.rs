//! `cargo xtask compat`: published Bevy crates on the drop-in package, and what is published of `async-executor` on ours.
//!
//! Each suite runs on copies of the registry's sources with `[patch.crates-io]` appended. What has to pass is what
//! passed on the stock crate, recorded by `compat --bless`; there is no list of exceptions. Then random programs on both
//! sides, which have to print the same, and start-up apps.

mod apps;
mod background;
mod bench;
mod bus;
mod differ;
mod examples;
mod expected;
mod imported;
mod interface;
mod modules;
pub(crate) mod older;
mod outcome;
mod programs;
mod published;
pub(crate) mod registry;
mod render;
pub(crate) mod sides;
mod suites;
mod traced;
mod vulkan;

use anyhow::Result;
use clap::Args;

use crate::progress::run_all;
use crate::workspace::Workspace;
use suites::{SUITES, Suite};

pub(crate) use traced::PACKAGE as TRACED;

#[derive(Args)]
pub(crate) struct CompatArgs {
    #[command(flatten)]
    only: Only,
    /// Run only the small programs on crates that stand on rayon; with `--bench`, measure rayon on its own core and on the drop-in
    #[arg(long, conflicts_with_all = ["bless", "apps", "programs", "examples", "interface", "differ", "render", "tracing", "background"])]
    rayon: bool,
    #[command(flatten)]
    seeds: differ::SeedArgs,
    /// Run only the tests of this Bevy, 0.18 say, on its drop-in; with `--bless`, record them
    #[arg(long, value_name = "VERSION", value_parser = registry::bevy_version)]
    #[arg(conflicts_with_all = ["rayon", "apps", "programs", "examples", "interface", "differ", "bench", "render", "tracing", "background"])]
    bevy: Option<&'static str>,
    /// Run only what contains this text: suites and apps, programs, or rows of the bench
    #[arg(long, value_name = "TEXT", conflicts_with = "interface")]
    filter: Option<String>,
    #[command(flatten)]
    bench_args: bench::BenchArgs,
    #[command(flatten)]
    render_args: render::RenderArgs,
}

/// One thing instead of all.
#[derive(Args)]
#[group(multiple = false)]
struct Only {
    /// Record the names of the tests that pass on the stock crate
    #[arg(long)]
    bless: bool,
    /// Run only the start-up apps
    #[arg(long)]
    apps: bool,
    /// Run only the small servers and clients on async-executor, and their load
    #[arg(long)]
    programs: bool,
    /// Run only the examples of smol
    #[arg(long)]
    examples: bool,
    /// Run only the comparison of async-executor's interface with the drop-in's
    #[arg(long)]
    interface: bool,
    /// Run only the programs that print the same on the stock crate and on the drop-in
    #[arg(long)]
    differ: bool,
    /// Compare the speed of ECS workloads on the stock crate and on the drop-in
    #[arg(long)]
    bench: bool,
    /// Measure frames and foreground tasks beside long tasks and loaders, on the stock crate and on the drop-in
    #[arg(long, conflicts_with = "filter")]
    background: bool,
    /// Render an animated app of Bevy 0.19 without a window, on the published crate and on ours in turn, compare what they compute, and
    /// write a page about their frames
    #[arg(long, conflicts_with = "filter")]
    render: bool,
    /// Check what tokio-console sees of a pool, and tracing-chrome of a Bevy schedule on the drop-in
    #[arg(long, conflicts_with = "filter")]
    tracing: bool,
}

pub(crate) use differ::in_words as programs_in_words;
pub(crate) use suites::in_words as suites_in_words;

/// Does one thing with what a filter lets through.
type Part<'p> = &'p dyn Fn(&str) -> Result<()>;

/// Runs what is asked for: a part, some of the suites, or all.
pub(crate) fn run(ws: &Workspace, args: CompatArgs) -> Result<()> {
    // Everything contains an empty one.
    let (filter, only) = (&*args.filter.unwrap_or_default(), args.only);
    if only.bench {
        return bench::run(ws, filter, args.rayon, &args.bench_args);
    }
    if only.render {
        return render::run(ws, &args.render_args);
    }
    if only.tracing {
        return traced::run(ws);
    }
    if only.background {
        return background::run(ws);
    }
    let parts: [(bool, Part<'_>); 6] = [
        (only.interface, &|_| interface::run(ws)),
        (only.differ, &|filter| differ::run(ws, filter, &args.seeds)),
        (only.apps, &|filter| apps::run(ws, filter)),
        (only.examples, &|filter| examples::run(ws, filter)),
        (args.rayon, &|filter| programs::run_rayon(ws, filter)),
        (only.programs, &|filter| programs::run(ws, filter)),
    ];
    if let Some((_, part)) = parts.iter().find(|(is_asked_for, _)| *is_asked_for) {
        return part(filter);
    }
    let mut chosen: Vec<Suite> = match args.bevy {
        Some(bevy) => SUITES
            .iter()
            .filter_map(|suite| suite.of_bevy(bevy))
            .collect(),
        None => SUITES.to_vec(),
    };
    chosen.retain(|suite| suite.name.contains(filter));
    let name = |suite: &Suite| suite.name.to_owned();
    if only.bless {
        chosen.retain(|suite| !suite.is_second());
        return run_all("compat --bless", &chosen, name, |suite| suite.bless(ws));
    }
    run_all("compat", &chosen, name, |suite| suite.check(ws))?;
    // The load of the programs takes the machine for itself.
    let others = if filter.is_empty() { &parts[..5] } else { &[] };
    others.iter().try_for_each(|(_, part)| part(filter))
}
