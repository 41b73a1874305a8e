//! `fork::ForkDeque` on one thread: order, depth, gifts, offers, panics.
#![cfg(not(any(terrace_loom, terrace_shuttle)))]

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

use terrace_queue::fork::{
    Consider, Considered, Depth, ForkDeque, Full, Gives, Offer, Owner, Pace, Popped, Stolen, Word,
};
use terrace_sync::FenceKind;

const FULL: usize = ForkDeque::<usize>::CAPACITY;
const FORMS: [FenceKind; 2] = [FenceKind::Asymmetric, FenceKind::Symmetric];

fn owner(deque: &ForkDeque<usize>) -> Owner<'_, usize> {
    // SAFETY: each test uses one handle of a deque at a time, on one thread.
    unsafe { deque.owner() }
}

fn pop(owner: &Owner<'_, usize>, at: Depth) -> Popped {
    // SAFETY: the tests pop in the reverse order of their pushes.
    unsafe { owner.pop(at) }
}

/// Considers with each push.
fn each(_: Considered) -> Pace {
    Pace {
        pushes: 1,
        offer: Offer::Open,
        gives: Gives::Asked,
    }
}

/// Considers in first pushes.
fn first_only(_: Considered) -> Pace {
    Pace {
        pushes: u32::MAX,
        offer: Offer::Quiet,
        gives: Gives::Asked,
    }
}

#[test]
fn jobs_that_nobody_takes_are_the_owners() {
    for form in FORMS {
        let deque = ForkDeque::boxed_with(form);
        let me = owner(&deque);
        for round in 0..3 {
            let depths: Vec<_> = (0..10).map(|job| me.push(job, each).unwrap()).collect();
            assert!(deque.has_jobs(Offer::Open) && !deque.is_empty());
            for at in depths.into_iter().rev() {
                assert_eq!(pop(&me, at), Popped::Mine, "{form:?}, round {round}");
            }
            assert!(deque.is_empty() && !deque.has_jobs(Offer::None));
            assert_eq!(deque.offer(), Offer::None);
        }
    }
}

#[test]
fn thieves_take_the_oldest() {
    for form in FORMS {
        let deque = ForkDeque::boxed_with(form);
        let me = owner(&deque);
        let depths: Vec<_> = (0..5).map(|job| me.push(job, each).unwrap()).collect();
        assert_eq!([deque.force(), deque.force()], [Some(0), Some(1)]);
        let popped: Vec<_> = depths.into_iter().rev().map(|at| pop(&me, at)).collect();
        let [mine, stolen] = [Popped::Mine, Popped::Stolen];
        assert_eq!(popped, [mine, mine, mine, stolen, stolen], "{form:?}");
        assert_eq!(deque.force(), None);
    }
}

/// An owner that gives unasked gives the oldest job, one at a time, to whichever thread comes first.
#[test]
fn an_unasked_gift_is_there_until_it_is_taken_or_goes_back() {
    let give = |_: Considered| Pace {
        pushes: 1,
        offer: Offer::Quiet,
        gives: Gives::Unasked,
    };
    for form in FORMS {
        let deque = ForkDeque::boxed_with(form);
        let me = owner(&deque);
        let outer = me.push(0, give).unwrap();
        assert!(deque.is_empty() && deque.has_jobs(Offer::Open));
        // The gift lies there still.
        let inner = me.push(1, give).unwrap();
        assert!(!deque.is_empty() && !deque.ask());
        assert_eq!(pop(&me, inner), Popped::Mine);
        assert_eq!(pop(&me, outer), Popped::Mine, "{form:?}");
        assert!(!deque.has_jobs(Offer::None) && deque.take_gift().is_none());

        let outer = me.push(2, give).unwrap();
        assert_eq!(deque.steal(Offer::Quiet, || true), Some(Stolen::Given(2)));
        let inner = me.push(3, give).unwrap();
        assert_eq!(deque.take_gift(), Some(3));
        let popped = [pop(&me, inner), pop(&me, outer)];
        assert_eq!(popped, [Popped::Stolen; 2], "{form:?}");
    }
}

/// The owner goes on at the index where it found its job stolen, as a waiter does that runs other jobs.
#[test]
fn the_deque_is_in_order_after_a_theft() {
    let deque = ForkDeque::boxed();
    let me = owner(&deque);
    let outer = me.push(0, each).unwrap();
    let inner = me.push(1, each).unwrap();
    assert_eq!(deque.force(), Some(0));
    assert_eq!(deque.force(), Some(1));
    assert_eq!(pop(&me, inner), Popped::Stolen);
    let again = me.push(2, each).unwrap();
    assert_eq!(deque.force(), Some(2));
    assert_eq!(pop(&me, again), Popped::Stolen);
    let again = me.push(3, each).unwrap();
    assert_eq!(pop(&me, again), Popped::Mine);
    assert_eq!(pop(&me, outer), Popped::Stolen);
    assert!(deque.is_empty());
}

#[test]
fn a_push_without_a_slot_fails() {
    // Whatever pace the caller wishes, pushes stop at the last slot.
    for pushes in [0, 1, 7, 1_000, u32::MAX] {
        let deque = ForkDeque::boxed();
        let me = owner(&deque);
        let pace = move |_: Considered| Pace {
            pushes,
            offer: Offer::Quiet,
            gives: Gives::Asked,
        };
        let mut depths: Vec<_> = (0..FULL).map(|job| me.push(job, pace).unwrap()).collect();
        for _ in 0..3 {
            assert_eq!(me.push(FULL, pace), Err(Full));
        }
        assert_eq!(pop(&me, depths.pop().unwrap()), Popped::Mine);
        depths.push(me.push(FULL, pace).unwrap());
        assert_eq!(me.push(FULL, pace), Err(Full));
        for at in depths.into_iter().rev() {
            assert_eq!(pop(&me, at), Popped::Mine);
        }
        assert!(me.push(0, pace).is_ok());
    }
}

#[test]
fn a_request_is_answered_with_the_oldest_job() {
    let deque = ForkDeque::boxed();
    let me = owner(&deque);
    let outer = me.push(0, each).unwrap();
    assert!(deque.ask() && !deque.ask(), "one request at a time");
    assert_eq!(deque.take_gift(), None);
    let inner = me.push(1, each).unwrap();
    assert!(!deque.ask(), "a gift lies there");
    assert_eq!(deque.take_gift(), Some(0));
    assert_eq!(deque.take_gift(), None);
    assert_eq!(pop(&me, inner), Popped::Mine);
    assert_eq!(pop(&me, outer), Popped::Stolen);
}

#[test]
fn the_owner_takes_back_what_nobody_fetches() {
    for form in FORMS {
        let deque = ForkDeque::boxed_with(form);
        let me = owner(&deque);
        for job in 0..3 {
            assert!(deque.ask());
            let at = me.push(job, each).unwrap();
            assert!(deque.is_empty() && deque.has_jobs(Offer::Open), "given");
            assert_eq!(pop(&me, at), Popped::Mine);
            assert!(!deque.has_jobs(Offer::None));
            assert_eq!(deque.take_gift(), None);
        }
    }
}

#[test]
fn a_quiet_owner_answers_no_request() {
    let deque = ForkDeque::boxed();
    let me = owner(&deque);
    assert!(deque.ask());
    let at = me.push(0, first_only).unwrap();
    assert_eq!(deque.offer(), Offer::Quiet);
    assert!(deque.has_jobs(Offer::Quiet) && !deque.has_jobs(Offer::Open));
    assert_eq!(deque.steal(Offer::Open, || true), None);
    let stolen = deque.steal(Offer::Quiet, || unreachable!("it is not asked"));
    assert_eq!(stolen, Some(Stolen::Forced(0)));
    assert_eq!(pop(&me, at), Popped::Stolen);
}

#[test]
fn a_thief_asks_before_it_forces() {
    let deque = ForkDeque::boxed();
    let me = owner(&deque);
    let outer = me.push(0, each).unwrap();
    let mut inner = None;
    let polls = || {
        // The owner forks on while the thief polls.
        inner.get_or_insert_with(|| me.push(1, each).unwrap());
        true
    };
    let stolen = deque.steal(Offer::Open, polls);
    assert_eq!(
        stolen.map(|stolen| (stolen, stolen.into_inner())),
        Some((Stolen::Given(0), 0))
    );
    assert_eq!(deque.steal(Offer::Open, || false), Some(Stolen::Forced(1)));
    assert_eq!(pop(&me, inner.unwrap()), Popped::Stolen);
    assert_eq!(pop(&me, outer), Popped::Stolen);
    assert_eq!(
        deque.steal(Offer::None, || unreachable!("it is empty")),
        None
    );
}

/// Notes the calls.
#[derive(Default)]
struct Noting(Vec<(bool, Considered)>);

impl Consider for &mut Noting {
    fn pace(&mut self, now: Considered) -> Pace {
        self.0.push((false, now));
        each(now)
    }

    fn published(&mut self, now: Considered) {
        self.0.push((true, now));
    }
}

#[test]
fn the_owner_considers_in_first_pushes_and_at_its_pace() {
    let deque = ForkDeque::boxed();
    let me = owner(&deque);
    let mut noting = Noting::default();
    let outer = me.push(0, &mut noting).unwrap();
    deque.ask();
    let inner = me.push(1, &mut noting).unwrap();
    let seen: Vec<_> = noting
        .0
        .iter()
        .map(|(published, now)| (*published, now.first, now.asked))
        .collect();
    let [none, all] = [(true, false), (false, true)];
    let of = |published, (first, asked)| (published, first, asked);
    assert_eq!(
        seen,
        [
            of(false, none),
            of(true, none),
            of(false, all),
            of(true, all)
        ]
    );
    assert_eq!(pop(&me, inner), Popped::Mine);
    assert_eq!(pop(&me, outer), Popped::Mine);

    // Every fourth push, however many pops come between.
    let mut considered = 0;
    let mut counting = |_: Considered| {
        considered += 1;
        Pace {
            pushes: 4,
            offer: Offer::Open,
            gives: Gives::Asked,
        }
    };
    let outer = me.push(0, &mut counting).unwrap();
    for job in 0..12 {
        let inner = me.push(job, &mut counting).unwrap();
        assert_eq!(pop(&me, inner), Popped::Mine);
    }
    assert_eq!(pop(&me, outer), Popped::Mine);
    assert_eq!(considered, 1 + 12 / 4);
}

#[test]
fn a_panic_while_considering_leaves_the_deque_as_it_was() {
    let deque = ForkDeque::boxed();
    let me = owner(&deque);
    let outer = me.push(0, each).unwrap();
    let panics = |_: Considered| -> Pace { panic!("on purpose") };
    for _ in 0..3 {
        let pushed = catch_unwind(AssertUnwindSafe(|| me.push(1, panics)));
        assert!(pushed.is_err());
    }
    assert_eq!(deque.force(), Some(0));
    assert_eq!(deque.force(), None);
    assert_eq!(pop(&me, outer), Popped::Stolen);
}

#[test]
fn a_push_while_considering_lies_below() {
    for form in FORMS {
        let deque = ForkDeque::boxed_with(form);
        let me = owner(&deque);
        let mut below = None;
        let above = me.push(1, |now: Considered| {
            below = Some(me.push(0, each).expect("there is room"));
            each(now)
        });
        assert_eq!(deque.force(), Some(0));
        assert_eq!(pop(&me, above.expect("there is room")), Popped::Mine);
        assert_eq!(pop(&me, below.expect("considered")), Popped::Stolen);

        // Those pushes may also take the last slot.
        let mut held: Vec<_> = (1..FULL)
            .map(|job| me.push(job, each).expect("there is room"))
            .collect();
        let above = me.push(FULL + 1, |now: Considered| {
            held.push(me.push(FULL, each).expect("there is room"));
            each(now)
        });
        assert_eq!(above, Err(Full));
        for at in held.into_iter().rev() {
            assert_eq!(pop(&me, at), Popped::Mine);
        }
        assert!(deque.is_empty());
    }
}

#[test]
fn jobs_are_numbers_pointers_and_references() {
    fn there_and_back<W: Word>(word: W) -> W {
        // SAFETY: it has just come out of `into_raw`.
        unsafe { W::from_raw(word.into_raw()) }
    }
    let frame = 5_u64;
    assert_eq!(there_and_back(usize::MAX), usize::MAX);
    assert_eq!(there_and_back(&frame), &5);
    assert_eq!(there_and_back(NonNull::from(&frame)), NonNull::from(&frame));
    let pointer = std::ptr::from_ref(&frame);
    assert_eq!(there_and_back(pointer), pointer);
}

#[test]
fn a_deque_and_its_owner_describe_themselves() {
    let deque = ForkDeque::<usize>::boxed();
    let text = format!("{:?} {Full}", owner(&deque));
    assert!(text.contains("is_empty: true") && text.contains(&FULL.to_string()));
}

/// A thief of one root's jobs is asked before each claim, and told the root of a gift.
#[test]
fn a_thief_takes_what_it_may() {
    let deque = ForkDeque::<usize>::boxed();
    let me = owner(&deque);
    me.set_root(3);
    assert!(me.is_idle() && deque.ask());
    let given = me.push(1, each).expect("there is room");
    assert!(me.is_idle(), "the job is given away");
    assert_eq!(
        deque.steal_if(Offer::Quiet, || false, |root| root != Some(3)),
        None
    );
    let old = deque.look();
    me.begin_epoch();
    assert_ne!(deque.look(), old);
    me.set_root(4);
    let inner = me.push(2, each).expect("there is room");
    assert!(!me.is_idle());
    let forced = deque.steal_if(Offer::Quiet, || false, |root| root.is_none());
    assert_eq!(forced, Some(Stolen::Forced(2)));
    let given_in = |root| move |asked: Option<u64>| asked.is_none_or(|asked| asked == root);
    assert_eq!(deque.steal_if(Offer::Quiet, || false, given_in(4)), None);
    let gift = deque.steal_if(Offer::Quiet, || false, given_in(3));
    assert_eq!(gift, Some(Stolen::Given(1)));
    assert_eq!(deque.look(), None);
    let mut emptied = None;
    // SAFETY: the job of the last push.
    let popped = unsafe { me.pop_and(inner, |level| emptied = Some(level)) };
    assert_eq!(popped, Popped::Stolen);
    assert_eq!(pop(&me, given), Popped::Stolen);
    assert_eq!(emptied, Some(1));
}

/// A request that comes while the owner considers is answered, and the owner learns of it.
#[test]
fn a_gift_counts_as_asked() {
    struct Asking<'d> {
        deque: &'d ForkDeque<usize>,
        told: &'d Cell<Option<bool>>,
    }

    impl Consider for Asking<'_> {
        fn pace(&mut self, now: Considered) -> Pace {
            assert!(!now.asked && self.deque.ask());
            Pace {
                pushes: 1,
                offer: Offer::Open,
                gives: Gives::Asked,
            }
        }

        fn published(&mut self, now: Considered) {
            self.told.set(Some(now.asked));
        }
    }

    let deque = ForkDeque::boxed();
    let me = owner(&deque);
    let told = Cell::new(None);
    let first = me.push(0, each).unwrap();
    let asking = Asking {
        deque: &deque,
        told: &told,
    };
    let second = me.push(1, asking).unwrap();
    assert_eq!(told.get(), Some(true));
    assert_eq!(deque.take_gift(), Some(0));
    assert_eq!(pop(&me, second), Popped::Mine);
    assert_eq!(pop(&me, first), Popped::Stolen);
}
