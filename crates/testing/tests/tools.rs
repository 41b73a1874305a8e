//! The tools do what their names say.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll};

use terrace_testing::{
    CountingAllocator, Drops, Homebody, Random, WakerSlot, Wakes, Yields, allocations, payload_of,
    poll_once, signal, text, text_of,
};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

#[test]
fn allocations_of_this_thread_are_counted() {
    let before = allocations();
    let boxed = std::hint::black_box(Box::new(1));
    std::thread::scope(|scope| {
        scope.spawn(|| drop(std::hint::black_box(vec![1_u8; 100])));
    });
    let with_thread = allocations() - before;
    drop(boxed);
    assert!(with_thread >= 1);
    let before = allocations();
    drop(std::hint::black_box(Box::new(1)));
    assert_eq!(allocations() - before, 1);
}

#[test]
fn a_future_yields_and_wakes_itself_each_time() {
    let wakes = Wakes::new();
    let waker = wakes.waker();
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(Yields(2));
    for expected in [1, 2] {
        assert!(future.as_mut().poll(&mut context).is_pending());
        assert_eq!(wakes.count(), expected);
    }
    assert!(future.as_mut().poll(&mut context).is_ready());
    assert_eq!(wakes.count(), 2);
    waker.wake();
    assert_eq!(wakes.count(), 3);
}

#[test]
fn a_signal_wakes_its_future() {
    let wakes = Wakes::new();
    let waker = wakes.waker();
    let mut context = Context::from_waker(&waker);
    let (future, signal) = signal();
    let mut future = pin!(future);
    assert!(future.as_mut().poll(&mut context).is_pending());
    signal.set();
    assert_eq!(wakes.count(), 1);
    assert_eq!(poll_once(future.as_mut()), Poll::Ready(()));
}

#[test]
fn a_slot_has_the_waker_of_who_waits() {
    let wakes = Wakes::new();
    let waker = wakes.waker();
    let slot = WakerSlot::default();
    let mut future = pin!(slot.pause());
    let mut context = Context::from_waker(&waker);
    assert!(future.as_mut().poll(&mut context).is_pending());
    slot.waker().wake();
    assert!(slot.take().is_none());
    assert_eq!(wakes.count(), 1);
    assert!(future.as_mut().poll(&mut context).is_ready());
    let mut hangs = pin!(slot.clone().forever::<()>());
    for _ in 0..2 {
        assert!(hangs.as_mut().poll(&mut context).is_pending());
        assert!(slot.take().is_some());
    }
}

#[test]
fn drops_are_counted() {
    let drops = Drops::new();
    let kept = drops.value();
    drop(drops.value());
    assert_eq!(drops.count(), 1);
    drop(kept);
    assert_eq!(drops.count(), 2);
    Homebody::new().check();
}

#[test]
fn a_panic_has_a_text() {
    assert_eq!(text_of(|| panic!("a literal")), "a literal");
    let number = 3;
    assert_eq!(
        text(&*payload_of(|| panic!("formatted {number}"))),
        "formatted 3"
    );
    let other = payload_of(|| std::panic::panic_any(3));
    assert_eq!(text(&*other), "not a text");
}

#[test]
fn random_numbers_are_the_same_on_every_run() {
    let numbers = |seed| {
        let mut random = Random::new(seed);
        [(); 8].map(|()| random.below(1_000))
    };
    assert_eq!(numbers(1), numbers(1));
    assert_ne!(numbers(1), numbers(2));
    let mut random = Random::new(0);
    // The first output of SplitMix64 for seed 0, as published with its reference implementation.
    assert_eq!(random.number(), 0xE220_A839_7B1D_CDAF);
    let other = random.split().number();
    assert_ne!(other, random.number());
    assert!((0..100).all(|_| random.once_in(1)));
    assert!([4, 5].contains(&random.of(&[4, 5])));
    assert!(random.micros(10).as_micros() < 10);
}
