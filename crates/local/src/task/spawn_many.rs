//! Batch spawns, for all executors.

use super::Task;

/// Spawns all `futures` and puts the handles into `handles`: `spawn` builds and queues one without waking anybody, and
/// `notify` is called once, with how many there were, if there were any.
///
/// The iterator and the collection are the user's code. Nothing is borrowed while they run; where one of them panics,
/// what was spawned before stays spawned, and `notify` is called on the way out.
pub fn spawn_many<F, T>(
    futures: impl IntoIterator<Item = F>,
    handles: &mut impl Extend<Task<T>>,
    mut spawn: impl FnMut(F) -> Task<T>,
    notify: impl FnMut(usize),
) {
    let mut batch = Batch { spawned: 0, notify };
    handles.extend(futures.into_iter().map(|future| {
        let task = spawn(future);
        batch.spawned += 1;
        task
    }));
}

/// Notifies when it goes, by whatever way.
struct Batch<N: FnMut(usize)> {
    spawned: usize,
    notify: N,
}

impl<N: FnMut(usize)> Drop for Batch<N> {
    fn drop(&mut self) {
        if self.spawned != 0 {
            (self.notify)(self.spawned);
        }
    }
}
