//! Models of a single-thread executor's queues, sleep and end, with tokens for runnables.

use std::task::{Wake, Waker};

use terrace_local::driver::Driver;
use terrace_local::mailbox::Mailbox;
use terrace_local::registry::{Register, Registry};
use terrace_loom_tests::{Ledger, assert_each_once};
use terrace_park::{Parker, Unparker};
use terrace_sync::atomic::{AtomicBool, Ordering};
use terrace_sync::{Arc, model, thread};

/// What drives a driver: wakes the owner's thread.
struct Bell(Unparker);

impl Wake for Bell {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.unpark();
    }
}

fn bell(parker: &Parker) -> Waker {
    std::sync::Arc::new(Bell(parker.unparker())).into()
}

/// A driver of the model's mailbox on the model's first thread, the owner.
fn driver<R>(mailbox: &Mailbox<R>) -> Driver<'_, R> {
    // SAFETY: called by the owner.
    unsafe { Driver::new(mailbox) }
}

/// Drives until `count` tokens have come; deadlocks if a wake is lost.
fn drive(driver: &mut Driver<'_, u32>, parker: &Parker, count: usize) -> Vec<u32> {
    let waker = bell(parker);
    let mut taken = Vec::new();
    while taken.len() < count {
        driver.wake_up();
        match driver.take_or_sleep(&waker) {
            Some(token) => taken.push(token),
            None => parker.park(),
        }
    }
    taken
}

/// Two threads wake tasks of an executor whose only driver runs dry and sleeps: it gets both.
///
/// Fails under: `local-push-fence`, `local-sleep-fence`, `local-sleep-look`, `local-sleep-look-at-hint` (the inbox
/// announces an item before it can be taken: a driver that went by the announcement would neither get the item nor
/// be asleep when the push looks for a sleeper).
#[test]
fn local_foreign_wake() {
    model(|| {
        let mailbox = Arc::new(Mailbox::new());
        let wakers: Vec<_> = (0..2)
            .map(|token| {
                let mailbox = mailbox.clone();
                thread::spawn(move || mailbox.push_foreign(token))
            })
            .collect();
        let parker = Parker::new();
        let taken = drive(&mut driver(&mailbox), &parker, 2);
        assert_each_once(taken, 2);
        for waker in wakers {
            waker.join().unwrap();
        }
    });
}

/// Two drivers sleep, one push wakes the one that has slept longest, and that one is dropped: the other gets the item.
///
/// Fails under: `local-pass-on`.
#[test]
fn local_dropped_driver_passes_on() {
    model(|| {
        let mailbox = Arc::new(Mailbox::new());
        let parker = Parker::new();
        let mut first = driver(&mailbox);
        let mut second = driver(&mailbox);
        assert_eq!(first.take_or_sleep(Waker::noop()), None);
        assert_eq!(second.take_or_sleep(&bell(&parker)), None);
        let waker = {
            let mailbox = mailbox.clone();
            thread::spawn(move || mailbox.push_foreign(0))
        };
        drop(first);
        // Nobody polls it before it is woken.
        parker.park();
        assert_eq!(drive(&mut second, &parker, 1), [0]);
        drop(second);
        waker.join().unwrap();
    });
}

/// A spawn from another thread while the executor closes: the closing thread drops the task, or the spawner does, and
/// nothing is left behind.
///
/// Fails under: `local-spawn-fence`, `local-close-fence`, `local-drain-in-flight`, `local-in-flight-release`,
/// `local-in-flight-acquire`.
#[test]
fn local_spawn_against_close() {
    model(|| {
        let ledger = Ledger::new(1);
        let mailbox = Arc::new(Mailbox::new());
        // The owner is the second thread here: fewer switches then lead to the interleavings that matter.
        let owner = {
            let mailbox = mailbox.clone();
            thread::spawn(move || {
                mailbox.close();
                // SAFETY: this thread is the owner.
                while unsafe { mailbox.drain(drop) } {}
            })
        };
        drop(mailbox.spawn_foreign(ledger.item(0)));
        owner.join().unwrap();
        ledger.assert_all_dropped_once();
    });
}

/// A task cell in miniature: pending, registered, and queued at most once.
struct Cell {
    scheduled: AtomicBool,
    mailbox: Arc<Mailbox<Token>>,
    ledger: Ledger,
}

/// Its runnable.
struct Token(std::sync::Arc<Cell>);

impl Wake for Cell {
    fn wake(self: std::sync::Arc<Self>) {
        // Ordering: AcqRel as async-task's.
        if !self.scheduled.swap(true, Ordering::AcqRel) {
            let mailbox = self.mailbox.clone();
            mailbox.push_foreign(Token(self));
        }
    }
}

/// An executor is dropped while another thread wakes one of its tasks: the drop gets the task back, by its own wake or
/// by the other's, and drops it. Nothing arrives afterwards.
///
/// Fails under: `local-close-registry` (the other thread has marked the task and not pushed it yet).
#[test]
fn local_wake_against_drop() {
    model(|| {
        let ledger = Ledger::new(1);
        let registry = Registry::new();
        let mailbox: Arc<Mailbox<Token>> = Arc::new(Mailbox::new());
        let cell = std::sync::Arc::new(Cell {
            scheduled: AtomicBool::new(false),
            mailbox: mailbox.clone(),
            ledger: ledger.clone(),
        });
        // SAFETY: stands for a poll of the task.
        let key = unsafe { registry.insert(cell.clone().into()) };
        let waker = thread::spawn(move || Waker::from(cell).wake());
        mailbox.close();
        registry.close(|| {
            let drop_task = |Token(cell): Token| {
                drop(cell.ledger.item(0));
                // SAFETY: stands for the drop of the task's future.
                drop(unsafe { registry.remove(key) });
            };
            // SAFETY: this thread is the owner.
            unsafe { mailbox.drain(drop_task) }
        });
        ledger.assert_all_dropped_once();
        waker.join().unwrap();
        // SAFETY: as above.
        let late = unsafe { mailbox.pop() };
        assert!(late.is_none(), "a task arrived after the drop");
    });
}
