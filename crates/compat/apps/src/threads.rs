//! Which threads an app's pools have: how many, by which names, and whose hooks they call.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use bevy_app::{App, TaskPoolOptions, TaskPoolPlugin};
use bevy_tasks::{AsyncComputeTaskPool, ComputeTaskPool, IoTaskPool, TaskPool, block_on};

use crate::scenario::{Scenario, common};

/// The scenarios of this module.
pub(crate) const SCENARIOS: &[Scenario] = &[common(
    "an_apps_threads",
    "each pool of an app has its own threads, names and hooks; a second app changes none of them",
    an_apps_threads,
)];

/// The names of the threads that have called a hook.
type Names = Arc<Mutex<BTreeSet<String>>>;

fn note(names: &Names) {
    let name = thread::current().name().unwrap_or_default().to_owned();
    let mut names = names.lock().unwrap_or_else(PoisonError::into_inner);
    names.insert(name);
}

/// The options of an app for so many threads, and what notes its hooks: of IO, AsyncCompute and Compute.
fn noted(threads: usize) -> (TaskPoolOptions, [Names; 3]) {
    let mut options = TaskPoolOptions::with_num_threads(threads);
    let names: [Names; 3] = Default::default();
    let policies = [
        &mut options.io,
        &mut options.async_compute,
        &mut options.compute,
    ];
    for (policy, names) in policies.into_iter().zip(&names) {
        let names = Arc::clone(names);
        policy.on_thread_spawn = Some(Arc::new(move || note(&names)));
    }
    (options, names)
}

fn an_apps_threads() {
    let (options, first) = noted(8);
    let (fewer, second) = noted(2);
    for task_pool_options in [options, fewer] {
        App::new().add_plugins(TaskPoolPlugin { task_pool_options });
    }
    let pools: [(&TaskPool, &str, usize); 3] = [
        (IoTaskPool::get(), "IO Task Pool", 2),
        (AsyncComputeTaskPool::get(), "Async Compute Task Pool", 2),
        (ComputeTaskPool::get(), "Compute Task Pool", 4),
    ];
    for ((pool, name, threads), noted) in pools.into_iter().zip(first) {
        assert_eq!(pool.thread_num(), threads, "{name}");
        // Each of its threads has one of these tasks at the same time.
        let all_there = Arc::new(std::sync::Barrier::new(threads));
        let tasks = Vec::from_iter((0..threads).map(|_| {
            let all_there = Arc::clone(&all_there);
            pool.spawn(async move {
                all_there.wait();
                thread::current().name().map(str::to_owned)
            })
        }));
        let own = BTreeSet::from_iter(tasks.into_iter().filter_map(block_on));
        let expected = BTreeSet::from_iter((0..threads).map(|n| format!("{name} ({n})")));
        assert_eq!(own, expected);
        let noted = noted.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(noted.is_superset(&expected), "{name}: {noted:?}");
        assert!(
            noted.iter().all(|thread| thread.starts_with(name)),
            "{noted:?}"
        );
    }
    for noted in second {
        let noted = noted.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(noted.is_empty(), "{noted:?}");
    }
}
