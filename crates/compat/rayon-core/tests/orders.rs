//! The order in which one thread runs its jobs, what it leaves in a wait, and whose panic a scope gets.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use rayon_core::{ThreadPool, ThreadPoolBuilder, Yield, broadcast, scope, spawn, spawn_broadcast};
use terrace_testing::watchdog;

fn pool(threads: usize) -> ThreadPool {
    builder(threads).build().unwrap()
}

fn builder(threads: usize) -> ThreadPoolBuilder {
    ThreadPoolBuilder::new().num_threads(threads)
}

/// A pool of one thread that runs its oldest job first.
#[expect(deprecated, reason = "the published crate has it")]
fn breadth_first() -> ThreadPool {
    builder(1).breadth_first().build().unwrap()
}

/// What jobs have said, in the order in which they ran.
#[derive(Clone, Default)]
struct Said(Arc<Mutex<Vec<&'static str>>>);

impl Said {
    fn say(&self, word: &'static str) {
        self.0.lock().unwrap().push(word);
    }

    fn words(&self) -> Vec<&'static str> {
        self.0.lock().unwrap().clone()
    }
}

/// The one thread of the pool spawns three jobs and then broadcasts: it runs the jobs before its part. What it says.
fn before_a_part(pool: &ThreadPool) -> Vec<&'static str> {
    let said = Said::default();
    pool.install(|| {
        for word in ["first", "second", "third"] {
            let said = said.clone();
            spawn(move || said.say(word));
        }
        broadcast(|_| said.say("part"));
        said.words()
    })
}

/// The one thread of the pool spawns three children, and waits for them. What they say.
fn in_a_scope(pool: &ThreadPool) -> Vec<&'static str> {
    let said = Said::default();
    pool.scope(|scope| {
        for word in ["first", "second", "third"] {
            let said = &said;
            scope.spawn(move |_| said.say(word));
        }
    });
    said.words()
}

#[test]
fn the_newest_job_runs_first() {
    let _watchdog = watchdog();
    let pool = pool(1);
    assert_eq!(in_a_scope(&pool), ["third", "second", "first"]);
    let words = before_a_part(&pool);
    assert_eq!(words, ["third", "second", "first", "part"]);
}

#[test]
fn the_oldest_job_runs_first_in_a_pool_that_goes_by_breadth() {
    let _watchdog = watchdog();
    let pool = breadth_first();
    assert_eq!(in_a_scope(&pool), ["first", "second", "third"]);
    let words = before_a_part(&pool);
    assert_eq!(words, ["first", "second", "third", "part"]);
}

/// A thread that waits for another pool runs nothing, while another thread of its own pool is awake and could.
#[test]
fn a_wait_for_another_pool_leaves_the_jobs_of_the_thread() {
    let _watchdog = watchdog();
    let (here, there) = (pool(2), pool(1));
    for _ in 0..20 {
        let [busy, over, ran] = [(); 3].map(|()| Arc::new(AtomicBool::new(false)));
        let until = |flag: &AtomicBool| {
            while !flag.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
        };
        here.install(|| {
            // This keeps the other thread of the pool busy.
            let flags = (Arc::clone(&busy), Arc::clone(&over));
            spawn(move || {
                flags.0.store(true, Ordering::Relaxed);
                until(&flags.1);
            });
            until(&busy);
            let flag = Arc::clone(&ran);
            spawn(move || flag.store(true, Ordering::Relaxed));
            let ran = there.install(|| {
                (0..100).for_each(|_| std::thread::yield_now());
                ran.load(Ordering::Relaxed)
            });
            assert!(!ran, "the thread ran a job in its wait");
        });
        over.store(true, Ordering::Relaxed);
        until(&ran);
    }
}

#[test]
fn a_pool_says_what_its_thread_has_queued_and_runs_one_of_it() {
    let _watchdog = watchdog();
    let (pool, other) = (pool(1), pool(1));
    let inside = || {
        (
            pool.current_thread_has_pending_tasks(),
            pool.yield_local(),
            pool.yield_now(),
        )
    };
    assert_eq!(inside(), (None, None, None));
    assert_eq!(other.install(inside), (None, None, None));
    let idle = (Some(false), Some(Yield::Idle), Some(Yield::Idle));
    assert_eq!(pool.install(inside), idle);
    let runs = Arc::new(AtomicUsize::new(0));
    pool.install(|| {
        let ran = || runs.load(Ordering::Relaxed);
        let count = || {
            let runs = Arc::clone(&runs);
            move || {
                runs.fetch_add(1, Ordering::Relaxed);
            }
        };
        spawn(count());
        spawn(count());
        assert_eq!(pool.current_thread_has_pending_tasks(), Some(true));
        assert_eq!((pool.yield_local(), ran()), (Some(Yield::Executed), 1));
        assert_eq!((pool.yield_now(), ran()), (Some(Yield::Executed), 2));
        assert_eq!(inside(), idle);
        // A part of a broadcast to this thread is one, too.
        let part = count();
        spawn_broadcast(move |_| part());
        assert_eq!((pool.yield_local(), ran()), (Some(Yield::Executed), 3));
        assert_eq!(inside(), idle);
    });
}

/// The child that was spawned last runs first on the one thread, so it is the first one that panics.
#[test]
fn a_scope_gets_the_panic_that_came_first() {
    let _watchdog = watchdog();
    let pool = pool(1);
    let (sender, ended) = channel();
    let caught = catch_unwind(AssertUnwindSafe(|| {
        pool.install(|| {
            scope(|scope| {
                for number in 0..3 {
                    let sender = sender.clone();
                    scope.spawn(move |_| {
                        sender.send(number).unwrap();
                        resume_unwind(Box::new(number))
                    });
                }
            })
        })
    }));
    let payload = caught.expect_err("three children panic");
    assert_eq!(payload.downcast_ref(), Some(&2));
    assert_eq!(ended.try_iter().collect::<Vec<i32>>(), [2, 1, 0]);
}
