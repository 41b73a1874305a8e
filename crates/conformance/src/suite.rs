//! The table of behaviours, and how one of them is run.

use crate::behaviours::{
    basics, batch, cancel, drivers, eager, ending, group, panics, reentry, shutdown, task_set,
    wakes,
};
use crate::kind::{Batch, Caps, Drivable, Kind, Maker, Pooled};
use crate::tools::Tracker;

/// A behaviour of every executor, and its needs.
pub struct Behaviour<K> {
    /// `group::name`.
    pub name: &'static str,
    /// The abilities that the kind and the environment need.
    pub needs: Caps,
    run: fn(K, &Tracker),
}

impl<K: Kind> Behaviour<K> {
    /// Whether an executor with these promises can show it in this environment.
    #[must_use]
    pub fn applies(&self, caps: Caps) -> bool {
        caps.and(Caps::environment()).has(self.needs)
    }

    /// Checks the behaviour on an executor.
    ///
    /// # Panics
    /// If the executor does not show it, or if futures or outputs are left at the end.
    pub fn check(&self, kind: K) {
        let tracker = Tracker::new(kind.patience());
        (self.run)(kind, &tracker);
        tracker.all_gone();
    }
}

macro_rules! table {
    ($(#[$doc:meta])* $table:ident<$bound:ident>; $($group:ident { $($name:ident $([$($need:ident),+])?)+ })+) => {
        $(#[$doc])*
        #[must_use]
        pub fn $table<K: $bound>() -> Vec<Behaviour<K>> {
            vec![$($(Behaviour {
                name: concat!(stringify!($group), "::", stringify!($name)),
                needs: Caps::NONE $($(.and(Caps::$need))+)?,
                run: $group::$name::<K>,
            },)+)+]
        }
    };
}

table! {
    /// The behaviours of every kind.
    behaviours<Kind>;
    basics {
        a_detached_task_runs
        a_tick_polls_one_task [MANUAL]
        ready_tasks_are_polled_in_order [MANUAL, FIFO]
        each_wake_is_one_poll
        finished_tasks_say_so
        a_done_future_is_dropped_before_its_output_is_taken
        a_hundred_thousand_tasks_run
        a_fallible_task_has_an_output
    }
    cancel {
        before_the_first_poll [MANUAL]
        while_pending
        after_it_is_done
        between_wake_and_poll [MANUAL]
        by_dropping_the_handle
        a_finished_task_drops_its_output_with_the_handle
        a_task_that_drops_its_own_handle
        awaited_from_elsewhere [THREADS]
    }
    panics {
        in_a_poll_reaches_the_awaiter_alone [UNWINDS]
        in_a_later_poll [UNWINDS]
        in_the_futures_destructor [UNWINDS]
        in_the_destructor_of_a_cancelled_future [UNWINDS]
        in_the_outputs_destructor [UNWINDS]
        of_detached_tasks_leave_the_executor_alive [UNWINDS]
        through_try_take [UNWINDS]
        with_a_payload_that_panics_when_dropped [UNWINDS]
        in_destructors_during_the_drop [UNWINDS, CLOSES]
    }
    wakes {
        from_another_thread_while_idle [THREADS]
        from_another_thread_while_running [THREADS]
        before_the_poll_returns
        after_the_task_is_done
        a_waker_outlives_its_executor
        a_waker_outlives_its_executor_elsewhere [THREADS]
        race_with_the_drop [THREADS, CLOSES]
        a_task_that_wakes_itself_is_fair
        ping_pong_over_a_channel
        many_tasks_are_joined
        a_chain_of_tasks_awaits_each_other
    }
    reentry {
        a_poll_spawns
        a_waker_spawns
        a_destructor_spawns
        a_poll_ticks [MANUAL]
        a_waker_ticks [MANUAL]
        a_destructor_ticks [MANUAL]
        a_poll_waits_for_another_task
        spawns_nest
    }
    eager {
        a_pending_child_goes_on
        cancelled_and_detached_children
        a_panic_is_the_childs [UNWINDS]
        a_wake_in_the_first_poll [THREADS]
        children_nest_deep
        a_parent_that_spawns_yields
    }
    group {
        values_come_in_order
        values_come_as_children_end
        the_first_error_cancels_the_rest
        the_first_panic_cancels_the_rest [UNWINDS]
        a_failure_behind_a_pending_poll
        cancel_waits_for_the_end
        a_dropped_group_cancels_its_children
        a_group_is_forgotten
        groups_nest
    }
    task_set {
        each_task_has_a_result [UNWINDS]
        aborts_and_looks_of_a_waiting_task
        an_end_that_a_look_finds_wakes
        a_set_is_dropped
        an_abort_from_elsewhere
        a_task_knows_its_id
    }
    shutdown {
        drops_queued_and_pending_tasks [CLOSES]
        a_fallible_task_has_no_output [CLOSES]
        an_awaited_task_panics [CLOSES, UNWINDS]
        a_destructor_spawns_a_sibling [CLOSES, SPAWNS_IN_DROP]
        a_destructor_wakes_a_sibling [CLOSES]
        a_destructor_cancels_siblings [CLOSES]
        tasks_that_hold_each_other [CLOSES]
        a_finished_output_survives [CLOSES]
        handles_are_dropped_elsewhere_meanwhile [CLOSES, THREADS]
    }
}

table! {
    /// The behaviours for which the type of a future matters: they are of concrete kinds, not of [`Any`](crate::kinds::Any).
    exact_behaviours<Kind>;
    basics {
        an_output_is_delivered
        zero_sized_futures_run
        a_large_future_fits_a_small_stack [THREADS]
    }
    eager {
        a_child_is_polled_in_the_call
    }
}

table! {
    /// The behaviours of kinds with asynchronous drivers and without threads of their own.
    driver_behaviours<Drivable>;
    drivers {
        two_runs_share_the_work [ONE_THREAD]
        a_dropped_run_passes_its_wake_on [ONE_THREAD]
        a_run_dropped_half_way_leaves_its_tasks
        a_forgotten_run_holds_no_task
        runs_nest
        runs_of_two_executors_nest
        each_tick_is_one_task [ONE_THREAD]
        dropped_between_push_and_wake [ONE_THREAD, CLOSES, THREADS]
    }
}

table! {
    /// The behaviours of kinds that spawn batches.
    batch_behaviours<Batch>;
    batch {
        runs_and_keeps_its_order
        may_be_empty
        its_iterator_spawns
        its_iterator_panics [UNWINDS]
    }
}

table! {
    /// The behaviours of executors that stay after their threads have ended.
    pool_behaviours<Pooled>;
    ending {
        a_wait_for_all_tasks_ends_after_the_last [THREADS]
        a_wait_with_a_limit_says_what_is_left [THREADS]
        a_shutdown_finishes_all_tasks [THREADS]
        a_shutdown_runs_what_is_queued [THREADS]
        a_shutdown_drops_what_is_queued [THREADS]
        a_spawner_outlives_its_executor
    }
}

/// A behaviour of one kind.
pub struct Case {
    /// The kind's name.
    pub kind: String,
    /// The behaviour's.
    pub name: &'static str,
    /// Checks it; panics if it is not shown.
    pub run: Box<dyn Fn() + Send + Sync>,
}

/// The behaviours among these that the kind can show in this environment.
#[must_use]
pub fn cases<K: Kind>(maker: &Maker<K>, behaviours: Vec<Behaviour<K>>) -> Vec<Case> {
    let Maker { name, caps, make } = maker;
    let (caps, make) = (*caps, *make);
    behaviours
        .into_iter()
        .filter(|behaviour| behaviour.applies(caps))
        .map(|behaviour| Case {
            kind: name.clone(),
            name: behaviour.name,
            run: Box::new(move || behaviour.check(make())),
        })
        .collect()
}

/// Those of drivers and of batches.
#[must_use]
pub fn driven_behaviours<K: Drivable + Batch>() -> Vec<Behaviour<K>> {
    let mut all = driver_behaviours();
    all.extend(batch_behaviours());
    all
}
