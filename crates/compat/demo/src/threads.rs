//! CPU time of the process's threads, as Linux tells it.

use std::fs;
use std::time::Duration;

/// A thread and the CPU time it has used.
#[derive(Clone)]
pub(crate) struct Thread {
    id: String,
    /// Its name; the main thread has the program's.
    pub(crate) name: String,
    pub(crate) cpu: Duration,
}

/// The threads alive now, the main one first; none where the system does not tell.
pub(crate) fn now() -> Vec<Thread> {
    let Ok(tasks) = fs::read_dir("/proc/self/task") else {
        return Vec::new();
    };
    let mut threads: Vec<_> = tasks
        .flatten()
        .filter_map(|task| {
            let read = |file| fs::read_to_string(task.path().join(file)).ok();
            let nanos = read("schedstat")?.split(' ').next()?.parse().ok()?;
            Some(Thread {
                id: task.file_name().to_string_lossy().into_owned(),
                name: shown(read("comm")?.trim()),
                cpu: Duration::from_nanos(nanos),
            })
        })
        .collect();
    let main = std::process::id().to_string();
    threads.sort_by_key(|thread| (thread.id != main, thread.id.parse::<u64>().ok()));
    threads
}

/// Linux keeps 15 bytes of a thread's name.
fn shown(name: &str) -> String {
    let cut = if name.len() >= 15 { "…" } else { "" };
    format!("{name}{cut}")
}

/// The usage of each thread since `before`.
pub(crate) fn since(before: &[Thread]) -> Vec<Thread> {
    let mut threads = now();
    for thread in &mut threads {
        let earlier = before.iter().find(|b| b.id == thread.id);
        thread.cpu -= earlier.map_or(Duration::ZERO, |b| b.cpu);
    }
    threads
}
