//! Tasks that wake themselves without end starve no other task, in any queue.

use std::future::{Future, poll_fn};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use smol::future::yield_now;
use terrace_executor::{Builder, Executor, StaticExecutor, block_on};
use terrace_testing::{on_own_thread, signal, watchdog};
use terrace_thread::ThreadSpawner;

/// One of two workers, or of two threads in `run`, has a task that wakes itself without end. A task on the other one
/// blocks until the tasks have run that it has spawned or woken itself. They lie behind it, and the busy runner takes
/// them.
#[test]
fn a_busy_runner_runs_the_tasks_behind_a_blocker() {
    for (workers, drivers) in [(2, 0), (0, 2)] {
        for woken in [false, true] {
            on_own_thread(move || {
                let executor = Builder::new().workers(workers).try_build_static().unwrap();
                let (over, wait_for_end) = smol::channel::bounded::<()>(1);
                std::thread::scope(|threads| {
                    for _ in 0..drivers {
                        let end = wait_for_end.clone();
                        threads.spawn(move || {
                            block_on(executor.run(end.recv())).expect_err("nothing is sent");
                        });
                    }
                    block_on(executor.spawn(blocker(executor, woken)));
                    drop(over);
                });
                executor.set_workers(0).unwrap();
            });
        }
    }
}

async fn blocker(executor: &'static StaticExecutor, woken: bool) {
    let (polls, stop) = (
        Arc::new(AtomicUsize::new(0)),
        Arc::new(AtomicBool::new(false)),
    );
    let busy = executor.spawn({
        let (polls, mut endless) = (Arc::clone(&polls), Box::pin(endless(Arc::clone(&stop))));
        poll_fn(move |context| {
            polls.fetch_add(1, Ordering::Relaxed);
            endless.as_mut().poll(context)
        })
    });
    let (ready, wake) = signal();
    let (ran, has_run) = channel();
    let spawn = || {
        executor.spawn(async move {
            ready.await;
            ran.send(()).expect("the blocker waits");
        })
    };
    let mut behind = Err(spawn);
    if woken {
        behind = behind.or_else(|spawn| Ok(spawn()));
        // It is polled, and waits.
        for _ in 0..3 {
            yield_now().await;
        }
    }
    // From here on this thread is blocked, and the busy task is on the other one.
    let before = polls.load(Ordering::Relaxed);
    while polls.load(Ordering::Relaxed) < before + 1_000 {
        std::thread::yield_now();
    }
    wake.set();
    let behind = behind.unwrap_or_else(|spawn| spawn());
    has_run.recv().expect("it was sent");
    behind.await;
    stop.store(true, Ordering::Relaxed);
    busy.await;
}

/// Wakes itself until told to stop.
async fn endless(stop: Arc<AtomicBool>) {
    poll_fn(move |context| {
        if stop.load(Ordering::Relaxed) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// A timer: woken by a thread that sleeps.
async fn sleep(time: Duration) {
    let fired = Arc::new(AtomicBool::new(false));
    let mut started = false;
    poll_fn(move |context| {
        if fired.load(Ordering::Acquire) {
            return Poll::Ready(());
        }
        if !started {
            started = true;
            let (waker, fired) = (context.waker().clone(), Arc::clone(&fired));
            std::thread::spawn(move || {
                std::thread::sleep(time);
                fired.store(true, Ordering::Release);
                waker.wake();
            });
        }
        Poll::Pending
    })
    .await;
}

#[test]
fn a_timer_runs_beside_endless_tasks() {
    let _watchdog = watchdog();
    for workers in [1, 2] {
        let executor = Builder::new().workers(workers).build();
        let stop = Arc::new(AtomicBool::new(false));
        let endless: Vec<_> = (0..2 * workers)
            .map(|_| executor.spawn(endless(Arc::clone(&stop))))
            .collect();
        for _ in 0..20 {
            block_on(executor.spawn(sleep(Duration::from_micros(200))));
        }
        stop.store(true, Ordering::Relaxed);
        endless.into_iter().for_each(block_on);
    }
}

/// Pinned tasks come before others on their thread. An endless pinned task starves no other task, and no other task
/// starves it.
#[test]
fn endless_pinned_tasks_share_their_thread() {
    let _watchdog = watchdog();
    let executor = Builder::new().workers(1).build();
    let stop = Arc::new(AtomicBool::new(false));
    let spawner = block_on(executor.spawn(async { ThreadSpawner::current() }));
    let pinned = spawner.spawn(endless(Arc::clone(&stop)));
    let free = executor.spawn(endless(Arc::clone(&stop)));
    for i in 0..100 {
        assert_eq!(block_on(spawner.spawn(async move { i })), i);
        assert_eq!(block_on(executor.spawn(async move { i })), i);
    }
    stop.store(true, Ordering::Relaxed);
    block_on(pinned);
    block_on(free);
}

/// The polls, in order, after the others had been spawned: `None` is one of the others, `Some` a restless task.
type Polls = Mutex<Vec<Option<usize>>>;

/// `restless` tasks wake themselves until `others` more have run. A separate thread spawns these in the middle of one
/// of their polls. The result counts polls, so the test needs no clock.
async fn injected(
    executor: &'static StaticExecutor,
    restless: usize,
    others: usize,
) -> Vec<Option<usize>> {
    /// Polls of each restless task before that: the queues are as they stay by then.
    const WARM: usize = 10;
    let polls = Arc::new(Polls::default());
    let left = Arc::new(AtomicUsize::new(others));
    let spawn_others = move |polls: &Arc<Polls>, left: &Arc<AtomicUsize>| {
        for _ in 0..others {
            let (polls, left) = (Arc::clone(polls), Arc::clone(left));
            let other = async move {
                polls.lock().unwrap().push(None);
                left.fetch_sub(1, Ordering::Relaxed);
            };
            executor.spawn(other).detach();
        }
    };
    let restless = (0..restless).map(|number| {
        let (polls, left, mut polled) = (Arc::clone(&polls), Arc::clone(&left), 0);
        executor.spawn(poll_fn(move |context| {
            polls.lock().unwrap().push(Some(number));
            polled += 1;
            if number == 0 && polled == WARM {
                polls.lock().unwrap().clear();
                std::thread::scope(|scope| {
                    scope.spawn(|| spawn_others(&polls, &left));
                });
            }
            if left.load(Ordering::Relaxed) == 0 {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        }))
    });
    for task in restless.collect::<Vec<_>>() {
        task.await;
    }
    std::mem::take(&mut *polls.lock().unwrap())
}

/// Polls that one visit to the injector, and one round between two visits, may last.
const BATCH: usize = 32;
const ROUND: usize = 61;

/// Neither a task in the injector nor one in the ring waits for long, however many tasks either holds.
fn assert_fair(restless: usize, others: usize, polls: &[Option<usize>]) {
    let last = polls.iter().rposition(Option::is_none).expect("they ran");
    // With a batch for so many turns the ring does not become longer than this.
    let ring = restless * ROUND / (ROUND - BATCH) + BATCH;
    // A batch comes for each round of the ring; the last one goes through the ring as the others did.
    let bound = (others.div_ceil(BATCH) + 1) * ring.min(ROUND) + ring;
    assert!(last <= bound, "{restless}, {others}: {last} polls");
    // Between two polls of a restless task lies one round of the ring, and the batch that comes in it.
    let bound = ring + BATCH;
    for number in 0..restless {
        let mut since = 0;
        for (at, who) in polls[..=last].iter().enumerate() {
            if *who == Some(number) {
                since = at;
            }
            assert!(
                at - since <= bound,
                "{restless}, {others}: {} polls",
                at - since
            );
        }
    }
}

#[test]
fn waits_in_the_injector_and_in_the_ring_are_bounded() {
    let _watchdog = watchdog();
    for (restless, others) in [(1, 1), (1, 1_000), (10, 500), (100, 10), (150, 500)] {
        let executor = Builder::new().workers(1).try_build_static().unwrap();
        let polls = block_on(executor.spawn(injected(executor, restless, others)));
        assert_fair(restless, others, &polls);
        executor.set_workers(0).unwrap();
        let executor = Executor::new().leak();
        let polls = block_on(executor.run(executor.spawn(injected(executor, restless, others))));
        assert_fair(restless, others, &polls);
    }
}
