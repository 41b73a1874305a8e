//! One thread's place to sleep.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle, Thread};

use event_listener::{Event, Listener as _};
use terrace_park::Parker;

/// A place where one thread sleeps, and the handle that wakes it. A wake is kept until the next sleep.
pub trait Park: 'static {
    /// Its name in rows.
    const NAME: &'static str;
    /// Wakes.
    type Waker: Send + 'static;

    /// Made on the thread that will park.
    fn new() -> Self;

    /// A handle for another thread.
    fn waker(&self) -> Self::Waker;

    /// Sleeps until woken.
    fn park(&self);

    /// Wakes the thread.
    fn unpark(waker: &Self::Waker);
}

impl Park for Parker {
    const NAME: &'static str = "parker";
    type Waker = terrace_park::Unparker;

    fn new() -> Self {
        Parker::new()
    }

    fn waker(&self) -> Self::Waker {
        self.unparker()
    }

    fn park(&self) {
        self.park();
    }

    fn unpark(waker: &Self::Waker) {
        waker.unpark();
    }
}

/// crossbeam's parker.
pub struct Crossbeam(crossbeam_utils::sync::Parker);

impl Park for Crossbeam {
    const NAME: &'static str = "crossbeam";
    type Waker = crossbeam_utils::sync::Unparker;

    fn new() -> Self {
        Self(crossbeam_utils::sync::Parker::new())
    }

    fn waker(&self) -> Self::Waker {
        self.0.unparker().clone()
    }

    fn park(&self) {
        self.0.park();
    }

    fn unpark(waker: &Self::Waker) {
        waker.unpark();
    }
}

/// The standard library's parking of the current thread.
pub struct Std;

impl Park for Std {
    const NAME: &'static str = "std";
    type Waker = Thread;

    fn new() -> Self {
        Std
    }

    fn waker(&self) -> Thread {
        thread::current()
    }

    fn park(&self) {
        thread::park();
    }

    fn unpark(waker: &Thread) {
        waker.unpark();
    }
}

/// `event-listener`, with the flag that an event needs beside it.
pub struct Listener(Arc<Flagged>);

/// An event and whether it has happened.
pub struct Flagged {
    set: AtomicBool,
    event: Event,
}

impl Park for Listener {
    const NAME: &'static str = "event_listener";
    type Waker = Arc<Flagged>;

    fn new() -> Self {
        Self(Arc::new(Flagged {
            set: AtomicBool::new(false),
            event: Event::new(),
        }))
    }

    fn waker(&self) -> Arc<Flagged> {
        Arc::clone(&self.0)
    }

    fn park(&self) {
        // Ordering: Acquire, pairs with the store in `unpark`; `listen` fences before the second look.
        while !self.0.set.swap(false, Ordering::Acquire) {
            let listener = self.0.event.listen();
            if self.0.set.swap(false, Ordering::Acquire) {
                break;
            }
            listener.wait();
        }
    }

    fn unpark(waker: &Arc<Flagged>) {
        // Ordering: Release, pairs with the swaps in `park`; `notify` fences before it looks for listeners.
        waker.set.store(true, Ordering::Release);
        waker.event.notify(1);
    }
}

/// The wake comes before the sleep: no system call.
pub fn unpark_then_park<P: Park>() -> impl FnMut() {
    let parker = P::new();
    let waker = parker.waker();
    move || {
        P::unpark(&waker);
        parker.park();
    }
}

/// Two threads wake each other in turn; an iteration is there and back.
pub fn ping_pong<P: Park>() -> impl FnMut() {
    let partner = Partner::<P>::new();
    move || {
        P::unpark(&partner.wake);
        partner.here.park();
    }
}

/// A thread that answers each wake by one; ended on drop.
struct Partner<P: Park> {
    here: P,
    wake: P::Waker,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl<P: Park> Partner<P> {
    fn new() -> Self {
        let here = P::new();
        let back = here.waker();
        let over = Arc::new(AtomicBool::new(false));
        let (give, take) = mpsc::channel();
        let thread = {
            let over = Arc::clone(&over);
            thread::spawn(move || {
                let there = P::new();
                give.send(there.waker()).expect("the row waits for it");
                loop {
                    there.park();
                    if over.load(Ordering::Relaxed) {
                        break;
                    }
                    P::unpark(&back);
                }
            })
        };
        Self {
            here,
            wake: take.recv().expect("the thread sends it first"),
            over,
            thread: Some(thread),
        }
    }
}

impl<P: Park> Drop for Partner<P> {
    fn drop(&mut self) {
        // The wake orders it.
        self.over.store(true, Ordering::Relaxed);
        P::unpark(&self.wake);
        let thread = self.thread.take().expect("joined once");
        thread.join().expect("a bench thread panicked");
    }
}
