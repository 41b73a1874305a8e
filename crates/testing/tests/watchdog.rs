//! A test that hangs ends, and says where. Each runs in a child process, which is this program again with that test alone and a
//! limit of two seconds.

use std::process::Output;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use terrace_testing::{in_own_process, on_own_thread, show, show_static, this_program, watchdog};

/// Set in the child processes.
const CHILD: &str = "TERRACE_WATCHDOG_CHILD";
/// A child that takes longer was not ended by its watchdog after two seconds. The report by gdb takes seconds, and more on a busy
/// machine.
const PATIENCE: Duration = Duration::from_secs(150);

/// Whether this is a child process: what hangs there passes here.
fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// Runs the test called `name` in a child process, with the harness's usual capture of output.
fn child(name: &str) -> (Output, String) {
    let start = Instant::now();
    let output = this_program()
        .args([name, "--exact"])
        .env(CHILD, "1")
        .env("TERRACE_TEST_SECONDS", "2")
        // What it prints of a panic on purpose takes a part of these seconds.
        .env("RUST_BACKTRACE", "0")
        .output()
        .unwrap();
    assert!(start.elapsed() < PATIENCE, "{name} is ended late");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, text)
}

/// The test called `name` is ended, and what it says has all of `texts`.
fn is_ended(name: &str, texts: &[&str]) {
    let (output, text) = child(name);
    assert!(!output.status.success(), "{name}: {}", output.status);
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt as _;
        /// SIGABRT.
        const ABORTED: i32 = 6;
        assert_eq!(output.status.signal(), Some(ABORTED), "{name}: {text}");
    }
    for expected in texts {
        assert!(text.contains(expected), "no `{expected}` in: {text}");
    }
}

fn hang() -> ! {
    loop {
        thread::park();
    }
}

#[test]
fn hangs_on_the_thread_of_the_test() {
    if is_child() {
        let _watchdog = watchdog();
        show(&Arc::new("a value that is gone"));
        let held = Arc::new(vec![("held", 17)]);
        show(&held);
        show_static(&("static", 23));
        hang();
    }
    is_ended(
        "hangs_on_the_thread_of_the_test",
        &[
            "hangs_on_the_thread_of_the_test (",
            "tests/watchdog.rs:",
            "hangs: it has not ended after 2s",
            "is gone, or is being dropped",
            "\"held\",\n",
            "\"static\",\n",
        ],
    );
}

#[test]
fn hangs_on_a_thread_of_its_own() {
    if is_child() {
        on_own_thread(|| {
            show_static(&"shown by the thread");
            hang();
        });
    }
    let texts = ["hangs_on_a_thread_of_its_own (", "shown by the thread"];
    is_ended("hangs_on_a_thread_of_its_own", &texts);
}

/// The system lists the threads, by the first 15 bytes of their names.
#[test]
#[cfg(target_os = "linux")]
fn hangs_with_a_thread_that_has_a_name() {
    if is_child() {
        let _watchdog = watchdog();
        let thread = thread::Builder::new().name("the-named-one".to_owned());
        thread.spawn(|| hang()).unwrap().join().unwrap();
    }
    let name = "hangs_with_a_thread_that_has_a_name";
    is_ended(name, &["threads:\n", "the-named-one", "watchdog"]);
}

/// A value whose `Debug` hangs delays the end and does not prevent it.
#[test]
fn hangs_and_so_does_its_report() {
    struct Hangs;
    impl std::fmt::Debug for Hangs {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            hang()
        }
    }
    if is_child() {
        let _watchdog = watchdog();
        show_static(&Hangs);
        hang();
    }
    let name = "hangs_and_so_does_its_report";
    is_ended(name, &["what the test shows hangs, too"]);
}

/// The process in between fails, too.
#[test]
fn hangs_in_a_process_of_its_own() {
    let name = "hangs_in_a_process_of_its_own";
    if is_child() {
        in_own_process(name, || hang());
        unreachable!("the process in between has failed");
    }
    let (output, _) = child(name);
    // The message of its panic has what the other process wrote.
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(101), "{text}");
    assert!(text.contains(&format!("{name} (")), "{text}");
    assert!(text.contains("hangs: it has not ended after 2s"), "{text}");
}

/// The watch ends with its guard: a test that ends in time may be followed by others.
#[test]
fn ends_in_time() {
    if is_child() {
        drop(watchdog());
        assert_eq!(on_own_thread(|| 5), 5);
        let payload = std::panic::catch_unwind(|| on_own_thread(|| panic!("on purpose")));
        assert_eq!(terrace_testing::text(&*payload.unwrap_err()), "on purpose");
        thread::sleep(Duration::from_millis(2500));
        return;
    }
    let (output, text) = child("ends_in_time");
    assert!(output.status.success(), "{}: {text}", output.status);
    in_own_process("ends_in_time", || {});
}
