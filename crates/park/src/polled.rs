//! Workers that park in a poll: a future stands for the sleep, and a [`Waker`] for the thread.
//!
//! | step            | the worker                                                | a thread that wakes it              |
//! |-----------------|-----------------------------------------------------------|-------------------------------------|
//! | `park_in_poll`  | puts its waker into its seat, then does what `park` does up to the sleep | clears `P`, adds a token, takes the waker and wakes it |
//! | `poll_park`     | puts its waker into its seat, then looks at `P`            | –                                   |
//! | `end_park`      | clears `P` itself, or owns the token of the thread that did; wakes its own waker | –              |
//!
//! The waker lies in the seat before the worker sets `P` or looks at it. So the thread that clears `P` finds a waker, or a late
//! waker of an earlier park has taken it, and wakes it. Either way a poll follows, which sees `P` clear.

use std::task::Waker;

use terrace_sync::atomic::Ordering;
use terrace_sync::thread::yield_now;
use terrace_sync::weakened;

use crate::idle::{Idle, Work};
use crate::search::{Announced, Back, take_back};
use crate::token::Token;

impl Idle {
    /// As [`park`](Self::park), but returns `None` in place of the sleep. From then on the worker is parked, and the thread that
    /// wakes it calls `waker`. When the waker was called, the worker calls [`poll_park`](Self::poll_park). It calls
    /// [`end_park`](Self::end_park) before it sleeps in any other way.
    ///
    /// Cost: as `park` without the sleep, and a lock.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_park::{Idle, Wake};
    ///
    /// # struct Nothing;
    /// # impl terrace_park::Work for Nothing {
    /// #     fn takeable(&self) -> bool { false }
    /// #     fn has_private_work(&self, _: usize) -> bool { false }
    /// # }
    /// use std::task::Waker;
    ///
    /// let idle = Idle::new(1);
    /// let token = idle.enter(0);
    /// assert!(idle.park_in_poll(0, token, &Nothing, Waker::noop().clone()).is_none());
    /// // It is parked, and its future returns `Pending`. The publish calls the waker.
    /// assert_eq!(idle.publish(), Wake::Woke(0));
    /// let token = idle.poll_park(0, Waker::noop().clone()).expect("it was woken");
    /// idle.leave(0, token, &Nothing);
    /// ```
    pub fn park_in_poll(
        &self,
        worker: usize,
        token: impl Into<Option<Token>>,
        work: &impl Work,
        waker: Waker,
    ) -> Option<Token> {
        let (group, place) = self.groups.place(worker);
        let seat = group.seat(place.bit);
        if !weakened!("park-polled-unput") {
            seat.park_in_poll(waker);
        }
        match self.announce_park(worker, (group, place), token.into(), work) {
            Announced::Stands => None,
            Announced::TakenBack => {
                seat.put_waker(None);
                Some(Token::new(place.group))
            }
        }
    }

    /// Whether the worker, which is parked in a poll, was woken: its token then. Else the thread that wakes it calls this waker.
    ///
    /// Cost: one lock, two if it was woken.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_park::Idle;
    ///
    /// # struct Nothing;
    /// # impl terrace_park::Work for Nothing {
    /// #     fn takeable(&self) -> bool { false }
    /// #     fn has_private_work(&self, _: usize) -> bool { false }
    /// # }
    /// use std::task::Waker;
    ///
    /// let idle = Idle::new(1);
    /// let token = idle.enter(0);
    /// assert!(idle.park_in_poll(0, token, &Nothing, Waker::noop().clone()).is_none());
    /// assert!(idle.poll_park(0, Waker::noop().clone()).is_none(), "it is parked");
    /// idle.publish();
    /// let token = idle.poll_park(0, Waker::noop().clone()).expect("it was woken");
    /// idle.leave(0, token, &Nothing);
    /// ```
    pub fn poll_park(&self, worker: usize, waker: Waker) -> Option<Token> {
        let (group, place) = self.groups.place(worker);
        let seat = group.seat(place.bit);
        // Ordering: Acquire pairs with the Release of the thread that cleared the bit.
        let sleeps = || group.load(Ordering::Acquire).sleeps(place.bit);
        let early = weakened!("park-polled-early") && sleeps();
        seat.park_in_poll(waker);
        if early || sleeps() {
            return None;
        }
        seat.put_waker(None);
        Some(Token::new(place.group))
    }

    /// Ends the park of a worker that is parked in a poll: it owns a token, as if it had been woken. Its waker is called, so that
    /// its future is polled again and parks it again.
    ///
    /// Cost: one read-modify-write and one lock.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_park::Idle;
    ///
    /// # struct Nothing;
    /// # impl terrace_park::Work for Nothing {
    /// #     fn takeable(&self) -> bool { false }
    /// #     fn has_private_work(&self, _: usize) -> bool { false }
    /// # }
    /// use std::task::Waker;
    ///
    /// let idle = Idle::new(1);
    /// let token = idle.enter(0);
    /// assert!(idle.park_in_poll(0, token, &Nothing, Waker::noop().clone()).is_none());
    /// let token = idle.end_park(0);
    /// assert!(!idle.any_parked());
    /// idle.leave(0, token, &Nothing);
    /// ```
    pub fn end_park(&self, worker: usize) -> Token {
        let (group, place) = self.groups.place(worker);
        while let Back::Held = take_back(group, place) {
            // A thread that has taken the place finds that the worker is parked in a poll, and gives it back.
            yield_now();
        }
        group.seat(place.bit).wake();
        Token::new(place.group)
    }

    /// Unparks the thread of a worker, whatever it sleeps in: its waker may stand for a wait on that very thread.
    ///
    /// Cost: two read-modify-writes and the unpark.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_park::Idle;
    ///
    /// # struct Nothing;
    /// # impl terrace_park::Work for Nothing {
    /// #     fn takeable(&self) -> bool { false }
    /// #     fn has_private_work(&self, _: usize) -> bool { false }
    /// # }
    /// let idle = Idle::new(1);
    /// let token = idle.enter(0);
    /// idle.stop_search(token, &Nothing);
    /// idle.unpark_thread(0);
    /// // The thread has a token, so it does not sleep.
    /// terrace_sync::thread::park();
    /// idle.leave(0, None, &Nothing);
    /// ```
    pub fn unpark_thread(&self, worker: usize) {
        let (group, place) = self.groups.place(worker);
        if !weakened!("park-thread-unparked") {
            group.seat(place.bit).unpark_thread();
        }
    }
}
