//! Many workers, unequal groups, random publishes: every item is run and every `wake_worker` is seen.
//!
//! The place and time of each item are random (a fixed seed a run); the assertions are not.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use terrace_park::{GROUP_CAPACITY, Idle, Restricted, Token, Woken, Work};
use terrace_testing::{Random, watchdog};

/// Queues, each with a lock of its own.
const QUEUES: usize = 3;
/// How long a run may take before it counts as hung; it needs well under a second, under Miri some minutes.
const PATIENCE: Duration = Duration::from_secs(if cfg!(miri) { 3_000 } else { 120 });

/// Queues and private work of each worker, each with a hint that is raised first.
struct Pool {
    idle: Idle,
    queues: [(AtomicUsize, Mutex<VecDeque<u64>>); QUEUES],
    numbers: Vec<usize>,
    private: Vec<AtomicUsize>,
    stop: AtomicBool,
    run: AtomicUsize,
    told: AtomicUsize,
}

impl Work for Pool {
    fn takeable(&self) -> bool {
        let mut hints = self.queues.iter().map(|(hint, _)| hint);
        hints.any(|hint| hint.load(Ordering::Relaxed) > 0)
    }

    fn has_private_work(&self, worker: usize) -> bool {
        self.stop.load(Ordering::Relaxed)
            || self.private[self.index(worker)].load(Ordering::Relaxed) > 0
    }
}

impl Pool {
    /// Workers with these numbers, lowest first.
    fn new(numbers: Vec<usize>) -> Self {
        let idle = Idle::new(1);
        for &number in &numbers {
            idle.ensure(number);
            idle.adopt_live(number);
        }
        Self {
            idle,
            queues: Default::default(),
            private: numbers.iter().map(|_| AtomicUsize::new(0)).collect(),
            numbers,
            stop: AtomicBool::new(false),
            run: AtomicUsize::new(0),
            told: AtomicUsize::new(0),
        }
    }

    /// The place of a worker's number among all.
    fn index(&self, worker: usize) -> usize {
        self.numbers.binary_search(&worker).expect("it is listed")
    }

    fn push(&self, queue: usize, items: usize) {
        let (hint, queue) = &self.queues[queue];
        hint.fetch_add(items, Ordering::Relaxed);
        let mut queue = queue.lock().expect("no panic inside");
        queue.extend((0..items).map(|i| i as u64));
    }

    /// Takes an item; the queue it was in.
    fn pop(&self) -> Option<usize> {
        (0..QUEUES).find(|&queue| {
            let (hint, queue) = &self.queues[queue];
            if hint.load(Ordering::Relaxed) == 0 {
                return false;
            }
            let popped = queue.lock().expect("no panic inside").pop_front();
            if popped.is_some() {
                hint.fetch_sub(1, Ordering::Relaxed);
            }
            popped.is_some()
        })
    }

    fn listen(&self, worker: usize) {
        let told = self.private[self.index(worker)].swap(0, Ordering::Relaxed);
        self.told.fetch_add(told, Ordering::Relaxed);
    }

    fn work(&self, worker: usize) {
        let mut random = Random::new(worker as u64 * 2 + 1);
        let mut token = Some(self.idle.enter(worker));
        while !self.stop.load(Ordering::Relaxed) {
            self.listen(worker);
            if token.is_none() {
                token = self.idle.try_search(worker);
            }
            let found = token.as_ref().and_then(|_| self.pop());
            if let (Some(queue), Some(token)) = (found, token.take_if(|_| found.is_some())) {
                if random.below(4) == 0 {
                    let surplus = self.queues[queue].0.load(Ordering::Relaxed);
                    self.idle.wake_more(&token, surplus);
                }
                self.idle.stop_search(token, self);
                self.run.fetch_add(1, Ordering::Relaxed);
                if random.below(16) == 0 {
                    self.wait_a_turn(worker, &mut random);
                }
            } else {
                token = Some(self.sleep(worker, token, &mut random));
            }
        }
        self.listen(worker);
        self.idle.leave(worker, token, self);
    }

    fn sleep(&self, worker: usize, token: Option<Token>, random: &mut Random) -> Token {
        if random.below(3) == 0 {
            let timeout = Duration::from_micros(200);
            match self.idle.park_as_sentinel(worker, token, self, [timeout]) {
                Ok(Woken::Unparked(token) | Woken::TimedOut(token)) => token,
                Err(token) => self.idle.park(worker, token, self),
            }
        } else {
            self.idle.park(worker, token, self)
        }
    }

    /// In the middle of an item: waits for a condition that holds at once, or for a `wake_worker`.
    fn wait_a_turn(&self, worker: usize, random: &mut Random) {
        let ready = random.below(2) == 0;
        match self
            .idle
            .wait_restricted(worker, self, || ready || self.takeable())
        {
            Restricted::Ready | Restricted::Woken | Restricted::LastResort => self.listen(worker),
        }
    }

    fn publish(&self, random: &mut Random, count: usize) -> (usize, usize) {
        let (mut items, mut told) = (0, 0);
        while items + told < count {
            let queue = random.below(QUEUES);
            match random.below(8) {
                0 => {
                    let batch = 1 + random.below(40);
                    self.push(queue, batch);
                    self.idle.publish_batch(batch);
                    items += batch;
                }
                1 => {
                    let worker = random.below(self.private.len());
                    self.private[worker].fetch_add(1, Ordering::Relaxed);
                    self.idle.wake_worker(self.numbers[worker]);
                    told += 1;
                }
                2 => {
                    self.push(queue, 1);
                    self.idle.publish_paced();
                    items += 1;
                }
                3 => std::thread::sleep(random.micros(60)),
                _ => {
                    self.push(queue, 1);
                    self.idle.publish();
                    items += 1;
                }
            }
        }
        (items, told)
    }
}

fn stress(numbers: Vec<usize>, count: usize) {
    let count = count / if cfg!(miri) { 200 } else { 1 };
    let pool = Pool::new(numbers);
    std::thread::scope(|scope| {
        for &worker in &pool.numbers {
            let pool = &pool;
            let builder = std::thread::Builder::new().stack_size(256 << 10);
            builder
                .spawn_scoped(scope, move || pool.work(worker))
                .expect("a thread can be started");
        }
        let other = scope.spawn(|| pool.publish(&mut Random::new(77), count / 2));
        let ours = pool.publish(&mut Random::new(99), count / 2);
        let theirs = other.join().expect("the publisher does not panic");
        let (items, told) = (ours.0 + theirs.0, ours.1 + theirs.1);
        let start = Instant::now();
        let done = || {
            pool.run.load(Ordering::Relaxed) == items && pool.told.load(Ordering::Relaxed) == told
        };
        while !done() && start.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(1));
        }
        let ended = done();
        let state = format!("{:?}", pool.idle);
        pool.stop.store(true, Ordering::Relaxed);
        pool.idle.unpark_all();
        assert!(ended, "lost a wake: {state}");
    });
    assert_eq!(pool.idle.searching(), 0);
    assert_eq!(pool.idle.awake(), 0);
    assert!(!pool.idle.any_parked() && !pool.idle.any_restricted());
    assert!(!pool.idle.has_sentinel());
}

/// So many workers in each of the groups.
fn groups(workers: &[usize]) -> Vec<usize> {
    let group =
        |(group, &workers): (usize, &usize)| (0..workers).map(move |w| group * GROUP_CAPACITY + w);
    workers.iter().enumerate().flat_map(group).collect()
}

#[test]
fn one_worker() {
    let _watchdog = watchdog();
    stress(groups(&[1]), 10_000);
}

#[test]
fn two_workers() {
    let _watchdog = watchdog();
    stress(groups(&[2]), 20_000);
}

#[test]
fn two_groups_of_one() {
    let _watchdog = watchdog();
    stress(groups(&[1, 1]), 20_000);
}

#[test]
fn a_first_group_without_workers() {
    let _watchdog = watchdog();
    stress(groups(&[0, 2, 1, 1]), 20_000);
}

// Miri takes one step of one thread at a time: so many workers are too many for it.
#[cfg(not(miri))]
#[test]
fn thirty_three_workers() {
    let _watchdog = watchdog();
    stress((0..33).collect(), 20_000);
}

#[cfg(not(miri))]
#[test]
fn sixty_five_workers_in_unequal_groups() {
    let _watchdog = watchdog();
    stress(groups(&[1, 24, 16, 24]), 20_000);
}

#[cfg(not(miri))]
#[test]
fn one_hundred_and_twenty_eight_workers() {
    let _watchdog = watchdog();
    stress((0..128).collect(), 20_000);
}
