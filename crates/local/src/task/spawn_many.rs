//! Batch spawns, for all executors.

use terrace_trace::Caller;

use super::handle::Task;

/// Spawns all `futures` and puts the handles into `handles`. `spawn` builds and queues one without a wake. `notify` is called
/// once, with how many there were, if there were any.
///
/// The iterator and the collection are users' code. Nothing is borrowed while they run. If one of them panics, what was
/// spawned before stays spawned, and `notify` is called during the unwinding.
#[cfg_attr(feature = "timeline", track_caller)]
pub fn spawn_many<F, T>(
    futures: impl IntoIterator<Item = F>,
    handles: &mut impl Extend<Task<T>>,
    mut spawn: impl FnMut(F) -> Task<T>,
    notify: impl FnMut(usize),
) {
    let caller = Caller::here();
    let mut batch = Batch { spawned: 0, notify };
    handles.extend(futures.into_iter().map(|future| {
        let _spawns = caller.spawns();
        let task = spawn(future);
        batch.spawned += 1;
        task
    }));
}

/// Notifies in its destructor, so that a panic does not skip it.
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
