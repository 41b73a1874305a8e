//! Asynchronous drivers: several at once, dropped in any order, half way, or forgotten; no task is stuck in one.

use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Barrier;
use std::task::{Context, Poll, Waker};

use terrace_local::Task;
use terrace_sync::Arc;
use terrace_sync::atomic::{AtomicBool, Ordering};

use crate::kind::{Caps, Drivable};
use crate::tools::{Counter, OnWake, Slot, Tracker, until, wait_here, yields};

/// A driver between its polls.
struct Driver<'k, T> {
    future: Pin<Box<dyn Future<Output = T> + 'k>>,
    woken: Counter,
    waker: Waker,
}

impl<'k, T> Driver<'k, T> {
    fn new(future: impl Future<Output = T> + 'k) -> Self {
        let woken = Counter::default();
        let waker = OnWake::waker({
            let woken = woken.clone();
            move || woken.add()
        });
        let future = Box::pin(future);
        Self {
            future,
            woken,
            waker,
        }
    }

    fn poll(&mut self) -> Poll<T> {
        let mut context = Context::from_waker(&self.waker);
        self.future.as_mut().poll(&mut context)
    }

    /// Polls for as long as it wakes itself; then it sleeps.
    fn until_asleep(&mut self) {
        loop {
            let before = self.woken.get();
            assert!(self.poll().is_pending());
            if self.woken.get() == before {
                return;
            }
        }
    }
}

pub(crate) fn two_runs_share_the_work<K: Drivable>(kind: K, tracker: &Tracker) {
    let spawn = || {
        let tasks: Vec<_> = (0..50)
            .map(|n| {
                let token = tracker.token();
                kind.spawn(async move {
                    yields(n % 5).await;
                    token
                })
            })
            .collect();
        async move {
            for task in tasks {
                drop(task.await);
            }
        }
    };
    let mut first = Driver::new(kind.run(spawn()));
    let mut second = Driver::new(kind.run(spawn()));
    let mut ended = [false, false];
    while ended != [true, true] {
        let before = [first.woken.get(), second.woken.get()];
        for (driver, ended) in [&mut first, &mut second].into_iter().zip(&mut ended) {
            *ended = *ended || driver.poll().is_ready();
        }
        let after = [first.woken.get(), second.woken.get()];
        assert!(
            ended == [true, true] || before != after,
            "both sleep beside tasks"
        );
    }
}

/// Two sleep; one is woken, and dropped instead of polled: the other is woken then.
pub(crate) fn a_dropped_run_passes_its_wake_on<K: Drivable>(kind: K, tracker: &Tracker) {
    for later_first in [false, true] {
        let (slot, token) = (Slot::default(), tracker.token());
        let task = kind.spawn({
            let slot = slot.clone();
            async move {
                let _inside = token;
                slot.pause().await;
            }
        });
        let mut drivers = [
            Driver::new(kind.run(pending::<()>())),
            Driver::new(kind.run(pending::<()>())),
        ];
        if later_first {
            drivers.reverse();
        }
        for driver in &mut drivers {
            driver.until_asleep();
        }
        let [first, second] = drivers;
        let before = (first.woken.get(), second.woken.get());
        slot.take().expect("a driver polled it").wake();
        let (woken, mut other, other_before) = if first.woken.get() > before.0 {
            (first, second, before.1)
        } else {
            assert!(second.woken.get() > before.1, "one driver is woken");
            (second, first, before.0)
        };
        drop(woken);
        assert!(other.woken.get() > other_before, "the wake is passed on");
        other.until_asleep();
        assert!(task.is_finished());
    }
}

/// Many tasks of a few polls each, and how many of them got to their end.
fn many<K: Drivable>(kind: &K, tracker: &Tracker) -> (Vec<Task<()>>, Counter) {
    let done = tracker.counter();
    let task = |_| {
        let (token, done) = (tracker.token(), done.clone());
        kind.spawn(async move {
            let _inside = token;
            yields(5).await;
            done.add();
        })
    };
    ((0..300).map(task).collect(), done)
}

pub(crate) fn a_run_dropped_half_way_leaves_its_tasks<K: Drivable>(kind: K, tracker: &Tracker) {
    let (tasks, done) = many(&kind, tracker);
    for polls in 1..4 {
        let mut driver = Driver::new(kind.run(pending::<()>()));
        for _ in 0..polls {
            assert!(driver.poll().is_pending());
        }
    }
    until(&kind, || tasks.iter().all(|task| task.is_finished()));
    assert_eq!(done.get(), tasks.len(), "none is cancelled with the run");
}

/// The other drivers take the tasks of a forgotten one.
pub(crate) fn a_forgotten_run_holds_no_task<K: Drivable>(kind: K, tracker: &Tracker) {
    let (tasks, done) = many(&kind, tracker);
    if !cfg!(terrace_asan) {
        // The forgotten driver leaks parts of the test itself.
        let mut driver = Driver::new(kind.run(pending::<()>()));
        assert!(driver.poll().is_pending());
        std::mem::forget(driver);
    }
    until(&kind, || tasks.iter().all(|task| task.is_finished()));
    assert_eq!(done.get(), tasks.len());
}

pub(crate) fn runs_nest<K: Drivable>(kind: K, tracker: &Tracker) {
    let token = tracker.token();
    let task = kind.spawn(async move {
        yields(3).await;
        (1, token)
    });
    let (one, _token) = wait_here(kind.run(kind.run(kind.run(task))));
    assert_eq!(one, 1);
}

/// A task of one awaits a task of the other, and the other way round, in either order of nesting.
pub(crate) fn runs_of_two_executors_nest<K: Drivable>(kind: K, tracker: &Tracker) {
    let other = kind.maker()();
    for kind_inside in [false, true] {
        let (inner, middle) = (tracker.token(), tracker.token());
        let inner = kind.spawn(async move {
            let _inside = inner;
            yields(2).await;
            1
        });
        let middle = other.spawn(async move {
            let _inside = middle;
            inner.await + 1
        });
        let outer = kind.spawn(async move { middle.await + 1 });
        let sum = if kind_inside {
            wait_here(other.run(kind.run(outer)))
        } else {
            wait_here(kind.run(other.run(outer)))
        };
        assert_eq!(sum, 3);
    }
}

pub(crate) fn each_tick_is_one_task<K: Drivable>(kind: K, tracker: &Tracker) {
    let polls = tracker.counter();
    for _ in 0..3 {
        let (polls, token) = (polls.clone(), tracker.token());
        let task = kind.spawn(async move {
            let _inside = token;
            polls.add();
        });
        task.detach();
    }
    for ticks in 1..=3 {
        let mut tick = Driver::new(kind.tick_async());
        assert!(tick.poll().is_ready());
        assert_eq!(polls.get(), ticks);
    }
    let mut tick = Driver::new(kind.tick_async());
    assert!(tick.poll().is_pending());
    drop(kind.spawn(async {}).fallible());
    assert_eq!(tick.woken.get(), 1, "a spawn wakes it");
    assert!(tick.poll().is_ready());
}

/// A waking thread has pushed the task and is about to wake a driver. At that point the owner runs
/// the task, and drops and frees the executor. The driver's waker holds the waking thread there.
pub(crate) fn dropped_between_push_and_wake<K: Drivable>(kind: K, tracker: &Tracker) {
    assert!(kind.caps().has(Caps::CLOSES));
    let (pushed, gone) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let held = Arc::new(AtomicBool::new(false));
    let own = terrace_local::thread_id();
    let waker = OnWake::waker({
        let (pushed, gone, held) = (Arc::clone(&pushed), Arc::clone(&gone), Arc::clone(&held));
        move || {
            let first = || !held.swap(true, Ordering::AcqRel);
            if terrace_local::thread_id() != own && first() {
                pushed.wait();
                gone.wait();
            }
        }
    });
    let (slot, token) = (Slot::default(), tracker.token());
    let task = kind.spawn({
        let slot = slot.clone();
        async move {
            let _inside = token;
            slot.pause().await;
        }
    });
    let mut context = Context::from_waker(&waker);
    let thread;
    {
        let mut run = std::pin::pin!(kind.run(pending::<()>()));
        let own_waker = loop {
            assert!(run.as_mut().poll(&mut context).is_pending());
            if let Some(waker) = slot.take() {
                break waker;
            }
        };
        // Once more, so that it sleeps.
        for _ in 0..3 {
            assert!(run.as_mut().poll(&mut context).is_pending());
        }
        thread = std::thread::spawn(move || own_waker.wake());
        pushed.wait();
        for _ in 0..3 {
            assert!(run.as_mut().poll(&mut context).is_pending());
        }
        assert!(task.is_finished());
    }
    drop(task);
    drop(kind);
    drop(slot);
    tracker.all_gone();
    gone.wait();
    thread.join().expect("it touches nothing that is gone");
}
