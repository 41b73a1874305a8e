//! The state of a process with one cell: the executor, the progress so far, and the watchdog.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use terrace_executor::Executor;
use terrace_testing::sole;

/// The exit code of a process whose cell hangs.
pub(crate) const HANGS: i32 = 3;
/// How long a cell may take, in seconds; most take some hundredths.
const PATIENCE: u64 = 20;
/// The variable that says something else.
const PATIENCE_VARIABLE: &str = "TERRACE_CELL_SECONDS";

static EXECUTOR: Mutex<Option<Arc<Executor<'static>>>> = Mutex::new(None);
/// For the watchdog.
static WATCHED: Mutex<Weak<Executor<'static>>> = Mutex::new(Weak::new());
static STAGE: Mutex<&str> = Mutex::new("starts");
static FAULT: Mutex<Option<String>> = Mutex::new(None);
static REFUSED: Mutex<Option<String>> = Mutex::new(None);
static ARMED: AtomicBool = AtomicBool::new(false);
static LIVE: AtomicUsize = AtomicUsize::new(0);

/// The executor is there for all to use.
pub(crate) static READY: Signal = Signal::new();
/// The code under test has been reached.
pub(crate) static REACHED: Signal = Signal::new();
/// It has done what it was to do.
pub(crate) static ACTED: Signal = Signal::new();
/// The threads that wait for the end of the cell may end.
pub(crate) static DONE: Signal = Signal::new();

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Is set once; threads and futures wait for it.
#[derive(Default)]
pub(crate) struct Signal {
    state: Mutex<State>,
    set: Condvar,
}

#[derive(Default)]
struct State {
    is_set: bool,
    wakers: Vec<Waker>,
}

impl Signal {
    pub(crate) const fn new() -> Self {
        Self {
            state: Mutex::new(State {
                is_set: false,
                wakers: Vec::new(),
            }),
            set: Condvar::new(),
        }
    }

    pub(crate) fn set(&self) {
        let wakers = {
            let mut state = lock(&self.state);
            state.is_set = true;
            std::mem::take(&mut state.wakers)
        };
        self.set.notify_all();
        wakers.into_iter().for_each(Waker::wake);
    }

    pub(crate) fn is_set(&self) -> bool {
        lock(&self.state).is_set
    }

    /// Blocks the thread, without a layer of ours.
    pub(crate) fn block(&self) {
        let state = lock(&self.state);
        let set = self.set.wait_while(state, |state| !state.is_set);
        drop(set);
    }

    pub(crate) fn wait(&self) -> impl Future<Output = ()> + Send + '_ {
        Waiting(self)
    }
}

struct Waiting<'a>(&'a Signal);

impl Future for Waiting<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = lock(&self.0.state);
        if state.is_set {
            return Poll::Ready(());
        }
        state.wakers.push(context.waker().clone());
        Poll::Pending
    }
}

/// The values that must have been dropped at the end.
pub(crate) struct Token(());

impl Token {
    pub(crate) fn new() -> Self {
        LIVE.fetch_add(1, Ordering::SeqCst);
        Self(())
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        LIVE.fetch_sub(1, Ordering::SeqCst);
    }
}

pub(crate) fn live() -> usize {
    LIVE.load(Ordering::SeqCst)
}

/// From now on the next thread that comes to the site acts.
pub(crate) fn arm() {
    ARMED.store(true, Ordering::SeqCst);
}

/// Whether it is the caller's to act: true once.
pub(crate) fn disarm() -> bool {
    ARMED.swap(false, Ordering::SeqCst)
}

pub(crate) fn put(executor: Executor<'static>) {
    let executor = Arc::new(executor);
    *lock(&WATCHED) = Arc::downgrade(&executor);
    *lock(&EXECUTOR) = Some(executor);
    READY.set();
}

/// The executor, to be used for a moment.
pub(crate) fn executor() -> Arc<Executor<'static>> {
    Arc::clone(lock(&EXECUTOR).as_ref().expect("it is there"))
}

/// Drops the last reference to the executor, once it is the last.
pub(crate) fn drop_executor() {
    let executor = lock(&EXECUTOR).take().expect("it is there");
    drop(sole(executor));
}

/// The process's present step, for the watchdog.
pub(crate) fn stage(text: &'static str) {
    *lock(&STAGE) = text;
}

/// Records that an assertion does not hold.
pub(crate) fn fault(text: String) {
    lock(&FAULT).get_or_insert(text);
}

pub(crate) fn refused(text: String) {
    *lock(&REFUSED) = Some(text);
}

/// Ends the process that has run its cell to the end.
pub(crate) fn report() -> ! {
    if let Some(fault) = lock(&FAULT).take() {
        eprintln!("{fault}");
        std::process::exit(1);
    }
    match lock(&REFUSED).take() {
        Some(text) => println!("refused: {text}"),
        None => println!("completes"),
    }
    std::process::exit(0);
}

/// How long a cell may take.
pub(crate) fn patience() -> Duration {
    let seconds = std::env::var(PATIENCE_VARIABLE).ok();
    let seconds = seconds.map(|text| text.parse().expect("a whole number of seconds"));
    Duration::from_secs(seconds.unwrap_or(PATIENCE))
}

/// Ends the process if it does not end by itself, and says what is known of it.
pub(crate) fn watch(cell: String) {
    thread::spawn(move || {
        thread::sleep(patience());
        let stage = *lock(&STAGE);
        eprintln!("{cell} hangs: the process {stage}");
        // This does not drop it: its end might wait for the thread that hangs.
        match lock(&WATCHED).upgrade().map(std::mem::ManuallyDrop::new) {
            Some(executor) => eprintln!("{:#?}", **executor),
            None => eprintln!("the executor is being dropped, or was"),
        }
        std::process::exit(HANGS);
    });
}
