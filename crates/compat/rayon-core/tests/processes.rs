//! What is decided for a whole process. Each test starts this program again.

use std::cell::Cell;
use std::io::pipe;
use std::panic::resume_unwind;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use rayon_core::ThreadPoolBuilder;
use terrace_testing::{succeeds, this_program, watchdog};

/// Set in a process that a test has started.
const STARTED: &str = "RAYON_CORE_TEST_STARTED";

fn is_started() -> bool {
    std::env::var_os(STARTED).is_some()
}

/// The test called `name` alone, in a process of its own.
fn started(name: &str) -> Command {
    let mut command = this_program();
    command.args([name, "--exact", "--nocapture"]);
    command.env(STARTED, "1");
    command
}

/// The test has closed the pipe into which the process writes what it says about the panic.
#[test]
fn a_panic_that_no_handler_gets_ends_the_process() {
    if is_started() {
        let pool = ThreadPoolBuilder::new().num_threads(1).build();
        let pool = pool.expect("the thread starts");
        pool.spawn(|| resume_unwind(Box::new(())));
        // It runs after the job.
        pool.install(|| ());
        return;
    }
    let (reader, writer) = pipe().expect("the system has a pipe");
    drop(reader);
    let mut process = started("a_panic_that_no_handler_gets_ends_the_process");
    let ended = process.stdout(Stdio::null()).stderr(writer).status();
    let ended = ended.expect("a process can be started");
    assert!(!ended.success());
}

/// The program has asked for the stacks of its threads: so calls run on these, and not on the stack of the caller.
#[test]
fn a_call_runs_on_a_thread_whose_stack_the_environment_sets() {
    if !is_started() {
        let name = "a_call_runs_on_a_thread_whose_stack_the_environment_sets";
        return succeeds(name, started(name).env("RUST_MIN_STACK", "8388608"));
    }
    let _watchdog = watchdog();
    thread_local! {
        static IS_CALLER: Cell<bool> = const { Cell::new(false) };
    }
    IS_CALLER.set(true);
    for _ in 0..200 {
        // So that a thread of the pool sleeps.
        thread::sleep(Duration::from_micros(100));
        assert!(!rayon_core::join(|| IS_CALLER.get(), || ()).0);
    }
}

/// What a program says of the threads of its global pool is for calls from outside, too: so these run on such threads. Where it says
/// nothing, some run in the place of a thread that sleeps.
#[test]
fn a_call_runs_on_a_thread_of_which_the_program_has_said_something() {
    const SAID: &str = "RAYON_CORE_TEST_SAID";
    if !is_started() {
        let name = "a_call_runs_on_a_thread_of_which_the_program_has_said_something";
        for said in ["nothing", "name", "stack", "start", "exit", "spawn"] {
            succeeds(said, started(name).env(SAID, said));
        }
        return;
    }
    let _watchdog = watchdog();
    let builder = ThreadPoolBuilder::new().num_threads(2);
    let said = std::env::var(SAID).expect("the test says it");
    let made = match said.as_str() {
        "name" => builder.thread_name(|_| "named".to_owned()).build_global(),
        "stack" => builder.stack_size(1 << 20).build_global(),
        "start" => builder.start_handler(|_| ()).build_global(),
        "exit" => builder.exit_handler(|_| ()).build_global(),
        "spawn" => {
            let spawn = |thread: rayon_core::ThreadBuilder| {
                thread::spawn(|| thread.run());
                Ok(())
            };
            builder.spawn_handler(spawn).build_global()
        }
        _ => builder.build_global(),
    };
    made.expect("no other test has made it");
    let caller = thread::current().id();
    let in_place = (0..1_000).any(|_| {
        // So that a thread of the pool sleeps.
        thread::sleep(Duration::from_micros(100));
        rayon_core::join(|| thread::current().id() == caller, || ()).0
    });
    assert_eq!(in_place, said == "nothing", "{said}");
}
