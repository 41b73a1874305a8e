//! Programs that must not compile, each beside one that does.
//!
//! A [`Driver`](crate::Driver) is declared before its [`Idle`](crate::Idle), and behind it:
//!
//! ```compile_fail,E0597
//! let driver;
//! let idle = terrace_park::Idle::new(0);
//! driver = idle.driver();
//! ```
//!
//! ```
//! let idle = terrace_park::Idle::new(0);
//! let driver = idle.driver();
//! ```
//!
//! A driver outlives its `Idle`, which is dropped or moved away:
//!
//! ```compile_fail,E0505
//! let idle = terrace_park::Idle::new(0);
//! let mut driver = idle.driver();
//! drop(idle);
//! driver.wake();
//! ```
//!
//! ```compile_fail,E0505
//! let idle = terrace_park::Idle::new(0);
//! let driver = idle.driver();
//! let moved = Box::new(idle);
//! ```
//!
//! A driver's destructor reads its sibling, the `Idle` that is dropped before it:
//!
//! ```compile_fail,E0597
//! let (mut driver, idle) = (None, terrace_park::Idle::new(0));
//! driver = Some(idle.driver());
//! ```
//!
//! ```
//! let (idle, mut driver) = (terrace_park::Idle::new(0), None);
//! driver = Some(idle.driver());
//! ```
//!
//! A driver's lifetime may be made shorter, not longer:
//!
//! ```
//! use terrace_park::Driver;
//! fn shorter<'a, 'b: 'a>(driver: Driver<'b>) -> Driver<'a> { driver }
//! ```
//!
//! ```compile_fail
//! use terrace_park::Driver;
//! fn longer<'a, 'b: 'a>(driver: Driver<'a>) -> Driver<'b> { driver }
//! ```
//!
//! A driver has one user at a time, and a [`Parker`](crate::Parker) one thread:
//!
//! ```compile_fail,E0499
//! let idle = terrace_park::Idle::new(0);
//! let mut driver = idle.driver();
//! let (one, other) = (&mut driver, &mut driver);
//! one.wake() || other.wake();
//! ```
//!
//! ```compile_fail,E0277
//! let parker = terrace_park::Parker::new();
//! std::thread::spawn(move || parker.park());
//! ```
