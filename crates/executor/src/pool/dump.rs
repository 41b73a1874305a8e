//! What a program that hangs says of itself: a look at its pools fills a [`Dump`], and `terrace_trace::report` writes it. The look waits
//! for no lock: the pool may hang, and the thread that looks may be in the middle of a task.

use std::fmt;

use slab::Slab;
use terrace_park::Doing as Sleep;
use terrace_sync::report::patiently;
use terrace_sync::time::CpuClock;
use terrace_sync::unmodelled::Weak;
use terrace_sync::{Arc, Mutex};
use terrace_trace::inspect::name_of;
use terrace_trace::report::{Doing, Join, Phase, Pool, Report, Scope, System, Worker};

use super::{Shared, runner};
use crate::parts::scopes::Slot;
use crate::parts::threads::{Kind, Thread};

/// What one pool, or all pools of the process, look like at one moment. [`Executor::dump`](crate::Executor::dump) and
/// [`dump_all`] take it.
///
/// Its `Display` text names in its first ten lines what most likely keeps the program from going on. Then it lists, for each pool,
/// the workers and what each does, the queues with their lengths, the open scopes and what each waits for, the threads in the middle
/// of joins, and the tasks.
///
/// The tasks themselves, with their spawn sites and for how long they are being polled or wait, are known with the crate's feature
/// `inspect` only. Without it the dump knows their number.
///
/// Each figure is a hint: threads go on while they are looked at.
///
/// # Examples
///
/// ```
/// use terrace_executor::Builder;
///
/// let executor = Builder::new().workers(2).build();
/// let task = executor.spawn(std::future::pending::<()>());
/// let dump = executor.dump();
/// assert!(dump.to_string().contains("1 of 1 task not ended"));
/// assert!(dump.to_json().starts_with(r#"{"suspects":["#));
/// # drop(task);
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Dump {
    report: Report,
}

impl Dump {
    /// Of these pools; `partial` if there may be others.
    pub(crate) fn new(pools: Vec<Pool>, partial: bool) -> Self {
        Self {
            report: Report::new(pools, partial),
        }
    }

    /// What may keep the program from going on, the likeliest first, each in one line without a line break. Empty if nothing looks
    /// stuck.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_executor::Executor::new();
    /// executor.spawn(async {}).detach();
    /// assert_eq!(executor.dump().suspects().len(), 1, "no thread is there to run the task");
    /// executor.try_tick();
    /// assert!(executor.dump().suspects().is_empty());
    /// ```
    #[must_use = "the call only reads a value"]
    pub fn suspects(&self) -> &[String] {
        self.report.suspects()
    }

    /// The whole dump as one line of JSON: an object with `suspects`, `pools` and `partial`. Times are in seconds. What is not known
    /// is `null`.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_executor::Builder::new().workers(1).build();
    /// let json = executor.dump().to_json();
    /// let json: serde_json::Value = serde_json::from_str(&json)?;
    /// assert_eq!(json["pools"].as_array().map(Vec::len), Some(1));
    /// assert_eq!(json["partial"], false);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[must_use = "the text is returned, and not printed"]
    pub fn to_json(&self) -> String {
        self.report.to_json()
    }
}

impl fmt::Display for Dump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.report, f)
    }
}

/// The same text as `Display`, so that a failed `unwrap` shows it.
impl fmt::Debug for Dump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.report, f)
    }
}

terrace_sync::global! {
    /// All pools of the process.
    static POOLS: Mutex<Slab<Weak<Shared>>> = Mutex::new(Slab::new());
}

/// A new pool, which [`dump_all`] shows until it is gone.
pub(crate) fn add(pool: &Arc<Shared>) {
    // A checker of schedules would try each order of these locks.
    if !cfg!(terrace_shuttle) {
        let number = POOLS.lock().insert(Arc::downgrade(pool));
        let _is_new = pool.number.set(number);
        terrace_sync::report::provide(|| dump_all().to_string());
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Some(number) = self.number.get() {
            POOLS.lock().remove(*number);
        }
    }
}

/// What all executors of the process look like at this moment, as [`Executor::dump`](crate::Executor::dump) says it of one. Call it
/// where a program does not go on: from a thread of its own, on a signal, or out of a debugger.
///
/// It waits for no lock and for no thread, so it also works while executors hang, shut down or are dropped.
///
/// Cost: as that method, for each executor.
///
/// # Examples
///
/// ```
/// let executor = terrace_executor::Builder::new().workers(1).build();
/// eprintln!("{}", terrace_executor::dump_all());
/// # drop(executor);
/// ```
#[must_use = "the dumps are returned, and not printed"]
pub fn dump_all() -> Dump {
    // No pool is dropped under the lock: its drop takes the lock.
    let pools: Option<Vec<Arc<Shared>>> = patiently(&POOLS).map(|pools| {
        pools
            .iter()
            .filter_map(|(_, pool)| pool.upgrade())
            .collect()
    });
    let partial = pools.is_none();
    let pools = pools.unwrap_or_default();
    Dump::new(pools.iter().map(|pool| at(pool)).collect(), partial)
}

/// From now on the process writes [`dump_all`] to standard error each time it gets the signal `SIGUSR1`: `kill -USR1 PID`.
///
/// The signal's handler only wakes a thread of its own, `terrace-dump`, which writes. So the signal may interrupt any code, and the
/// dump works where every other thread hangs. A second call adds a second dump.
///
/// # Errors
/// When the system refuses the handler, or a thread.
///
/// # Examples
///
/// ```
/// terrace_executor::dump_on_signal()?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[cfg(all(feature = "signal", unix))]
pub fn dump_on_signal() -> std::io::Result<()> {
    let mut signals = signal_hook::iterator::Signals::new([signal_hook::consts::SIGUSR1])?;
    let thread = terrace_sync::thread::Builder::new().name("terrace-dump".into());
    let started = thread.spawn(move || {
        for _ in signals.forever() {
            let text = dump_all().to_string();
            // Where standard error is closed, there is no place for it.
            let _written = std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes());
        }
    });
    started.map(drop)
}

impl Shared {
    /// See [`Executor::dump`](crate::Executor::dump).
    pub(crate) fn dump(&self) -> Dump {
        Dump::new(vec![at(self)], false)
    }

    /// What the pool's `Debug` output says.
    pub(crate) fn describe(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pool = at(self);
        let rings = pool.workers.iter().map(|worker| worker.queued);
        f.debug_struct(name)
            .field("id", &pool.id)
            .field("active", &pool.active)
            .field("workers", &pool.wanted)
            .field("awake", &self.idle.awake())
            .field("injected", &pool.injected)
            .field("high", &pool.high)
            .field("background", &pool.background)
            .field("rings", &rings.collect::<Vec<_>>())
            .field("driver_rings", &pool.driver_rings)
            .field("scopes", &pool.scopes)
            .field("joins", &pool.joins)
            .field(
                "drivers",
                &format_args!("{}, {} asleep", pool.drivers, pool.drivers_asleep),
            )
            .field("idle", &self.idle)
            .finish()
    }
}

/// A thread of the pool.
struct Known {
    seat: usize,
    id: Option<u64>,
    name: Option<String>,
    kind: Kind,
}

impl Known {
    fn of(thread: &Thread) -> Self {
        let name = thread.thread.get().and_then(|thread| thread.name());
        Self {
            seat: thread.seat,
            id: thread.spawner.get().map(|own| own.thread_id().get()),
            name: name.map(ToOwned::to_owned),
            kind: thread.kind,
        }
    }

    /// How a report names the thread with this id.
    fn title(threads: &[Self], id: u64) -> String {
        match threads.iter().find(|thread| thread.id == Some(id)) {
            Some(Self { seat, name, .. }) => {
                format!("worker {seat} ({})", name.as_deref().unwrap_or("unnamed"))
            }
            None => match name_of(id) {
                Some(name) => format!("thread {id} ({name})"),
                None => format!("thread {id}"),
            },
        }
    }
}

/// What `pool` looks like.
fn at(pool: &Shared) -> Pool {
    let (threads, in_shutdown): (Vec<Known>, _) = patiently(&pool.threads.list)
        .map(|list| {
            let known = list.iter().filter(|thread| !thread.gone.get());
            let inside = list.iter().filter(|thread| thread.shuts_down());
            (
                known.map(|thread| Known::of(thread)).collect(),
                inside.count(),
            )
        })
        .unwrap_or_default();
    let (drivers, drivers_asleep) = pool.idle.driver_count();
    let phase = if pool.is_closed() {
        Phase::Closed
    } else if pool.holders.is_closing() {
        Phase::Closing
    } else {
        Phase::Open
    };
    let slot = |address| {
        let mut slots = pool.scopes.table.scan();
        slots.position(|slot| std::ptr::from_ref(slot).addr() == address)
    };
    let (tasks, tasks_partial) = pool
        .records
        .look(slot, |id| Some(Known::title(&threads, id)));
    Pool {
        id: pool.id.0.get(),
        phase,
        wanted: pool.workers(),
        active: pool.seats.active(),
        spawned: pool.seats.spawned(),
        injected: pool.injector.len_hint(),
        high: pool.lanes.high.len_hint(),
        background: pool.lanes.background.len_hint(),
        drivers,
        drivers_asleep,
        driver_rings: pool
            .seats
            .drivers
            .scan()
            .map(|seat| seat.ring.len())
            .collect(),
        in_shutdown,
        in_wait_idle: pool.quiet.handshake.waiters(),
        driven_by_waits: pool.may_drive.get(),
        workers: workers(pool, &threads),
        scopes: scopes(pool, &threads),
        joins: joins(pool, &threads),
        tasks,
        tasks_partial,
    }
}

fn workers(pool: &Shared, threads: &[Known]) -> Vec<Worker> {
    let here = runner::with_worker_of(pool, |worker| worker.map(|worker| worker.index));
    let (searching, awake) = (pool.idle.searching(), pool.idle.awake());
    let busy = match searching {
        0 => Doing::Runs,
        _ if searching < awake => Doing::RunsOrSearches,
        _ => Doing::Searches,
    };
    let seats = pool.seats.workers.scan().enumerate();
    let held = seats.filter_map(|(index, seat)| {
        let known = threads.iter().find(|thread| thread.seat == index);
        let sleep = pool.idle.doing(index);
        if sleep == Sleep::Absent && known.is_none() {
            return None;
        }
        let id = known.and_then(|known| known.id);
        let scope = id.and_then(|id| waits_in(pool, id));
        let asleep = seat.asleep.look().map(|(_, since)| since);
        let doing = match sleep {
            Sleep::Absent => Doing::Absent,
            Sleep::Awake if here == Some(index) => Doing::Runs,
            Sleep::Awake => busy,
            Sleep::Parked => Doing::Parked,
            Sleep::Watching => Doing::Sentinel,
            Sleep::Held | Sleep::HeldWaiting => Doing::StoodInFor,
            Sleep::Waiting if scope.is_some() => Doing::WaitsInScope,
            Sleep::Waiting if id.is_some_and(|id| waits_in_join(pool, id)) => Doing::WaitsInJoin,
            Sleep::Waiting => Doing::Waits,
        };
        Some(Worker {
            index,
            thread: known.and_then(|known| known.name.clone()),
            spare: known.is_some_and(|known| known.kind == Kind::Spare),
            asked_to_end: seat.is_asked_to_end(),
            doing,
            asleep: asleep.filter(|_| doing.is_asleep()),
            here: here == Some(index),
            scope: scope.filter(|_| doing == Doing::WaitsInScope),
            // What the system says is of a moment later.
            system: seat
                .clock
                .try_lock()
                .and_then(|clock| system((*clock)?))
                .filter(|_| pool.idle.doing(index) == sleep),
            queued: seat.ring.len() + usize::from(!seat.lifo.is_empty()),
            polls: seat.counts.polls.get(),
        })
    });
    held.collect()
}

/// What the system says of the thread of this clock.
fn system(clock: CpuClock) -> Option<System> {
    let number = clock.thread()?;
    let read = |file| std::fs::read_to_string(format!("/proc/self/task/{number}/{file}")).ok();
    // The state is the first word after the name, which is in brackets.
    let stat = read("stat")?;
    let state = stat.rsplit(')').next()?.split_whitespace().next()?;
    let place = read("wchan").filter(|place| !matches!(&**place, "" | "0"));
    Some(System {
        sleeps: matches!(state, "S" | "D"),
        text: match (state, place) {
            ("S" | "D", Some(place)) => format!("sleeps in {place}"),
            ("S" | "D", None) => "sleeps".to_owned(),
            ("R", _) => "runs".to_owned(),
            (other, _) => format!("state {other}"),
        },
        processor: clock.read(),
    })
}

fn open_scopes(pool: &Shared) -> impl Iterator<Item = (usize, &Slot<Shared>)> {
    let slots = pool.scopes.table.scan().enumerate();
    slots.filter(|(_, slot)| slot.core.pending() > 0)
}

/// The scope in whose wait this thread sleeps: the last one if they are nested.
fn waits_in(pool: &Shared, thread: u64) -> Option<usize> {
    let own =
        open_scopes(pool).filter(|(_, slot)| slot.core.is_owner(thread) && slot.core.is_asleep());
    own.map(|(index, _)| index).last()
}

fn waits_in_join(pool: &Shared, thread: u64) -> bool {
    pool.forks
        .seats()
        .any(|seat| seat.thread() == thread && seat.asleep.get())
}

/// The open scopes: what keeps each of them open, and which threads could go on.
fn scopes(pool: &Shared, threads: &[Known]) -> Vec<Scope> {
    let scopes = open_scopes(pool).map(|(index, slot)| {
        let core = &slot.core;
        let (site, age) = slot.opened.look().unzip();
        Scope {
            pending: core.pending(),
            queued: core.len(),
            waiter_asleep: core.is_asleep(),
            waiting: core.cancel().try_waiting(),
            slot: index,
            waiter: Known::title(threads, core.owner()),
            site,
            age,
        }
    });
    scopes.collect()
}

/// The threads in the middle of joins.
fn joins(pool: &Shared, threads: &[Known]) -> Vec<Join> {
    let seats = pool.forks.seats();
    let busy =
        seats.filter(|seat| seat.is_forking() || seat.asleep.get() || seat.deque.is_in_use());
    let joins = busy.map(|seat| Join {
        seat: seat.number,
        by: format!("{:?}", seat.by()),
        offer: seat
            .deque
            .look()
            .map(|_| format!("{:?}", seat.deque.offer())),
        forking: seat.is_forking(),
        asleep: seat.asleep.get(),
        thread: Known::title(threads, seat.thread()),
    });
    joins.collect()
}
