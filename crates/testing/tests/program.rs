//! A test program that starts itself again where an emulator runs it: here `env` is the emulator, before the one that there may be.

#![cfg(unix)]

use std::env;
use std::process::Command;

use terrace_testing::{succeeds, this_program};

const RUNNER: &str = "TERRACE_TEST_RUNNER";
/// How often the program has started itself.
const STARTS: &str = "TERRACE_TEST_STARTS";
/// Taken away by the emulator.
const TAKEN: &str = "TERRACE_TEST_TAKEN";

#[test]
fn an_emulator_comes_before_the_program() {
    let again = |command: &mut Command, starts: &str| {
        command.args(["--exact", "an_emulator_comes_before_the_program"]);
        succeeds("the program, started again", command.env(STARTS, starts));
    };
    match env::var(STARTS).as_deref() {
        Err(_) => {
            let emulator = env::var(RUNNER).unwrap_or_default();
            let runner = format!("env -u {TAKEN} {emulator}");
            again(this_program().env(RUNNER, runner).env(TAKEN, "1"), "1");
        }
        Ok("1") => {
            assert!(env::var_os(TAKEN).is_some());
            again(&mut this_program(), "2");
        }
        Ok(_) => assert!(env::var_os(TAKEN).is_none(), "the emulator was left out"),
    }
}
