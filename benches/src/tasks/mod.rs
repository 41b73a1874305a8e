//! The interface of `bevy_tasks`, against the original.

pub mod data;
pub mod items;

use std::hint::black_box;

/// A task pool.
pub trait Pool: 'static {
    /// Its name in rows.
    const NAME: &'static str;

    /// With that many threads.
    fn new(threads: usize) -> Self;

    /// A scope of tasks that return their numbers.
    fn scope(&self, tasks: usize) -> Vec<usize>;

    /// Spawns tasks and waits for them.
    fn spawn_many(&self, tasks: usize);

    /// Adds one to every item, in chunks.
    fn chunks(&self, items: &mut [u64], size: usize);
}

/// The same code for both.
macro_rules! pool {
    ($library:ident, $name:literal) => {
        impl Pool for $library::TaskPool {
            const NAME: &'static str = $name;

            fn new(threads: usize) -> Self {
                $library::TaskPoolBuilder::new()
                    .num_threads(threads)
                    .build()
            }

            fn scope(&self, tasks: usize) -> Vec<usize> {
                self.scope(|scope| {
                    for number in 0..tasks {
                        scope.spawn(async move { number });
                    }
                })
            }

            fn spawn_many(&self, tasks: usize) {
                let tasks: Vec<_> = (0..tasks).map(|_| self.spawn(async {})).collect();
                $library::block_on(async {
                    for task in tasks {
                        task.await;
                    }
                });
            }

            fn chunks(&self, mut items: &mut [u64], size: usize) {
                $library::ParallelSliceMut::par_chunk_map_mut(
                    &mut items,
                    self,
                    size,
                    |_, chunk| chunk.iter_mut().for_each(|item| *item += 1),
                );
            }
        }
    };
}

pool!(terrace_tasks, "tasks");
pool!(bevy_tasks, "bevy_tasks");

/// A scope of `tasks` tasks that return a number.
pub fn scope<P: Pool>(pool: P, tasks: usize) -> impl FnMut() {
    move || {
        black_box(pool.scope(black_box(tasks)));
    }
}

/// `tasks` tasks by an external thread.
pub fn spawn_many<P: Pool>(pool: P, tasks: usize) -> impl FnMut() {
    move || pool.spawn_many(tasks)
}

/// Chunks of `size` out of `items` numbers.
pub fn par_chunk_map<P: Pool>(pool: P, items: usize, size: usize) -> impl FnMut() {
    let mut items = vec![0; items];
    move || pool.chunks(black_box(&mut items), size)
}
