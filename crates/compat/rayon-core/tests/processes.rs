//! What is decided for a whole process. Each test starts this program again.

use std::io::pipe;
use std::panic::resume_unwind;
use std::process::{Command, Stdio};

use rayon_core::ThreadPoolBuilder;
use terrace_testing::this_program;

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

/// Nobody reads what the process has to say about the panic.
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
