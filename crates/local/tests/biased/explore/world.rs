//! [`World`]: one task, all references to it, and the next operations of each thread, as plain data that can be hashed.
//!
//! The words are those of a real [`State`]: each operation builds one of them, takes the real steps, and reads them
//! back. [`steps`] has its surroundings: queues, references, the phases of a turn.

mod steps;

use core::task::{RawWaker, RawWakerVTable, Waker};
use std::vec::Vec;

use terrace_sync::atomic::{AtomicUsize, Ordering};
use terrace_sync::cell::UnsafeCell;

use crate::biased::state::{LocalWord, count, local, remote};
use crate::biased::{Left, Side, State};
use crate::on_owner::OnOwner;

/// A place: the owner's thread, or one of two others.
pub(super) type Place = usize;
pub(super) const LOCAL: Place = 0;
pub(super) const PLACES: usize = 3;

/// The words of a [`State`].
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
struct Words {
    remote: usize,
    references: u32,
    flags: u8,
    registered: usize,
    /// The number of the waker, 0 for none.
    awaiter: usize,
}

/// The owner's present step with the task.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) enum Phase {
    Idle,
    /// In the poll: the user's code runs.
    Polling,
    /// The future is done, or cancelled, and about to be dropped, or in its destructor.
    Dropping(Left),
    /// The task has ended, and the owner follows up.
    Ended {
        alone: bool,
        discard: bool,
        awaited: bool,
    },
}

/// How the executor treats the wakers of pending tasks.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) enum Keeps {
    /// A registry keeps them.
    Wakers,
    /// It only counts the tasks.
    Count,
}

#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct World {
    words: Words,
    keeps: Keeps,
    /// Wakers at each place.
    wakers: [u8; PLACES],
    /// Where the handle is.
    handle: Option<Place>,
    /// The waker that the handle has left with its last poll, 0 for none.
    waits: usize,
    /// Whether the handle has cancelled the task, or was dropped.
    cancelled: bool,
    /// Items in the run queue, on their way to the inbox, and in it.
    queued: u8,
    flying: u8,
    arrived: u8,
    phase: Phase,
    /// Where the waker of the poll is lent to, uncounted.
    lent: Option<Place>,
    /// Whether it has returned `Pending` once; and whether the registry has a reference.
    has_pended: bool,
    registered: bool,
    /// Items that the mailbox awaits.
    awaited: u8,
    /// It was woken since its last poll began.
    owed: bool,
    future_dropped: bool,
    outcome: bool,
    ended: bool,
    freed: bool,
}

/// One whole operation.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Op {
    Clone(Place),
    Wake(Place),
    WakeByRef(Place),
    Drop(Place),
    Send(Place, Place),
    Cancel,
    DropHandle,
    Detach,
    /// With one of two wakers.
    Await(usize),
    SendHandle(Place),
    /// The pusher's item is in the inbox.
    Land,
    Arrive,
    Run,
    /// The executor closes: it wakes a task that is registered.
    WakeRegistered,
    /// It drops the item.
    DropItem,
    Lend(Place),
    Return,
    Pend,
    Ready,
    /// The future's destructor is over.
    End,
    Settle,
}

static VTABLE: RawWakerVTable =
    RawWakerVTable::new(|data| RawWaker::new(data, &VTABLE), |_| (), |_| (), |_| ());

fn waker(number: usize) -> Waker {
    let data = core::ptr::without_provenance(number);
    // SAFETY: the functions do nothing with the data.
    unsafe { Waker::from_raw(RawWaker::new(data, &VTABLE)) }
}

fn number(waker: Option<&Waker>) -> usize {
    waker.map_or(0, |waker| waker.data().addr())
}

/// The proof for a state on which this thread takes the owner's steps, too.
pub(super) fn owned(state: &State) -> OnOwner<'_, State> {
    // SAFETY: one thread plays all sides, so no other one has the state.
    unsafe { OnOwner::assume(state) }
}

impl Words {
    /// Takes steps on a real state with these words.
    fn step<R>(&mut self, f: impl FnOnce(&State) -> R) -> R {
        let state = State {
            remote: AtomicUsize::new(self.remote),
            local: UnsafeCell::new(LocalWord {
                references: self.references,
                flags: self.flags,
            }),
            registered: AtomicUsize::new(self.registered),
            awaiter: UnsafeCell::new((self.awaiter != 0).then(|| waker(self.awaiter))),
        };
        let answer = f(&state);
        *self = Self::of(&state);
        answer
    }

    fn of(state: &State) -> Self {
        let (references, flags) = owned(state).with_word(|word| (word.references, word.flags));
        Self {
            remote: state.remote.load(Ordering::Relaxed),
            references,
            flags,
            registered: state.registered.load(Ordering::Relaxed),
            awaiter: state.awaiter.with(|awaiter| {
                // SAFETY: this thread plays all sides, and no other borrow of the awaiter is alive.
                number(unsafe { &*awaiter }.as_ref())
            }),
        }
    }
}

impl World {
    /// A task just spawned by a thread of this side, with its handle there.
    pub(super) fn new(keeps: Keeps, side: Side) -> Self {
        let state = State::spawned(side);
        let is_local = side == Side::Local;
        Self {
            words: Words::of(&state),
            keeps,
            wakers: [0; PLACES],
            handle: Some(if is_local { LOCAL } else { 1 }),
            waits: 0,
            cancelled: false,
            queued: is_local.into(),
            flying: (!is_local).into(),
            arrived: 0,
            phase: Phase::Idle,
            lent: None,
            has_pended: false,
            registered: false,
            awaited: 0,
            // Its first poll.
            owed: true,
            future_dropped: false,
            outcome: false,
            ended: false,
            freed: false,
        }
    }

    /// The same state with the two other threads, and the two wakers of the handle, in a fixed order: they are
    /// interchangeable.
    pub(super) fn in_order(mut self) -> Self {
        let weight = |place| {
            let (handle, lent) = (self.handle == Some(place), self.lent == Some(place));
            (self.wakers[place], handle, lent)
        };
        if weight(1) < weight(2) {
            let swap = |place| {
                if place == LOCAL {
                    LOCAL
                } else {
                    PLACES - place
                }
            };
            self.wakers.swap(1, 2);
            self.handle = self.handle.map(swap);
            self.lent = self.lent.map(swap);
        }
        let first = if self.words.awaiter == 0 {
            self.waits
        } else {
            self.words.awaiter
        };
        if first == 2 {
            let swap = |number: usize| if number == 0 { 0 } else { 3 - number };
            self.words.awaiter = swap(self.words.awaiter);
            self.waits = swap(self.waits);
        }
        self
    }

    /// Whether no part of the task is left.
    pub(super) fn is_over(&self) -> bool {
        self.freed
    }

    /// The wakers there are.
    pub(super) fn wakers(&self) -> u8 {
        self.wakers.iter().sum()
    }

    /// How far the remote count is from 0.
    pub(super) fn drift(&self) -> usize {
        count(self.words.remote).unsigned_abs()
    }

    /// Everything that has a reference.
    fn references(&self) -> isize {
        let kept = [
            self.handle.is_some(),
            self.phase != Phase::Idle,
            self.registered,
        ];
        let items = self.queued + self.flying + self.arrived;
        isize::from(self.wakers() + items) + kept.iter().filter(|kept| **kept).count() as isize
    }

    /// Whether a thread at this place may use a waker.
    fn has_waker(&self, place: Place) -> bool {
        let lent = place == LOCAL && self.phase == Phase::Polling || self.lent == Some(place);
        lent || self.wakers[place] != 0
    }

    /// The operations that are possible next.
    pub(super) fn operations(&self) -> Vec<Op> {
        let mut ops = Vec::new();
        if self.freed {
            return ops;
        }
        let mut offer = |may: bool, op: Op| {
            if may {
                ops.push(op);
            }
        };
        for place in 0..PLACES {
            let owned = self.wakers[place] != 0;
            offer(self.has_waker(place), Op::Clone(place));
            offer(self.has_waker(place), Op::WakeByRef(place));
            offer(owned, Op::Wake(place));
            offer(owned, Op::Drop(place));
            for to in 0..PLACES {
                offer(owned && to != place, Op::Send(place, to));
            }
            offer(
                self.handle.is_some_and(|from| from != place),
                Op::SendHandle(place),
            );
            let lends = self.phase == Phase::Polling && self.lent.is_none();
            offer(lends && place != LOCAL, Op::Lend(place));
        }
        let handle = self.handle.is_some();
        for op in [
            Op::Cancel,
            Op::DropHandle,
            Op::Detach,
            Op::Await(1),
            Op::Await(2),
        ] {
            offer(handle, op);
        }
        offer(self.flying != 0, Op::Land);
        offer(self.arrived != 0, Op::Arrive);
        let idle = self.phase == Phase::Idle;
        offer(idle && self.queued != 0, Op::Run);
        offer(idle && self.queued != 0, Op::DropItem);
        offer(
            idle && self.registered && self.queued == 0,
            Op::WakeRegistered,
        );
        let polling = self.phase == Phase::Polling;
        offer(polling && self.lent.is_some(), Op::Return);
        offer(polling && self.lent.is_none(), Op::Pend);
        offer(polling && self.lent.is_none(), Op::Ready);
        offer(matches!(self.phase, Phase::Dropping(_)), Op::End);
        offer(matches!(self.phase, Phase::Ended { .. }), Op::Settle);
        ops
    }

    fn words_have_ended(&self) -> bool {
        self.words.remote & remote::ENDED != 0
    }

    /// Checks the invariants that hold between operations.
    pub(super) fn check(&self) {
        let references = self.references();
        if self.freed {
            assert_eq!(references, 0, "the cell is freed and referred to");
            assert!(self.future_dropped && !self.outcome, "something is leaked");
            assert_eq!(self.awaited, 0, "the mailbox waits for an item in vain");
            assert_eq!(self.words.awaiter, 0, "an awaiter is leaked");
            return;
        }
        assert!(references > 0, "the cell is leaked");
        let Words {
            remote: word,
            flags,
            ..
        } = self.words;
        let ended = self.words_have_ended();
        let counted = if ended {
            count(word)
        } else {
            State::sum(self.words.references, word)
        };
        assert_eq!(counted, references, "the counts");
        let items = self.flying + self.arrived;
        assert!(self.queued <= 1 && items <= 1, "an item too many");
        let turn = matches!(self.phase, Phase::Polling | Phase::Dropping(_));
        assert!(!(turn && self.queued != 0), "it is queued while it is run");
        if self.ended {
            assert_eq!(self.queued, 0, "it is queued after its end");
            assert_eq!(self.awaited, items, "items that are awaited");
            let idle = self.phase == Phase::Idle;
            let unclaimed = self.outcome && self.handle.is_none();
            assert!(!(idle && unclaimed), "the outcome is leaked");
            assert!(!(idle && self.waits != 0), "the handle is not told");
            return;
        }
        assert_eq!(
            flags & local::QUEUED != 0,
            self.queued != 0,
            "the flag of an item"
        );
        assert_eq!(flags & local::RUNNING != 0, turn, "the flag of a turn");
        assert_eq!(
            word & remote::NOTIFIED != 0,
            items != 0,
            "the flag of a push"
        );
        let again = self.phase == Phase::Polling && flags & local::WOKEN != 0;
        let comes = self.queued + items != 0 || again;
        assert!(comes || turn || !self.cancelled, "it is not dropped");
        let dropping = matches!(self.phase, Phase::Dropping(_));
        assert!(comes || dropping || !self.owed, "a wake is lost");
    }
}
