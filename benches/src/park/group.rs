//! A group of workers, of which an item of work wakes one.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle, Thread};

use event_listener::{Event, Listener as _};
use terrace_park::{Idle, Token, Work};

/// How workers sleep until there is work, and how it is announced. The work is a number of items.
pub trait Announce: Send + Sync + 'static {
    /// Its name in rows.
    const NAME: &'static str;

    /// For that many workers.
    fn new(workers: usize) -> Self;

    /// The same, where all workers run and none looks for work.
    fn running(workers: usize) -> Self
    where
        Self: Sized,
    {
        Self::new(workers)
    }

    /// An item has been added: wakes one sleeper, if any.
    fn publish(&self, items: &Items);

    /// Worker `number` takes items until `items` is over, calls `run` for each, and sleeps where there are none.
    fn work(&self, number: usize, items: &Items, run: impl Fn());

    /// Wakes all; `items` is over.
    fn end(&self, items: &Items);
}

/// The work.
#[derive(Default)]
pub struct Items {
    waiting: AtomicUsize,
    over: AtomicBool,
}

impl Items {
    fn take(&self) -> bool {
        let less = |waiting: usize| waiting.checked_sub(1);
        // Ordering: Acquire, pairs with the Release of `add`.
        self.waiting
            .fetch_update(Ordering::Acquire, Ordering::Relaxed, less)
            .is_ok()
    }

    fn add(&self) {
        // Ordering: Release, pairs with `take`.
        self.waiting.fetch_add(1, Ordering::Release);
    }

    fn any(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0 || self.is_over()
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }
}

impl Work for Items {
    fn takeable(&self) -> bool {
        self.any()
    }

    fn has_private_work(&self, _worker: usize) -> bool {
        self.is_over()
    }
}

impl Announce for Idle {
    const NAME: &'static str = "idle";

    fn new(workers: usize) -> Self {
        Idle::new(workers)
    }

    fn running(workers: usize) -> Self {
        let idle = Idle::new(workers);
        let searching: Vec<Token> = (0..workers).map(|worker| idle.enter(worker)).collect();
        for token in searching {
            idle.stop_search(token, &Items::default());
        }
        idle
    }

    fn publish(&self, _items: &Items) {
        black_box(Idle::publish(self));
    }

    fn work(&self, number: usize, items: &Items, run: impl Fn()) {
        let mut token = self.enter(number);
        while !items.is_over() {
            if items.take() {
                self.stop_search(token, items);
                run();
                while items.take() {
                    run();
                }
                token = self.park(number, None, items);
            } else {
                token = self.park(number, token, items);
            }
        }
        self.leave(number, token, items);
    }

    fn end(&self, _items: &Items) {
        self.unpark_all();
    }
}

impl Announce for Event {
    const NAME: &'static str = "event_listener";

    fn new(_workers: usize) -> Self {
        Event::new()
    }

    fn publish(&self, _items: &Items) {
        self.notify(1);
    }

    fn work(&self, _number: usize, items: &Items, run: impl Fn()) {
        while !items.is_over() {
            if items.take() {
                run();
                continue;
            }
            // `listen` fences, as `notify` does.
            let listener = self.listen();
            if !items.any() {
                listener.wait();
            }
        }
    }

    fn end(&self, _items: &Items) {
        self.notify(usize::MAX);
    }
}

/// A list of parked threads under a mutex, and their number beside it.
pub struct StdGroup {
    asleep: AtomicUsize,
    parked: Mutex<Vec<Thread>>,
}

impl StdGroup {
    fn wake(&self, at_most: usize) {
        let mut parked = self.parked.lock().expect("no holder panics");
        let kept = parked.len().saturating_sub(at_most);
        let woken = parked.split_off(kept);
        self.asleep.store(parked.len(), Ordering::Relaxed);
        drop(parked);
        woken.iter().for_each(Thread::unpark);
    }

    /// Whether the current thread is still in the list.
    fn is_listed(&self) -> bool {
        let parked = self.parked.lock().expect("no holder panics");
        parked
            .iter()
            .any(|thread| thread.id() == thread::current().id())
    }
}

impl Announce for StdGroup {
    const NAME: &'static str = "std";

    fn new(_workers: usize) -> Self {
        Self {
            asleep: AtomicUsize::new(0),
            parked: Mutex::default(),
        }
    }

    fn publish(&self, _items: &Items) {
        // Fence pair: the one in `work`. Either this sees the sleeper, or the sleeper sees the item.
        fence(Ordering::SeqCst);
        if self.asleep.load(Ordering::Relaxed) > 0 {
            self.wake(1);
        }
    }

    fn work(&self, _number: usize, items: &Items, run: impl Fn()) {
        while !items.is_over() {
            if items.take() {
                run();
                continue;
            }
            {
                let mut parked = self.parked.lock().expect("no holder panics");
                parked.push(thread::current());
                self.asleep.store(parked.len(), Ordering::Relaxed);
            }
            fence(Ordering::SeqCst);
            if items.any() {
                let mut parked = self.parked.lock().expect("no holder panics");
                parked.retain(|thread| thread.id() != thread::current().id());
                self.asleep.store(parked.len(), Ordering::Relaxed);
            }
            while self.is_listed() {
                thread::park();
            }
        }
    }

    fn end(&self, _items: &Items) {
        self.wake(usize::MAX);
    }
}

/// The cost of a publish while all workers run: no worker sleeps, and none searches.
pub fn publish_none_parked<A: Announce>() -> impl FnMut() {
    let (group, items) = (A::running(WORKERS), Items::default());
    move || group.publish(&items)
}

/// Workers of the groups in which no worker sleeps.
const WORKERS: usize = 8;

/// Ours, while a worker searches: it will find the item.
pub fn publish_searching() -> impl FnMut() {
    let row = Searching::new();
    move || {
        black_box(row.idle.publish());
    }
}

/// A group of which one worker searches.
struct Searching {
    idle: Idle,
    items: Items,
    token: Option<Token>,
}

impl Searching {
    fn new() -> Self {
        let idle = Idle::new(WORKERS);
        let token = Some(idle.enter(0));
        Self {
            idle,
            items: Items::default(),
            token,
        }
    }
}

impl Drop for Searching {
    fn drop(&mut self) {
        if let Some(token) = self.token.take() {
            self.idle.leave(0, token, &self.items);
        }
    }
}

/// `workers` threads sleep; one of them is woken, takes the item, answers, and sleeps again.
pub fn wake_one<A: Announce>(workers: usize) -> impl FnMut() {
    let sleepers = Sleepers::<A>::new(workers);
    move || sleepers.wake_one()
}

/// Threads that work as a group; ended on drop.
struct Sleepers<A: Announce> {
    shared: Arc<Shared<A>>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared<A> {
    group: A,
    items: Items,
    done: AtomicUsize,
    waiter: Thread,
}

impl<A: Announce> Sleepers<A> {
    fn new(workers: usize) -> Self {
        let shared = Arc::new(Shared {
            group: A::new(workers),
            items: Items::default(),
            done: AtomicUsize::new(0),
            waiter: thread::current(),
        });
        let start = |number| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                shared.group.work(number, &shared.items, || {
                    // Ordering: Release, pairs with the load in `wake_one`.
                    shared.done.fetch_add(1, Ordering::Release);
                    shared.waiter.unpark();
                });
            })
        };
        let threads = (0..workers).map(start).collect();
        Self { shared, threads }
    }

    fn wake_one(&self) {
        let shared = &*self.shared;
        // Ordering: Acquire, pairs with the addition of the worker.
        let before = shared.done.load(Ordering::Acquire);
        shared.items.add();
        shared.group.publish(&shared.items);
        while shared.done.load(Ordering::Acquire) == before {
            thread::park();
        }
    }
}

impl<A: Announce> Drop for Sleepers<A> {
    fn drop(&mut self) {
        let shared = &*self.shared;
        shared.items.over.store(true, Ordering::Relaxed);
        shared.group.end(&shared.items);
        for thread in self.threads.drain(..) {
            thread.join().expect("a bench thread panicked");
        }
    }
}
