//! Many workers, unequal groups, random publishes: every item is run and every targeted wake is seen.
//!
//! Which item is whose, when, is random (a fixed seed a run); what must hold is not.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use terrace_park::{GroupConfig, Idle, Restricted, Token, Work};

const LANES: usize = 3;
/// How long a run may take before it counts as hung; it needs well under a second.
const PATIENCE: Duration = Duration::from_secs(120);

/// A queue a lane and an inlet a worker, each with a hint that is raised first.
struct Pool {
    idle: Idle,
    lanes: [(AtomicUsize, Mutex<VecDeque<u64>>); LANES],
    inlets: Vec<AtomicUsize>,
    stop: AtomicBool,
    run: AtomicUsize,
    told: AtomicUsize,
}

impl Work for Pool {
    fn takeable(&self, lanes: u32) -> bool {
        (0..LANES).any(|l| lanes & (1 << l) != 0 && self.lanes[l].0.load(Ordering::Relaxed) > 0)
    }

    fn inlet(&self, worker: usize) -> bool {
        self.stop.load(Ordering::Relaxed) || self.inlets[worker].load(Ordering::Relaxed) > 0
    }
}

/// xorshift64*, Vigna 2016: "An experimental exploration of Marsaglia's xorshift generators, scrambled".
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % bound
    }
}

impl Pool {
    fn new(groups: &[GroupConfig]) -> Self {
        let idle = Idle::new(groups);
        let capacity = idle.capacity();
        (0..capacity).for_each(|w| assert!(idle.adopt_live(w)));
        Self {
            idle,
            lanes: Default::default(),
            inlets: (0..capacity).map(|_| AtomicUsize::new(0)).collect(),
            stop: AtomicBool::new(false),
            run: AtomicUsize::new(0),
            told: AtomicUsize::new(0),
        }
    }

    fn push(&self, lane: usize, items: usize) {
        let (hint, queue) = &self.lanes[lane];
        hint.fetch_add(items, Ordering::Relaxed);
        let mut queue = queue.lock().expect("no panic inside");
        queue.extend((0..items).map(|i| i as u64));
    }

    fn pop(&self, lanes: u32) -> Option<usize> {
        (0..LANES)
            .filter(|l| lanes & (1 << l) != 0)
            .find_map(|lane| {
                let (hint, queue) = &self.lanes[lane];
                if hint.load(Ordering::Relaxed) == 0 {
                    return None;
                }
                queue.lock().expect("no panic inside").pop_front()?;
                hint.fetch_sub(1, Ordering::Relaxed);
                Some(lane)
            })
    }

    fn listen(&self, worker: usize) {
        let told = self.inlets[worker].swap(0, Ordering::Relaxed);
        self.told.fetch_add(told, Ordering::Relaxed);
    }

    fn work(&self, worker: usize) {
        let mut random = Random(worker as u64 * 2 + 1);
        let lanes = self.idle.lanes_of(worker);
        let mut token = Some(self.idle.enter(worker));
        while !self.stop.load(Ordering::Relaxed) {
            self.listen(worker);
            if token.is_none() {
                token = self.idle.try_search(worker);
            }
            let found = token.as_ref().and_then(|_| self.pop(lanes));
            if let (Some(lane), Some(token)) = (found, token.take_if(|_| found.is_some())) {
                if random.below(4) == 0 {
                    let surplus = self.lanes[lane].0.load(Ordering::Relaxed);
                    self.idle.hand_on(&token, 1 << lane, surplus);
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
            match self.idle.park_as_guard(worker, token, self, timeout) {
                Ok(woken) => woken.into_token(),
                Err(token) => self.idle.park(worker, token, self),
            }
        } else {
            self.idle.park(worker, token, self)
        }
    }

    /// In the middle of an item: waits for something that is there at once, or for a targeted wake.
    fn wait_a_turn(&self, worker: usize, random: &mut Random) {
        let lanes = self.idle.lanes_of(worker);
        let ready = random.below(2) == 0;
        match self
            .idle
            .wait_restricted(worker, self, || ready || self.takeable(lanes))
        {
            Restricted::Ready | Restricted::Woken | Restricted::LastResort => self.listen(worker),
        }
    }

    fn publish(&self, random: &mut Random, count: usize) -> (usize, usize) {
        let (mut items, mut told) = (0, 0);
        let served: u32 = (0..self.idle.capacity()).fold(0, |all, w| all | self.idle.lanes_of(w));
        let lanes: Vec<_> = (0..LANES).filter(|l| served & (1 << l) != 0).collect();
        while items + told < count {
            let lane = lanes[random.below(lanes.len())];
            let mask = 1 << lane;
            match random.below(8) {
                0 => {
                    let batch = 1 + random.below(40);
                    self.push(lane, batch);
                    self.idle.publish_batch(mask, batch);
                    items += batch;
                }
                1 => {
                    let worker = random.below(self.inlets.len());
                    self.inlets[worker].fetch_add(1, Ordering::Relaxed);
                    self.idle.targeted(worker);
                    told += 1;
                }
                2 => {
                    self.push(lane, 1);
                    self.idle.publish_paced(mask, false);
                    items += 1;
                }
                3 => std::thread::sleep(Duration::from_micros(random.below(60) as u64)),
                _ => {
                    self.push(lane, 1);
                    self.idle.publish(mask);
                    items += 1;
                }
            }
        }
        (items, told)
    }
}

fn stress(groups: &[GroupConfig], count: usize) {
    let pool = Pool::new(groups);
    std::thread::scope(|scope| {
        for worker in 0..pool.inlets.len() {
            let pool = &pool;
            let builder = std::thread::Builder::new().stack_size(256 << 10);
            builder
                .spawn_scoped(scope, move || pool.work(worker))
                .expect("a thread can be started");
        }
        let other = scope.spawn(|| pool.publish(&mut Random(77), count / 2));
        let ours = pool.publish(&mut Random(99), count / 2);
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
    assert_eq!(pool.idle.parked(u32::MAX), 0);
    assert_eq!(pool.idle.live(u32::MAX), 0);
    assert!(!pool.idle.has_guard());
}

fn workers(workers: usize, lanes: u32) -> GroupConfig {
    GroupConfig { workers, lanes }
}

#[test]
fn one_worker() {
    stress(&[workers(1, 1)], 10_000);
}

#[test]
fn two_workers() {
    stress(&[workers(2, 1)], 20_000);
}

#[test]
fn two_groups_of_one() {
    stress(&[workers(1, 1), workers(1, 1)], 20_000);
}

#[test]
fn lanes_that_overlap() {
    stress(
        &[workers(2, 0b011), workers(1, 0b110), workers(1, 0b100)],
        20_000,
    );
}

#[test]
fn thirty_three_workers() {
    stress(&[workers(33, 0b1)], 20_000);
}

#[test]
fn sixty_five_workers_in_unequal_groups() {
    stress(
        &[workers(1, 0b001), workers(40, 0b111), workers(24, 0b101)],
        20_000,
    );
}

#[test]
fn one_hundred_and_twenty_eight_workers() {
    stress(&[workers(100, 0b011), workers(28, 0b110)], 20_000);
}
