//! A pool as the watch sees it.

use std::time::Duration;

use terrace_sync::time::CpuClock;
use terrace_sync::{Arc, weakened};

use super::start;
use crate::parts::scopes::Looking;
use crate::parts::watch::Watched;
use crate::pool::shared::Shared;
use crate::protocol::alarm::Alarm;
use crate::protocol::sight::Sight;
use crate::work::order::bystander_sight;
use crate::work::scan::Scan;

impl Watched for Shared {
    fn is_out_of_care(&self) -> bool {
        self.holders.is_closing() || self.workers() == 0
    }

    fn alarm(&self) -> &Alarm {
        &self.alarm
    }

    fn is_takeable(&self) -> bool {
        Scan::for_workers(self).finds_something()
    }

    fn has_queued(&self) -> bool {
        Scan::in_wait(self).finds_something()
    }

    fn is_attended(&self) -> bool {
        self.idle.any_parked() || self.idle.searching() > 0
    }

    fn has_waiter(&self) -> bool {
        self.idle.any_restricted()
            || self.scopes.has_waiter()
            || self.forks.has_waiter()
            || self.waits_beneath.any()
    }

    fn progress(&self) -> usize {
        let own = if weakened!("executor-watch-pops") && self.forks.any_forking() {
            // A thread that joins computes, and so counts as progress.
            let clock = CpuClock::of_this_process().and_then(|clock| clock.read());
            clock.map_or(0, |time| time.as_nanos() as usize)
        } else {
            0
        };
        self.seats
            .progress()
            .wrapping_mul(1_000_003)
            .wrapping_add(self.scopes.progress())
            .wrapping_add(own)
    }

    fn has_tasks(&self) -> bool {
        bystander_sight(self, Looking::ToWake) != Sight::Nothing
    }

    fn jobs(&self) -> Vec<(usize, u64)> {
        self.forks.jobs().collect()
    }

    fn has_stranded_job(&self) -> bool {
        self.forks.has_waiter() && self.forks.any_job() && self.processors_left() > 0
    }

    fn processor_time(&self) -> Duration {
        self.seats.processor_time()
    }

    fn is_starting_spare(&self) -> bool {
        self.threads.is_starting_spare()
    }

    fn start_spare(self: Arc<Self>) {
        start::start_spare(&self);
    }
}
