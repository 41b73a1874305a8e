//! Models of a single-thread executor's queues, sleep and end, with tokens for runnables.

use std::ptr::NonNull;
use std::task::{Wake, Waker};

use terrace_local::OnOwner;
use terrace_local::mailbox::{Driver, Mailbox, Queueable};
use terrace_local::registry::{Register, Registry};
use terrace_loom_tests::{Item, Ledger, assert_each_once};
use terrace_park::{Parker, Unparker};
use terrace_queue::Node;
use terrace_sync::atomic::{AtomicBool, Ordering};
use terrace_sync::cell::UnsafeCell;
use terrace_sync::{Arc, model, thread};

/// The waker of a driver: wakes the owner's thread.
struct Bell(Unparker);

impl Wake for Bell {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.unpark();
    }
}

fn bell(parker: &Parker) -> Waker {
    std::sync::Arc::new(Bell(parker.unparker())).into()
}

/// The owner's side of a mailbox. In each model one thread calls this.
fn owned<R: Queueable>(mailbox: &Mailbox<R>) -> OnOwner<'_, Mailbox<R>> {
    // SAFETY: the thread that calls this is the owner in its model.
    unsafe { OnOwner::assume(mailbox) }
}

/// A driver of the model's mailbox, on the owner's thread.
fn driver<R: Queueable>(mailbox: &Mailbox<R>) -> Driver<'_, R> {
    Driver::new(owned(mailbox))
}

/// A runnable that is a number.
type Token = Box<Node<u32>>;

/// Drives until `count` tokens have come. The model deadlocks if a wake is lost.
fn drive(driver: &mut Driver<'_, Token>, parker: &Parker, count: usize) -> Vec<u32> {
    let waker = bell(parker);
    let mut taken = Vec::new();
    while taken.len() < count {
        driver.wake_up();
        match driver.take_or_sleep(&waker) {
            Some(token) => taken.push(token.value),
            None => parker.park(),
        }
    }
    taken
}

/// As `CoreOf::schedule_remote`, of a mailbox that its caller keeps in place.
fn push_remote<R: Queueable>(mailbox: &Mailbox<R>, runnable: R) {
    // SAFETY: the borrow keeps the mailbox in place.
    unsafe { Mailbox::push_and_leave(NonNull::from(mailbox), runnable, || ()) };
    mailbox.wake_sleeper();
}

/// Two threads wake tasks of an executor whose only driver runs dry and sleeps: it gets both.
///
/// Fails under: `local-push-fence`, `local-sleep-fence`, `local-sleep-look`.
#[test]
fn local_remote_wake() {
    model(|| {
        let mailbox = Arc::new(Mailbox::default());
        let wakers: Vec<_> = (0..2)
            .map(|token| {
                let mailbox = mailbox.clone();
                thread::spawn(move || push_remote(&mailbox, Node::boxed(token)))
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

/// Two drivers sleep, one push wakes the one that fell asleep last, and that one is dropped: the other gets the item.
///
/// Fails under: `local-pass-on`, `local-wake-up-acquire` (the first sees its wake and not the item).
#[test]
fn local_dropped_driver_passes_on() {
    model(|| {
        let mailbox = Arc::new(Mailbox::default());
        let parker = Parker::new();
        let mut first = driver(&mailbox);
        let mut second = driver(&mailbox);
        assert!(second.take_or_sleep(&bell(&parker)).is_none());
        assert!(first.take_or_sleep(Waker::noop()).is_none());
        let waker = {
            let mailbox = mailbox.clone();
            thread::spawn(move || push_remote(&mailbox, Node::boxed(0)))
        };
        drop(first);
        // The model does not poll the second driver before it is woken.
        parker.park();
        assert_eq!(drive(&mut second, &parker, 1), [0]);
        drop(second);
        waker.join().unwrap();
    });
}

/// A spawn from another thread while the executor closes: the closing thread drops the task, or the spawner does, and
/// nothing is left behind.
///
/// Fails under: `local-spawn-fence`, `local-close-fence`, `local-drain-in-flight`,
/// `local-in-flight-acquire`.
#[test]
fn local_spawn_against_close() {
    model(|| {
        let ledger = Ledger::new(1);
        let mailbox: Arc<Mailbox<Box<Node<Item>>>> = Arc::new(Mailbox::default());
        // The owner is the second thread here: fewer switches then lead to the interleavings that matter.
        let owner = {
            let mailbox = mailbox.clone();
            thread::spawn(move || {
                mailbox.close();
                while owned(&mailbox).drain(drop) {}
            })
        };
        drop(mailbox.spawn_remote(Node::boxed(ledger.item(0))));
        owner.join().unwrap();
        ledger.assert_all_dropped_once();
    });
}

/// A driver goes while another thread walks the wait list: the owner does not free the node that the walker looks at.
///
/// Fails under: `local-free-walked`, `local-walk-enter-acquire`, `local-walk-leave-release`.
#[test]
fn local_walked_node_is_kept() {
    model(|| {
        let mailbox: Arc<Mailbox<Token>> = Arc::new(Mailbox::default());
        let mut first = driver(&mailbox);
        assert!(first.take_or_sleep(Waker::noop()).is_none());
        let waker = {
            let mailbox = mailbox.clone();
            thread::spawn(move || push_remote(&mailbox, Node::boxed(0)))
        };
        drop(first);
        waker.join().unwrap();
        let token = owned(&mailbox).pop();
        assert_eq!(token.map(|token| token.value), Some(0));
    });
}

/// A task cell in miniature: pending, registered, and queued at most once.
struct Cell {
    scheduled: AtomicBool,
    mailbox: Arc<Mailbox<Task>>,
    ledger: Ledger,
}

/// Its runnable.
type Task = Box<Node<std::sync::Arc<Cell>>>;

impl Wake for Cell {
    fn wake(self: std::sync::Arc<Self>) {
        // Ordering: AcqRel, as in async-task's cell: it stands for the handshake between wakes and
        // the next run.
        if !self.scheduled.swap(true, Ordering::AcqRel) {
            let mailbox = self.mailbox.clone();
            push_remote(&mailbox, Node::boxed(self));
        }
    }
}

/// The owner drops an executor while another thread wakes one of its tasks. The drop gets the task back, by its own
/// wake or by the other thread's, and drops it. Nothing arrives afterwards.
///
/// Fails under: `local-close-registry` (the other thread has marked the task and not pushed it yet).
#[test]
fn local_wake_against_drop() {
    model(|| {
        let ledger = Ledger::new(1);
        let registry = Registry::default();
        let mailbox: Arc<Mailbox<Task>> = Arc::new(Mailbox::default());
        let cell = std::sync::Arc::new(Cell {
            scheduled: AtomicBool::new(false),
            mailbox: mailbox.clone(),
            ledger: ledger.clone(),
        });
        // SAFETY: stands for a poll of the task.
        let key = unsafe { registry.insert(&cell.clone().into()) };
        let waker = thread::spawn(move || Waker::from(cell).wake());
        mailbox.close();
        registry.close(|| {
            let drop_task = |task: Task| {
                drop(task.value.ledger.item(0));
                // SAFETY: stands for the drop of the task's future.
                drop(unsafe { registry.remove(key) });
            };
            owned(&mailbox).drain(drop_task)
        });
        ledger.assert_all_dropped_once();
        waker.join().unwrap();
        let late = owned(&mailbox).pop();
        assert!(late.is_none(), "a task arrived after the drop");
    });
}

/// An executor's core: a mailbox, and a cell that stands for the memory of both.
struct Core {
    mailbox: Mailbox<Box<Node<std::sync::Arc<Borrower>>>>,
    memory: UnsafeCell<()>,
}

// SAFETY: a thread that may use the core looks at the memory, and the freeing thread takes it: loom fails if both can
// meet.
unsafe impl Send for Core {}
// SAFETY: see `Send`: loom watches shared uses of the memory, too.
unsafe impl Sync for Core {}

/// A task that refers to its core without counting.
struct Borrower {
    scheduled: AtomicBool,
    core: Arc<Core>,
}

impl Wake for Borrower {
    fn wake(self: std::sync::Arc<Self>) {
        // Ordering: AcqRel, as in async-task's cell: it stands for the handshake between wakes and
        // the next run.
        if self.scheduled.swap(true, Ordering::AcqRel) {
            return;
        }
        // The count is the model's own; a push goes by the pointer.
        let core = self.core.clone();
        let mailbox = NonNull::from(&core.mailbox);
        // SAFETY: `core` keeps it in place to the end of this call.
        unsafe {
            Mailbox::push_and_leave(mailbox, Node::boxed(self), || core.memory.with(|_| ()));
        }
    }
}

/// Another thread wakes a task while the owner closes and frees the executor at once, though no reference is counted.
/// The last touch of the push comes before the free.
///
/// Fails under: `local-leave-early`, `local-in-flight-release`.
#[test]
fn local_close_then_free() {
    model(|| {
        let registry = Registry::default();
        let core = Arc::new(Core {
            mailbox: Mailbox::default(),
            memory: UnsafeCell::new(()),
        });
        let task = std::sync::Arc::new(Borrower {
            scheduled: AtomicBool::new(false),
            core: core.clone(),
        });
        // SAFETY: stands for a poll of the task.
        let key = unsafe { registry.insert(&task.clone().into()) };
        let waker = thread::spawn(move || Waker::from(task).wake());
        core.mailbox.close();
        let remove = || {
            // SAFETY: stands for the drop of the task's future, on the owner's thread.
            unsafe { registry.remove(key) }
        };
        registry.close(|| owned(&core.mailbox).drain(|_| drop(remove())));
        // This stands for the free of the core.
        core.memory.with_mut(|_| ());
        waker.join().unwrap();
    });
}
