//! Models of a list of drivers of which a push wakes all.

use std::task::{Wake, Waker};

use terrace_local::OnOwner;
use terrace_local::wait_list::{WaitList, Waiter};
use terrace_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use terrace_sync::{Arc, model, thread};

/// Notes that it was called.
#[derive(Default)]
struct Bell(AtomicBool);

impl Wake for Bell {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Two drivers of one thread fall asleep while another thread pushes: each sees the item, or is woken.
///
/// Fails under: `local-wake-all-fence`, `local-wake-all-stops`.
#[test]
fn local_push_wakes_all() {
    model(|| {
        let list = Arc::new(WaitList::default());
        let items = Arc::new(AtomicUsize::new(0));
        let pushes = {
            let (list, items) = (list.clone(), items.clone());
            thread::spawn(move || {
                items.store(1, Ordering::Relaxed);
                list.wake_all();
            })
        };
        // SAFETY: this thread alone has drivers.
        let owned = unsafe { OnOwner::assume(&*list) };
        let bells = [(); 2].map(|()| std::sync::Arc::new(Bell::default()));
        let mut waiters = [(); 2].map(|()| Waiter::new(owned));
        let mut asleep = Vec::new();
        for (waiter, bell) in waiters.iter_mut().zip(&bells) {
            let found = || items.load(Ordering::Relaxed) == 1;
            if waiter.sleep_unless(&Waker::from(bell.clone()), found) {
                asleep.push(bell);
            }
        }
        pushes.join().unwrap();
        assert!(asleep.iter().all(|bell| bell.0.load(Ordering::Relaxed)));
    });
}

/// One of the drivers goes while a push wakes all: the list frees no waker that the pusher calls.
#[test]
fn local_driver_goes_beside_a_push() {
    model(|| {
        let list = Arc::new(WaitList::default());
        let pushes = {
            let list = list.clone();
            thread::spawn(move || list.wake_all())
        };
        // SAFETY: this thread alone has drivers.
        let owned = unsafe { OnOwner::assume(&*list) };
        let bell = std::sync::Arc::new(Bell::default());
        let [mut stays, mut goes] = [(); 2].map(|()| Waiter::new(owned));
        let waker = Waker::from(bell);
        assert!(stays.sleep_unless(&waker, || false));
        assert!(goes.sleep_unless(&waker, || false));
        drop(goes);
        pushes.join().unwrap();
    });
}
