//! A waiting thread is notified of a task of the pool without workers. At the same moment its own future is woken, and
//! panics, or blocks until that task has run. Another thread that waits runs the task.

use std::sync::mpsc;
use std::time::Duration;

use terrace_executor::block_on;
use terrace_sync::Arc;
use terrace_testing::Random;

use super::Stop;
use super::program::Pools;
use crate::account::{Ledger, expect_planned_panics_only, panic_as_planned};

/// Long enough for a thread to fall asleep, mostly.
const ASLEEP: Duration = Duration::from_micros(300);

/// One such moment, while so many threads do nothing but wait.
pub(super) fn meet(pools: &Pools, waiters: usize, ledger: &Arc<Ledger>, random: &mut Random) {
    let pool = &pools.executors[1];
    let (gate, blocks) = (Arc::new(Stop::default()), random.once_in(2));
    let (sends, receives) = mpsc::channel();
    let (sends_too, receives_too) = mpsc::channel();
    let rival = {
        let gate = Arc::clone(&gate);
        let own = async move {
            gate.stopped().await;
            if !blocks {
                panic_as_planned();
            }
            // An error if the task is dropped instead.
            let _freed = receives_too.recv();
        };
        std::thread::spawn(move || expect_planned_panics_only(|| block_on(own)))
    };
    std::thread::sleep(ASLEEP);
    // The thread that was notified last is the last to be notified again: then it is the rival's
    // turn.
    for _ in 0..waiters {
        let account = ledger.open("turn");
        pool.spawn(async move { account.finish() }).detach();
        std::thread::sleep(ASLEEP);
    }
    let account = ledger.open("rivals");
    let frees = async move {
        account.finish();
        // The rival may be gone.
        let _sent = (sends.send(()), sends_too.send(()));
    };
    pool.spawn(frees).detach();
    gate.stop();
    // This thread does not drive the pool.
    let _freed = receives.recv();
    rival.join().expect("only planned panics");
}
