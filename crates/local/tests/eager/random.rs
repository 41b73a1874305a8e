//! Random programs of eager and queued children, groups and nested groups, cancellations, drops, panics, wakes from other threads,
//! groups that are forgotten, and an executor that is dropped, also in the middle of an eager poll. An account of each child says
//! that it ended once and was dropped once.

use std::cell::RefCell;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::thread;

use futures_lite::future::yield_now;
use terrace_local::{LocalExecutor, LocalSpawner, Task, TaskGroup};
use terrace_testing::{Random, WakerSlot, text, watchdog};

type Group = TaskGroup<LocalSpawner, u32, u32>;
type Steps = Pin<Box<dyn Future<Output = Result<u32, u32>> + Send>>;

thread_local! {
    /// Nothing while the program drives it, so that no child drops it then.
    static EXECUTOR: RefCell<Option<LocalExecutor<'static>>> = const { RefCell::new(None) };
    /// Groups that no thread polls or drops until the executor has gone.
    static FORGOTTEN: RefCell<Vec<Group>> = const { RefCell::new(Vec::new()) };
}

/// What happened to one child.
#[derive(Debug, Default)]
struct Account {
    /// By an output or a panic.
    ended: AtomicU32,
    dropped: AtomicU32,
}

/// What the children of one program share.
struct World {
    spawner: LocalSpawner,
    accounts: Mutex<Vec<Arc<Account>>>,
    slots: Mutex<Vec<WakerSlot>>,
    handles: Mutex<Vec<Task<Result<u32, u32>>>>,
    /// A child has dropped the executor in its first poll, which leaks the executor.
    leaked: AtomicBool,
}

/// A child with its account.
struct Child {
    account: Arc<Account>,
    steps: Steps,
}

impl Child {
    fn new(world: &Arc<World>, random: Random, depth: u32) -> Self {
        let account = Arc::new(Account::default());
        world.accounts.lock().unwrap().push(account.clone());
        Self {
            account,
            steps: Box::pin(steps(world.clone(), random, depth)),
        }
    }
}

impl Future for Child {
    type Output = Result<u32, u32>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        assert_eq!(
            self.account.ended.load(Ordering::Relaxed),
            0,
            "it has ended"
        );
        assert_eq!(
            self.account.dropped.load(Ordering::Relaxed),
            0,
            "it was dropped"
        );
        let steps = self.steps.as_mut();
        let polled = catch_unwind(AssertUnwindSafe(|| steps.poll(context)));
        if !matches!(polled, Ok(Poll::Pending)) {
            self.account.ended.fetch_add(1, Ordering::Relaxed);
        }
        polled.unwrap_or_else(|payload| std::panic::resume_unwind(payload))
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.account.dropped.fetch_add(1, Ordering::Relaxed);
    }
}

/// One to three random steps, of which some have children.
async fn steps(world: Arc<World>, mut random: Random, depth: u32) -> Result<u32, u32> {
    for _ in 0..1 + random.below(3) {
        match random.below(if depth == 0 { 9 } else { 16 }) {
            0 => return Err(1),
            1 if random.once_in(4) => panic_any("random"),
            2 | 3 => yield_now().await,
            4 => {
                let slot = WakerSlot::default();
                world.slots.lock().unwrap().push(slot.clone());
                slot.pause().await;
            }
            5 if random.once_in(20) => {
                let executor = EXECUTOR.with(|executor| executor.borrow_mut().take());
                if let Some(executor) = executor {
                    world.leaked.store(true, Ordering::Relaxed);
                    drop(executor);
                }
            }
            9..12 => {
                let child = Child::new(&world, random.split(), depth - 1);
                let mut task = world.spawner.spawn_eager(child);
                match random.below(6) {
                    0 => drop(task),
                    1 => task.detach(),
                    2 => drop(task.cancel().await),
                    3 => drop(thread::spawn(move || drop(task)).join()),
                    4 => world.handles.lock().unwrap().push(task),
                    _ => match task.try_take() {
                        Some(end) => drop(end?),
                        None => drop(task.fallible().await),
                    },
                }
            }
            12 => {
                let child = Child::new(&world, random.split(), depth - 1);
                let task = world.spawner.spawn(child);
                world.handles.lock().unwrap().push(task);
            }
            13.. => group(&world, &mut random, depth).await?,
            _ => {}
        }
    }
    Ok(depth)
}

async fn group(world: &Arc<World>, random: &mut Random, depth: u32) -> Result<(), u32> {
    let mut group = Group::new(world.spawner.clone());
    for _ in 0..random.below(20) {
        let child = Child::new(world, random.split(), depth - 1);
        match random.below(4) {
            0 => group.spawn(child),
            1 => group.spawn_shielded(child),
            _ => group.spawn_eager(child),
        };
    }
    match random.below(6) {
        0 => drop(group),
        1 => FORGOTTEN.with(|groups| groups.borrow_mut().push(group)),
        2 => group.cancel().await,
        3 => drop(group.next().await),
        _ => drop(group.join_all().await?),
    }
    Ok(())
}

/// Goes on after a panic of the program's own.
fn expecting_panics(f: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(f)) {
        let text = text(&*payload);
        // A child that awaits one which went with its executor says so.
        assert!(text == "random" || text.contains("was cancelled"), "{text}");
    }
}

/// One step of the program itself, outside of its executor's tasks.
fn step(world: &Arc<World>, random: &mut Random) {
    match random.below(8) {
        0..3 => {
            let child = Child::new(world, random.split(), 3);
            let task = world.spawner.spawn_eager(child);
            world.handles.lock().unwrap().push(task);
        }
        3 => {
            let child = Child::new(world, random.split(), 3);
            world.spawner.spawn(child).detach();
        }
        4..6 => {
            let executor = EXECUTOR.with(|executor| executor.borrow_mut().take());
            if let Some(executor) = executor {
                executor.run_until_stalled();
                EXECUTOR.set(Some(executor));
            }
        }
        6 => {
            let slots = std::mem::take(&mut *world.slots.lock().unwrap());
            for slot in slots {
                let Some(waker) = slot.take() else { continue };
                if random.once_in(2) {
                    waker.wake();
                } else {
                    thread::spawn(move || waker.wake())
                        .join()
                        .expect("it wakes");
                }
            }
        }
        _ => {
            let handle = world.handles.lock().unwrap().pop();
            let Some(mut handle) = handle else { return };
            match random.below(3) {
                0 => drop(handle),
                1 => drop(thread::spawn(move || drop(handle)).join()),
                _ => expecting_panics(|| _ = handle.try_take()),
            }
        }
    }
}

/// Returns how many children there were, and whether the executor was dropped in the middle of a poll.
fn program(seed: u64) -> (usize, bool) {
    let mut random = Random::new(seed);
    let executor = LocalExecutor::new();
    let world = Arc::new(World {
        spawner: executor.spawner(),
        accounts: Mutex::default(),
        slots: Mutex::default(),
        handles: Mutex::default(),
        leaked: AtomicBool::new(false),
    });
    EXECUTOR.set(Some(executor));
    for _ in 0..40 {
        step(&world, &mut random);
    }
    drop(EXECUTOR.take());
    drop(FORGOTTEN.take());
    for handle in std::mem::take(&mut *world.handles.lock().unwrap()) {
        if random.once_in(2) {
            drop(handle);
        } else {
            let mut handle = handle.fallible();
            expecting_panics(|| _ = handle.try_take());
        }
    }
    let leaked = world.leaked.load(Ordering::Relaxed);
    let accounts = world.accounts.lock().unwrap();
    for account in &*accounts {
        let ended = account.ended.load(Ordering::Relaxed);
        let dropped = account.dropped.load(Ordering::Relaxed);
        assert!(ended <= dropped && dropped <= 1, "{account:?}");
        assert!(dropped == 1 || leaked, "{account:?}");
    }
    (accounts.len(), leaked)
}

#[test]
fn random_programs() {
    let _watchdog = watchdog();
    let mut leaks = 0;
    let mut children = 0;
    for seed in 0..150 {
        let ran = program(seed);
        children += ran.0;
        leaks += usize::from(ran.1);
    }
    assert!(children > 1_500, "{children} children");
    assert!(
        (1..50).contains(&leaks),
        "{leaks} executors dropped in a poll"
    );
}
