//! A tiny executor with worker threads that sleep: 50 lines on `terrace-queue` and `terrace-park`.
//!
//! ```sh
//! cargo run -p terrace-park --example tiny_executor
//! ```
//!
//! For speed, `terrace-executor` adds a ring a worker, with stealing. For convenience, it adds handles to await,
//! cancellation, panics that stay in their tasks, lanes, and waits inside tasks.

use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use terrace_park::{Idle, Work};
use terrace_queue::Injector;

// ---- the executor ----

struct Pool {
    ready: Injector<Arc<Task>>,
    idle: Idle,
    stop: AtomicBool,
}

type Boxed = Pin<Box<dyn Future<Output = ()> + Send>>;

struct Task {
    future: Mutex<Boxed>,
    pool: Arc<Pool>,
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        let pool = Arc::clone(&self.pool);
        pool.ready.push(self); // first the task becomes visible,
        pool.idle.publish(); // then a worker is woken, if one has to be
    }
}

/// The answers to a worker that is about to sleep.
impl Work for Pool {
    fn takeable(&self) -> bool {
        !self.ready.is_empty()
    }

    fn has_private_work(&self, _worker: usize) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

impl Pool {
    fn work(&self, worker: usize) {
        let mut token = Some(self.idle.enter(worker)); // a worker with a token searches
        while !self.stop.load(Ordering::Relaxed) {
            if let Some(task) = self.ready.pop() {
                if let Some(token) = token.take() {
                    self.idle.stop_search(token, self); // wakes the next worker if more is left
                }
                let waker = Waker::from(Arc::clone(&task));
                let mut future = task.future.lock().expect("no task panics");
                let poll = future.as_mut().poll(&mut Context::from_waker(&waker));
                if poll.is_ready() {
                    *future = Box::pin(pending()); // drops it; a wake that comes late finds nothing
                }
            } else {
                token = Some(self.idle.park(worker, token, self)); // sleeps, unless work came
            }
        }
        self.idle.leave(worker, token, self);
    }
}

fn spawn(pool: &Arc<Pool>, future: impl Future<Output = ()> + Send + 'static) {
    let (future, pool) = (Mutex::new(Box::pin(future) as Boxed), Arc::clone(pool));
    Arc::new(Task { future, pool }).wake();
}

// ---- a program on it ----

/// Gives its worker to others so many times.
struct Yields(u32);

impl Future for Yields {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.0 == 0 {
            return Poll::Ready(());
        }
        self.0 -= 1;
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

/// Worker threads.
const WORKERS: usize = 2;
/// Tasks that are spawned.
const TASKS: u64 = 100;

fn main() {
    let pool = Arc::new(Pool {
        ready: Injector::new(),
        idle: Idle::new(WORKERS),
        stop: AtomicBool::new(false),
    });
    let workers: Vec<_> = (0..WORKERS)
        .map(|worker| {
            pool.idle.adopt_live(worker);
            let pool = Arc::clone(&pool);
            thread::spawn(move || pool.work(worker))
        })
        .collect();

    let (send, results) = mpsc::channel();
    for number in 1..=TASKS {
        let send = send.clone();
        spawn(&pool, async move {
            Yields(10).await;
            send.send(number).expect("main receives");
        });
    }
    drop(send);
    let sum: u64 = results.into_iter().take(TASKS as usize).sum();
    println!("{TASKS} tasks on {WORKERS} workers, the sum of their numbers is {sum}");
    assert_eq!(sum, TASKS * (TASKS + 1) / 2);

    pool.stop.store(true, Ordering::Relaxed);
    pool.idle.unpark_all();
    for worker in workers {
        worker.join().expect("a worker does not panic");
    }
}
