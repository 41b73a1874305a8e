//! Programs as users write them, on pools of 0, 1 and 2 workers.

use std::sync::mpsc::channel;

use terrace_fork::{ThreadPool, Worker, join};
use terrace_testing::{Yields, watchdog};

fn on_few_workers(program: impl Fn(&'static ThreadPool)) {
    static POOL: ThreadPool = ThreadPool::new();
    static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _alone = ALONE
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let _watchdog = watchdog();
    for workers in [0, 1, 2] {
        POOL.resize_to(workers);
        program(&POOL);
    }
    POOL.depopulate();
}

/// Doubles each item; halves slices down to a size.
fn double(worker: &Worker, items: &mut [u32]) {
    if items.len() <= 16 {
        items.iter_mut().for_each(|item| *item *= 2);
        return;
    }
    let (low, high) = items.split_at_mut(items.len() / 2);
    worker.join(|worker| double(worker, low), |worker| double(worker, high));
}

#[test]
fn a_slice_is_split_in_halves() {
    on_few_workers(|pool| {
        let mut items: Vec<u32> = (0..1_000).collect();
        pool.with_worker(|worker| double(worker, &mut items));
        assert!(items.into_iter().eq((0..1_000).map(|item| item * 2)));
    });
}

#[test]
fn a_checksum_of_spawned_futures() {
    on_few_workers(|pool| {
        let part = |part: u64| async move {
            Yields(part as u32).await;
            part * part
        };
        let awaited: Vec<_> = (0..10).map(|number| pool.spawn(part(number))).collect();
        let cancelled = pool.spawn(std::future::pending::<u64>());
        let (sender, sent) = channel();
        pool.spawn(async move { sender.send(part(10).await).unwrap() })
            .detach();
        let sum = pool.block_on(async {
            assert_eq!(cancelled.cancel().await, None);
            let mut sum = 0;
            for task in awaited {
                sum += task.await;
            }
            sum
        });
        assert_eq!(sum, 285);
        pool.executor().wait_idle(None).unwrap();
        assert_eq!(sent.recv(), Ok(100));
    });
}

#[test]
fn the_body_of_a_scope_runs_on_the_caller_and_borrows() {
    on_few_workers(|pool| {
        let here = std::thread::current().id();
        let (mut one, mut other) = (1, String::from("a"));
        let bodies = pool.scope(|scope| {
            scope.spawn(async { one += 1 });
            scope.spawn(async { other.push('b') });
            std::thread::current().id()
        });
        assert_eq!((bodies, one, other.as_str()), (here, 2, "ab"));
    });
}

#[test]
fn children_of_a_scope_send_and_receive() {
    on_few_workers(|pool| {
        let (sender, receiver) = async_channel();
        let mut received = Vec::new();
        pool.scope(|scope| {
            scope.spawn(async {
                while let Some(item) = receiver.recv().await {
                    received.push(item);
                }
            });
            scope.spawn(async move {
                for item in 0..100 {
                    sender.send_blocking(item);
                    if item % 10 == 0 {
                        Yields(1).await;
                    }
                }
            });
        });
        assert!(received.into_iter().eq(0..100));
    });
}

#[test]
fn an_async_function_opens_a_scope_and_awaits_what_it_spawned() {
    async fn program(pool: &'static ThreadPool) -> u64 {
        let mut tasks = Vec::new();
        let mut inside = 0;
        pool.scope(|scope| {
            for number in 0..4 {
                tasks.push(pool.spawn(async move {
                    let (a, b) = join(|| number, || number + 1);
                    a + b
                }));
            }
            scope.spawn(async { inside += 1 });
        });
        let mut sum = inside;
        for task in tasks {
            sum += task.await;
        }
        sum
    }

    on_few_workers(|pool| {
        assert_eq!(pool.block_on(program(pool)), 17);
        assert_eq!(pool.block_on(pool.spawn(program(pool))), 17);
    });
}

/// A queue without a bound, whose receiver waits without a thread.
fn async_channel<T>() -> (Sender<T>, Receiver<T>) {
    let queue = std::sync::Arc::new(std::sync::Mutex::new(Queue {
        items: std::collections::VecDeque::new(),
        waker: None,
        is_open: true,
    }));
    (Sender(std::sync::Arc::clone(&queue)), Receiver(queue))
}

struct Queue<T> {
    items: std::collections::VecDeque<T>,
    waker: Option<std::task::Waker>,
    is_open: bool,
}

struct Sender<T>(std::sync::Arc<std::sync::Mutex<Queue<T>>>);

impl<T> Sender<T> {
    fn send_blocking(&self, item: T) {
        let waker = {
            let mut queue = self.0.lock().unwrap();
            queue.items.push_back(item);
            queue.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let waker = {
            let mut queue = self.0.lock().unwrap();
            queue.is_open = false;
            queue.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

struct Receiver<T>(std::sync::Arc<std::sync::Mutex<Queue<T>>>);

impl<T> Receiver<T> {
    async fn recv(&self) -> Option<T> {
        std::future::poll_fn(|context| {
            let mut queue = self.0.lock().unwrap();
            match queue.items.pop_front() {
                Some(item) => std::task::Poll::Ready(Some(item)),
                None if !queue.is_open => std::task::Poll::Ready(None),
                None => {
                    queue.waker = Some(context.waker().clone());
                    std::task::Poll::Pending
                }
            }
        })
        .await
    }
}
