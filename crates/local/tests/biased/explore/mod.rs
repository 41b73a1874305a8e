//! All interleavings of whole operations on a task, from its owner's thread and two others, within a bound; and random sequences
//! beyond it.
//!
//! loom interleaves each atomic operation of a few steps. This search takes each step whole, and all steps from a
//! task's spawn to its end. It expands each state once, so it covers sequences of any length. After each step it
//! compares the words with the references to the task ([`World::check`]).
//!
//! Weakenings that it finds without loom (`RUSTFLAGS='--cfg terrace_weaken="…"'`): `local-task-last-remote`,
//! `local-task-detached`, `local-task-wake-coalesced`.

mod world;

use std::any::Any;
use std::boxed::Box;
use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::vec::Vec;

use self::world::{Keeps, Op, World};
use crate::biased::Side;

/// Applies `op` and checks the invariants; the complaint if one is broken.
fn advance(world: &World, op: Op) -> Result<World, Box<dyn Any + Send>> {
    let mut next = world.clone();
    catch_unwind(AssertUnwindSafe(move || {
        next.apply(op);
        next.check();
        next.in_order()
    }))
}

/// Ends a test: `complaint` was the answer to the last of these operations.
fn fail(complaint: &(dyn Any + Send), path: &[Op]) -> ! {
    let text = complaint.downcast_ref::<&str>().copied();
    let text = text.or_else(|| {
        complaint
            .downcast_ref::<std::string::String>()
            .map(|text| &**text)
    });
    panic!("{} after {path:?}", text.unwrap_or("a panic"));
}

/// States within a bound, each with the operation that led there and the state before.
#[derive(Default)]
struct Seen {
    states: Vec<(World, Option<(Op, usize)>)>,
    known: HashSet<World, BuildHasherDefault<Quick>>,
}

/// A hash that is quick without optimisation.
#[derive(Default)]
struct Quick(u64);

impl Hasher for Quick {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(byte.into());
        }
    }

    fn write_u64(&mut self, word: u64) {
        let mixed = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed ^ (mixed >> 32);
    }

    fn write_u8(&mut self, word: u8) {
        self.write_u64(word.into());
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(word.into());
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn write_isize(&mut self, word: isize) {
        self.write_u64(word as u64);
    }
}

impl Seen {
    fn add(&mut self, world: World, from: Option<(Op, usize)>) {
        if !self.known.contains(&world) {
            self.known.insert(world.clone());
            self.states.push((world, from));
        }
    }

    /// The operations that led to a state. The two other threads, and the two wakers, may swap names between two of them.
    fn path(&self, mut number: usize) -> Vec<Op> {
        let mut path = Vec::new();
        while let Some((op, before)) = self.states[number].1 {
            path.push(op);
            number = before;
        }
        path.reverse();
        path
    }
}

/// Looks at every state with at most so many wakers, and an atomic count at most so far from 0. Returns their number.
fn explore(starts: impl IntoIterator<Item = World>, wakers: u8, drift: usize) -> usize {
    let mut seen = Seen::default();
    for start in starts {
        seen.add(start, None);
    }
    let mut at = 0;
    while at < seen.states.len() {
        let world = seen.states[at].0.clone();
        let ops = world.operations();
        assert!(
            !ops.is_empty() || world.is_over(),
            "stuck after {:?}",
            seen.path(at)
        );
        for op in ops {
            match advance(&world, op) {
                Err(complaint) => {
                    let mut path = seen.path(at);
                    path.push(op);
                    fail(&*complaint, &path);
                }
                Ok(next) if next.wakers() > wakers || next.drift() > drift => {}
                Ok(next) => seen.add(next, Some((op, at))),
            }
        }
        at += 1;
    }
    seen.states.len()
}

/// The ways for a task to begin: on the owner's thread, and on another one.
fn beginnings(keeps: Keeps) -> [World; 2] {
    [Side::Local, Side::Remote].map(|side| World::new(keeps, side))
}

fn every_interleaving(keeps: Keeps) {
    let states = explore(beginnings(keeps), 2, 2);
    std::eprintln!("{keeps:?}: {states} states");
    assert!(states > 100_000, "the bound is too tight: {states}");
}

#[test]
fn every_interleaving_where_pending_tasks_are_counted() {
    every_interleaving(Keeps::Count);
}

#[test]
fn every_interleaving_where_pending_tasks_are_registered() {
    every_interleaving(Keeps::Wakers);
}

/// Steps of a random sequence, before all references are dropped.
const STEPS: usize = 25;
const SEQUENCES: u64 = 5_000;

#[test]
fn random_sequences() {
    for begin in [Keeps::Count, Keeps::Wakers].map(beginnings).as_flattened() {
        for seed in 1..=SEQUENCES {
            let mut random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let mut below = |limit: usize| {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                (random % limit as u64) as usize
            };
            let mut world = begin.clone();
            let mut path = Vec::new();
            while !world.is_over() {
                let ops = world.operations();
                let op = if path.len() < STEPS {
                    ops[below(ops.len())]
                } else {
                    let lets_go = |op: &&Op| LETS_GO.contains(op) || matches!(op, Op::Drop(_));
                    *ops.iter()
                        .find(lets_go)
                        .unwrap_or_else(|| panic!("stuck after {path:?}"))
                };
                path.push(op);
                world = advance(&world, op).unwrap_or_else(|complaint| fail(&*complaint, &path));
            }
        }
    }
}

/// The operations that bring a task to its end.
const LETS_GO: [Op; 9] = [
    Op::Return,
    Op::Ready,
    Op::End,
    Op::Settle,
    Op::Land,
    Op::Arrive,
    Op::DropItem,
    Op::WakeRegistered,
    Op::DropHandle,
];
