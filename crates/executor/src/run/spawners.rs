//! Which threads are a pool's workers.

use terrace_thread::ThreadSpawner;

use super::shutdown::wait_for;
use crate::parts::threads::Thread;
use crate::pool::shared::Shared;

/// A spawner for each worker that was not asked to end, in the order of their places. Waits for those that were started and have not
/// begun yet; a place that the program keeps for a thread of its own counts from that thread's beginning on.
pub(crate) fn worker_spawners(pool: &Shared) -> Vec<ThreadSpawner> {
    loop {
        let arrival = pool.threads.ended.listen();
        let mut spawners: Vec<_> = {
            let list = pool.threads.list.lock();
            let stays = |thread: &&Thread| {
                thread.is_worker()
                    && thread.thread.is_some()
                    && !thread.has_ended()
                    && !pool.is_asked_to_end(thread.seat)
            };
            let place = |thread: &Thread| (thread.seat, thread.signs.spawner.get().cloned());
            list.iter().filter(stays).map(place).collect()
        };
        spawners.sort_by_key(|(seat, _)| *seat);
        let arrived: Option<_> = spawners.into_iter().map(|(_, spawner)| spawner).collect();
        if let Some(arrived) = arrived {
            return arrived;
        }
        wait_for(arrival, None);
    }
}

/// The spawner of the worker with this number, counted from 0.
///
/// # Panics
/// If there is none.
#[track_caller]
pub(crate) fn worker_spawner(pool: &Shared, worker: usize) -> ThreadSpawner {
    let mut workers = worker_spawners(pool);
    let amount = workers.len();
    assert!(
        worker < amount,
        "spawn_on: there is no worker {worker}, the pool has {amount}"
    );
    workers.swap_remove(worker)
}
