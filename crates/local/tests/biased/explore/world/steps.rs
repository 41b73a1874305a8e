//! The operations: each follows the answers of the real steps as `task::biased::Cell`, its wakers and its handle do.

use super::{Keeps, LOCAL, Op, Phase, Place, World, number, owned, waker};
use crate::biased::{Arrival, HandleEnd, Joined, Left, Pended, Reference, State, Step};
use crate::on_owner::OnOwner;

impl World {
    /// Takes a step at a place, and does what it asks for. True if the task had ended.
    fn take(
        &mut self,
        place: Place,
        local: impl FnOnce(OnOwner<'_, State>) -> Step,
        remote: impl FnOnce(&State) -> Step,
    ) -> bool {
        let step = if place == LOCAL {
            self.words.step(|state| local(owned(state)))
        } else {
            self.words.step(remote)
        };
        match step {
            Step::Nothing => {}
            Step::Ended => return true,
            Step::Queue if place == LOCAL => self.queued += 1,
            Step::Queue => self.flying += 1,
            Step::Free => self.free(),
        }
        false
    }

    fn free(&mut self) {
        assert!(!self.freed, "the cell is freed twice");
        self.freed = true;
    }

    fn was_woken(&mut self) {
        self.owed |= !self.ended && !self.future_dropped;
    }

    /// The handle takes the outcome of an ended task.
    fn take_outcome(&mut self) {
        if self.words.step(State::has_outcome) {
            assert!(self.outcome, "an outcome is taken that is not there");
            self.outcome = false;
        }
        if self.words.step(State::release_ended) {
            self.free();
        }
    }

    /// Does the operation.
    pub(in super::super) fn apply(&mut self, op: Op) {
        match op {
            Op::Clone(place) => {
                self.words.step(|state| {
                    if place == LOCAL {
                        owned(state).clone_local();
                    } else {
                        state.clone_remote();
                    }
                });
                self.wakers[place] += 1;
            }
            Op::WakeByRef(place) => {
                self.was_woken();
                self.wake_by_ref(place);
            }
            Op::Wake(place) => {
                self.was_woken();
                self.wakers[place] -= 1;
                if place == LOCAL {
                    self.wake_by_ref(LOCAL);
                    self.release(LOCAL);
                } else {
                    self.take(
                        place,
                        |_| Step::Nothing,
                        |state| state.wake_remote(Reference::UsedUp),
                    );
                }
            }
            Op::Drop(place) => {
                self.wakers[place] -= 1;
                self.release(place);
            }
            Op::Send(from, to) => {
                self.wakers[from] -= 1;
                self.wakers[to] += 1;
            }
            Op::SendHandle(to) => self.handle = Some(to),
            Op::Cancel => {
                self.cancelled |= !self.ended;
                let place = self.handle.expect("there is one");
                self.take(place, |state| state.cancel_local(), State::cancel_remote);
            }
            Op::DropHandle => self.drop_handle(HandleEnd::Cancel),
            Op::Detach => self.drop_handle(HandleEnd::Detach),
            Op::Await(number) => self.join(number),
            Op::Land => {
                self.flying -= 1;
                self.arrived += 1;
            }
            Op::Arrive => self.arrive(),
            Op::Run => {
                self.queued -= 1;
                let started = self.words.step(|state| owned(state).start());
                assert!(!(started && self.cancelled), "it is polled once more");
                self.phase = if started {
                    self.owed = false;
                    Phase::Polling
                } else {
                    Phase::Dropping(Left::Nothing)
                };
            }
            Op::WakeRegistered => {
                self.was_woken();
                self.wake_by_ref(LOCAL);
            }
            Op::DropItem => {
                self.queued -= 1;
                self.words.step(|state| owned(state).start());
                self.phase = Phase::Dropping(Left::Nothing);
            }
            Op::Lend(to) => self.lent = Some(to),
            Op::Return => self.lent = None,
            Op::Pend => self.pend(),
            Op::Ready => self.phase = Phase::Dropping(Left::Outcome),
            Op::End => self.end(),
            Op::Settle => self.settle(),
        }
    }

    fn wake_by_ref(&mut self, place: Place) {
        self.take(
            place,
            |state| state.wake_local(),
            |state| state.wake_remote(Reference::Kept),
        );
    }

    fn release(&mut self, place: Place) {
        self.take(place, |state| state.release_local(), State::release_remote);
    }

    fn drop_handle(&mut self, end: HandleEnd) {
        let place = self.handle.take().expect("there is one");
        self.waits = 0;
        self.cancelled |= end == HandleEnd::Cancel && !self.ended;
        let local = |state: OnOwner<'_, State>| state.drop_handle_local(end);
        if self.take(place, local, |state| state.drop_handle_remote(end)) {
            self.take_outcome();
        }
    }

    fn join(&mut self, number: usize) {
        let is_local = self.handle == Some(LOCAL);
        let waker = waker(number);
        let joined = self.words.step(|state| {
            let local = is_local.then(|| owned(state));
            // SAFETY: this is the task's one handle.
            unsafe { state.join(&waker, local) }
        });
        match joined {
            Joined::Pending(_) => {
                assert!(!self.words_have_ended(), "an end is not told");
                self.waits = number;
            }
            Joined::Ended(_) => {
                self.handle = None;
                self.waits = 0;
                self.take_outcome();
            }
        }
    }

    fn arrive(&mut self) {
        self.arrived -= 1;
        match self.words.step(|state| owned(state).arrive()) {
            Arrival::Queue => self.queued += 1,
            Arrival::Nothing => {}
            Arrival::Ended(step) => {
                self.awaited = self.awaited.checked_sub(1).expect("it was awaited");
                if step == Step::Free {
                    self.free();
                }
            }
        }
    }

    fn pend(&mut self) {
        if self.keeps == Keeps::Wakers && !self.has_pended {
            self.words.step(|state| owned(state).clone_local());
            self.words.step(State::set_registered);
            self.registered = true;
        }
        self.has_pended = true;
        match self.words.step(|state| owned(state).pend()) {
            Pended::Wait => self.phase = Phase::Idle,
            Pended::Queue => {
                self.phase = Phase::Idle;
                self.queued += 1;
            }
            Pended::Abandon => self.phase = Phase::Dropping(Left::Nothing),
        }
    }

    fn end(&mut self) {
        assert!(!self.future_dropped, "the future is dropped twice");
        self.future_dropped = true;
        self.owed = false;
        if core::mem::take(&mut self.registered) {
            self.release(LOCAL);
        }
        let Phase::Dropping(left) = self.phase else {
            unreachable!("offered in this phase only")
        };
        self.outcome = left == Left::Outcome;
        let finished = self.words.step(|state| owned(state).finish(left));
        self.ended = true;
        self.awaited += u8::from(finished.pushing);
        let wanted = self.handle.is_some() && !self.cancelled;
        assert!(!(wanted && finished.discard), "a wanted outcome is dropped");
        self.phase = if finished.alone || finished.held {
            Phase::Ended {
                alone: finished.alone,
                discard: finished.discard,
                awaited: finished.awaited,
            }
        } else {
            assert!(
                !finished.discard && !finished.awaited,
                "no thread follows up"
            );
            Phase::Idle
        };
        assert!(
            self.waits == 0 || finished.awaited,
            "an awaiter is not woken"
        );
    }

    fn settle(&mut self) {
        let Phase::Ended {
            alone,
            discard,
            awaited,
        } = self.phase
        else {
            unreachable!("offered in this phase only")
        };
        if discard {
            assert!(self.outcome, "an outcome is dropped that is not there");
            self.outcome = false;
        }
        if awaited {
            // SAFETY: the owner has ended the task, and got `awaited`.
            let woken = self.words.step(|state| unsafe { state.take_awaiter() });
            let woken = number(woken.as_ref());
            assert!(
                self.waits == 0 || self.waits == woken,
                "the wrong awaiter is woken"
            );
            self.waits = 0;
        }
        self.phase = Phase::Idle;
        if alone || self.words.step(State::release_ended) {
            self.free();
        }
    }
}
