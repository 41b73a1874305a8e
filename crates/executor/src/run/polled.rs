//! A worker whose loop is a future, on which a function of the program blocks.
//!
//! | the function                       | the worker                                                              |
//! |------------------------------------|-------------------------------------------------------------------------|
//! | polls the future                   | runs up to [`GLOBAL_INTERVAL`] pieces of work, or parks by `Idle::park_in_poll` |
//! | waits beside it, between two polls | is not parked during the wait (`wait::sleep_on_worker`)                 |
//! | pushes beside it, in its reactor   | pushes into its own ring, and wakes itself                              |
//! | returns after the end              | ends                                                                    |
//! | returns or panics before           | goes on as a worker without such a function                             |
//!
//! Such a worker uses no LIFO slot, as no sentinel watches while all are in their reactors. A sentinel hears nothing of its reactor. So
//! the worker is one only where a scope is open or a thread forks, or lately was, and for [`WATCH`] at a time; then it looks at its
//! reactor. Other workers also watch while threads are busy with tasks. Everything else is as with other workers: tokens, seats, waits,
//! spares.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use terrace_park::Woken;

use super::worker::{Progress, Stop, goes_to_sleep, watch};
use crate::guard::OnDrop;
use crate::parts::scopes::Looking;
use crate::parts::threads::{Main, PollLoop, WorkerLoop};
use crate::pool::runner::Runner;
use crate::tuned::{GLOBAL_INTERVAL, PERIOD};
use crate::work::order::Scan;

/// How long the worker is a sentinel at a time: two thorough looks.
const WATCH: Duration = PERIOD.saturating_mul(2);

/// A worker's loop as a future.
struct Polled<'w, 'p> {
    runner: &'w Runner<'p>,
    progress: Progress,
    ended: bool,
}

/// Calls the program's function with the worker's loop. Returns when the worker ends.
pub(super) fn run(runner: &Runner<'_>, main: &Main) {
    runner.polled.set(true);
    let mut polled = Polled {
        runner,
        progress: Progress::default(),
        ended: false,
    };
    let called = catch_unwind(AssertUnwindSafe(|| main(WorkerLoop::new(&mut polled))));
    if runner.parked.get() {
        polled.progress.token = Some(runner.end_park());
    }
    runner.end_loop(&mut polled.progress);
    let ended = polled.ended;
    runner.polled.set(false);
    let complaint = match called {
        Err(payload) => Some(payload),
        Ok(()) if ended => None,
        Ok(()) => catch_unwind(|| {
            panic!(
                "the function of `Builder::worker_main` has returned before its worker ends; the worker goes on \
                 outside of the reactor. The function has to block on the future that it gets"
            )
        })
        .err(),
    };
    if let Some(payload) = complaint {
        runner.pool.report(payload);
    }
    if !ended {
        runner.run();
    }
}

impl PollLoop for Polled<'_, '_> {
    fn poll(&mut self, context: &Context<'_>) -> Poll<()> {
        if self.ended {
            return Poll::Ready(());
        }
        let waker = context.waker().clone();
        let runner = self.runner;
        let polled = runner.enter(|| {
            runner.in_loop.set(true);
            runner.arrives();
            let _in_loop = OnDrop(|| runner.in_loop.set(false));
            self.poll_loop(waker)
        });
        self.ended = polled.is_ready();
        polled
    }
}

impl Polled<'_, '_> {
    fn poll_loop(&mut self, waker: Waker) -> Poll<()> {
        let runner = self.runner;
        if runner.parked.get() {
            let woken = runner.pool.idle.poll_park(runner.index, waker.clone());
            let Some(token) = woken else {
                return Poll::Pending;
            };
            runner.unparks();
            self.progress.token = Some(token);
        }
        let mut turns = GLOBAL_INTERVAL as usize;
        loop {
            match runner.work(&mut self.progress, &mut turns) {
                Stop::Turns => {
                    runner.flush();
                    runner.stop_search(&mut self.progress.token);
                    waker.wake();
                    return Poll::Pending;
                }
                Stop::Idle if runner.stays() => ready!(self.rest(&waker)),
                Stop::Idle | Stop::Ended => {
                    runner.end_loop(&mut self.progress);
                    return Poll::Ready(());
                }
            }
        }
    }

    /// Parks the worker. It watches for a while if there is something to watch. Pending if it is parked, or lets its reactor have a
    /// turn; ready if it goes on in this poll.
    fn rest(&mut self, waker: &Waker) -> Poll<()> {
        let runner = self.runner;
        let (pool, index) = (runner.pool, runner.index);
        let asleep = goes_to_sleep(runner);
        let scan = Scan::of_worker(runner, Looking::Parking);
        let token = self.progress.token.take();
        let token = match watch(runner, token, &mut self.progress.sentinel, Some(WATCH)) {
            Ok(woken) => {
                drop(asleep);
                let timed_out = matches!(woken, Woken::TimedOut(_));
                runner.wakes(woken, &mut self.progress);
                if !timed_out {
                    return Poll::Ready(());
                }
                // It looks at its reactor first.
                self.progress.sentinel.keen = false;
                runner.stop_search(&mut self.progress.token);
                waker.wake_by_ref();
                return Poll::Pending;
            }
            Err(token) => token,
        };
        match pool.idle.park_in_poll(index, token, &scan, waker.clone()) {
            None => {
                runner.parks(asleep);
                Poll::Pending
            }
            token => {
                drop(asleep);
                terrace_trace::unpark();
                self.progress.token = token;
                Poll::Ready(())
            }
        }
    }
}
