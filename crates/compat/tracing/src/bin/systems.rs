//! The spans that Bevy makes for its systems, on the drop-in, as tracing-chrome writes them: each system once a frame, begun and ended on
//! one thread.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use bevy_app::{App, TaskPoolOptions, TaskPoolPlugin, Update};
use bevy_ecs::component::Component;
use bevy_ecs::system::Query;
use serde_json::Value;
use tracing_chrome::ChromeLayerBuilder;
use tracing_subscriber::layer::SubscriberExt as _;

const FRAMES: usize = 20;
const ENTITIES: u32 = 1_000;
const SYSTEMS: [&str; 3] = ["systems::first", "systems::second", "systems::third"];

#[derive(Component)]
struct Position(u32);

#[derive(Component)]
struct Velocity(u32);

fn first(mut all: Query<'_, '_, &mut Position>) {
    all.par_iter_mut().for_each(|mut position| position.0 += 1);
}

fn second(mut all: Query<'_, '_, &mut Velocity>) {
    all.par_iter_mut().for_each(|mut velocity| velocity.0 += 1);
}

fn third(all: Query<'_, '_, (&Position, &Velocity)>) {
    all.par_iter().for_each(|(position, velocity)| {
        std::hint::black_box(position.0 + velocity.0);
    });
}

fn main() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let file = dir.path().join("trace.json");
    let (layer, guard) = ChromeLayerBuilder::new()
        .file(&file)
        .include_args(true)
        .build();
    let subscriber = tracing_subscriber::registry().with(layer);
    tracing_subscriber::util::SubscriberInitExt::try_init(subscriber)?;
    let mut app = App::new();
    // So many that parallel iterators have batches for others.
    app.add_plugins(TaskPoolPlugin {
        task_pool_options: TaskPoolOptions::with_num_threads(4),
    });
    app.add_systems(Update, (first, second, third));
    for number in 0..ENTITIES {
        app.world_mut().spawn((Position(number), Velocity(number)));
    }
    for _ in 0..FRAMES {
        app.update();
    }
    drop(guard);
    check(&std::fs::read_to_string(&file)?)?;
    println!(
        "tracing-chrome has each of {} systems in each of {FRAMES} frames",
        SYSTEMS.len()
    );
    Ok(())
}

fn check(trace: &str) -> Result<()> {
    let events: Vec<Value> = serde_json::from_str(trace)?;
    // Spans that are open, a stack a thread, and how often each system's has ended.
    let mut open: BTreeMap<u64, Vec<&Value>> = BTreeMap::new();
    let mut ended: BTreeMap<&str, usize> = BTreeMap::new();
    let mut tasks = 0;
    for event in &events {
        let Some(thread) = event["tid"].as_u64() else {
            continue;
        };
        let stack = open.entry(thread).or_default();
        match event["ph"].as_str() {
            Some("B") => stack.push(event),
            Some("E") => {
                let begun = stack.pop().context("an end without a begin")?;
                ensure!(begun["name"] == event["name"], "spans of a thread nest");
                if begun["name"] == "system" {
                    let name = begun["args"]["name"].as_str().unwrap_or_default();
                    *ended.entry(name.trim_matches('"')).or_default() += 1;
                }
                tasks += usize::from(begun["name"] == "runtime.spawn");
            }
            _ => {}
        }
    }
    ensure!(open.values().all(Vec::is_empty), "each span ends");
    ensure!(tasks > 0, "tasks of the pool are spans, too");
    for system in SYSTEMS {
        let count = ended.get(system).copied().unwrap_or(0);
        ensure!(
            count == FRAMES,
            "{system}: {count} spans in {FRAMES} frames of {ended:?}"
        );
    }
    Ok(())
}
